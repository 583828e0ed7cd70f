//! Chapters of repeated tables and figures.

use super::{experiments::Repeated, setup, sheets};
use crate::{
    base::distinct::distinct,
    document::{Block, Chapter, Sheet, Source, claims, figures},
};

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

/// Makes the chapter of the published claims that this program repeats.
pub(super) fn beside() -> Chapter {
    let all = claims::claims();
    let text = "Each claim has the command that repeats it. The sources, in the order of the rows:".into();
    let key = Some(distinct(all.iter().map(|claim| claim.cite.as_str())).join(","));
    let blocks = vec![Block::Source(Source { text, key }), Block::Table(claims::sheet(&all))];
    Chapter { id: "claims", heading: "Published claims", blocks }
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
        blocks.extend(shown.into_iter().chain(folded).map(|figure| Block::Figure(repeated.named(figure))));
        blocks.extend(sheets::sheets(&table).into_iter().filter_map(Sheet::full));
    }
    blocks.extend(setup::repeats(repeated.results.kept.iter()));
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
