//! Chapters of repeated tables and figures.

use super::{experiments::Repeated, sheets};
use crate::document::{Block, Chapter, Figure, Source, figures};

/// Makes the chapters: of published tables and figures, and of the growth of errors.
pub(super) fn chapters(all: &[Repeated]) -> [Chapter; 2] {
    let blocks = |growth: bool| {
        let chosen = all.iter().filter(|repeated| is_of_growth(repeated) == growth);
        chosen.flat_map(section).collect::<Vec<Block>>()
    };
    [
        Chapter { id: "published", heading: "Published tables and figures", blocks: blocks(false) },
        Chapter { id: "growth", heading: "Growth of errors", blocks: blocks(true) },
    ]
}

/// True if an experiment repeats nothing that is published.
fn is_of_growth(repeated: &Repeated) -> bool {
    repeated.cite.is_none() && repeated.results.table("product_errors").is_some()
}

fn section(repeated: &Repeated) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(repeated.label.clone()),
        Block::Source(Source { text: repeated.source.clone(), key: repeated.cite.clone() }),
    ];
    if !repeated.notes.is_empty() {
        blocks.push(Block::List(repeated.notes.clone()));
    }
    for key in keys(repeated) {
        let Some(table) = repeated.results.table(key) else { continue };
        let (shown, folded) = figures::of_table(&repeated.results, &table);
        // Names of figures are unique within an experiment only.
        let named = |figure: Figure| Figure { name: format!("{}-{}", repeated.name, figure.name), ..figure };
        blocks.extend(shown.into_iter().chain(folded).map(|figure| Block::Figure(named(figure))));
        blocks
            .extend(sheets::sheets(&table).into_iter().filter(|sheet| !sheet.shown.rows.is_empty()).map(Block::Table));
    }
    blocks
}

/// The keys of the tables of an experiment, in their order; devices have a chapter of their own.
fn keys(repeated: &Repeated) -> Vec<&'static str> {
    let mut keys: Vec<&str> = Vec::new();
    for table in repeated.results.kept.iter().flat_map(|kept| &kept.report.tables) {
        if table.key != "devices" && !keys.contains(&table.key) {
            keys.push(table.key);
        }
    }
    keys.sort_by_key(|key| sheets::place(key));
    keys
}
