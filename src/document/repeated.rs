//! Results of experiments, apart from other results, and their chapters.

use std::path::Path;

use super::{
    Block, Chapter, Figure, Source,
    commands::Commands,
    figures,
    results::{CHIP, Results},
    setup,
    sheets::{self, DEVICE, Sheet},
};
use crate::{
    base::distinct::distinct,
    experiment::{self, Experiment},
    report::{Kept, Report, Rows, Table},
};

/// Tables of the growth of errors, which have figures.
const GROWTH: [&str; 2] = ["chain", "product_errors"];
/// Tables of an experiment in a paper; a chain has its figure and its ends.
const BRIEF: [&str; 4] = ["findings", "chain", "curves", "product_errors"];

/// The results of one experiment.
pub(super) struct Repeated {
    /// Its name in files.
    pub(super) name: String,
    /// Its name in headings.
    pub(super) label: String,
    /// Key of its source in the bibliography.
    pub(super) cite: Option<String>,
    /// Title, source, and the published device.
    pub(super) source: String,
    /// Further notes, each once.
    pub(super) notes: Vec<String>,
    /// The results.
    pub(super) results: Results,
}

impl Repeated {
    /// A figure under a name that no other experiment gives, without notes that its caption has.
    fn named(&self, mut figure: Figure) -> Figure {
        let caption = figure.caption.clone();
        figure.drawing.notes().retain(|note| !caption.contains(note.as_str()));
        Figure { name: format!("{}-{}", self.name, figure.name), ..figure }
    }

    fn is_of_growth(&self) -> bool {
        GROWTH.iter().any(|key| self.results.table(key).is_some())
    }

    /// The table of a key; rows of a table without a column for the device hold for every device.
    fn table(&self, key: &str) -> Option<Table> {
        let mut table = self.results.table(key)?;
        let place = |key: &str| table.columns.iter().position(|column| column.key == key);
        if let (None, Some(at)) = (place(DEVICE), place(CHIP)) {
            table.columns.remove(at);
            table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            table.rows.dedup();
        }
        Some(table)
    }

    /// The keys of its tables, in their order; devices have a chapter of their own.
    fn keys(&self) -> Vec<&'static str> {
        let tables = self.results.kept.iter().flat_map(|kept| &kept.report.tables).map(|table| table.key);
        let mut keys = distinct(tables.filter(|key| *key != "devices"));
        keys.sort_by_key(|key| sheets::place(key));
        keys
    }

    /// Its source, notes, figures, tables and commands; in a paper the main ones.
    fn section(&self, is_paper: bool) -> Vec<Block> {
        let mut blocks = vec![
            Block::Heading(self.label.clone()),
            Block::Source(Source { text: self.source.clone(), key: self.cite.clone() }),
        ];
        blocks.extend((!self.notes.is_empty()).then(|| Block::List(self.notes.clone())));
        for key in if is_paper { BRIEF.to_vec() } else { self.keys() } {
            let Some(table) = self.table(key) else { continue };
            let (shown, folded) = figures::of_table(&self.results, &table);
            let figures = shown.into_iter().chain(folded).map(|figure| self.named(figure));
            match is_paper {
                false => blocks.extend(figures.map(Block::Figure)),
                // The supplement has the same figure of all formats.
                true => blocks.extend(
                    figures.take(1).map(|one| Block::Figure(Figure { name: format!("paper-{}", one.name), ..one })),
                ),
            }
            blocks.extend(
                match (is_paper, key) {
                    (true, "chain") => Vec::new(),
                    (true, "findings") => vec![holding(&table)],
                    _ => sheets::sheets(&table),
                }
                .into_iter()
                .filter_map(Sheet::block),
            );
        }
        blocks.extend((!is_paper).then(|| setup::repeats(self.results.kept.iter())).into_iter().flatten());
        blocks
    }
}

/// The claims, and the devices on which they hold.
fn holding(findings: &Table) -> Sheet {
    let rows = Rows(findings).iter().map(|line| {
        let holds = if line.flag("holds") == Some(true) { "yes" } else { "no" };
        [sheets::short(line.text(DEVICE)), line.text("claim").into(), holds.into()].to_vec()
    });
    Sheet::by_device("Claims", &["claim", "holds"], &[], rows)
}

/// The chapters: published tables and figures, and the growth of errors, which a paper has alone.
pub(super) fn chapters(all: &[Repeated], is_paper: bool) -> [Chapter; 2] {
    let blocks = |is_growth: bool| {
        let chosen = all.iter().filter(move |one| match is_paper {
            true => is_growth && one.is_of_growth(),
            false => is_growth == (one.cite.is_none() && one.is_of_growth()),
        });
        chosen.flat_map(|one| one.section(is_paper)).collect::<Vec<Block>>()
    };
    [
        Chapter { id: "published", heading: "Published tables and figures", blocks: blocks(false) },
        Chapter { id: "growth", heading: "Growth of errors", blocks: blocks(true) },
    ]
}

/// Results of experiments, each experiment once, and the other results.
pub(super) fn separated(results: &Results) -> (Vec<Repeated>, Results) {
    let (mut groups, mut others) = (Vec::<(String, Vec<Kept>)>::new(), Vec::new());
    for kept in &results.kept {
        match name(&kept.report) {
            None => others.push(kept.clone()),
            Some(name) => match groups.iter_mut().find(|(other, _)| *other == name) {
                Some((_, known)) => known.push(kept.clone()),
                None => groups.push((name, vec![kept.clone()])),
            },
        }
    }
    // In the order of the appendix that this program runs; others follow.
    let usual = Commands::shipped();
    let place = |name: &str| usual.experiments().position(|listed| listed == name).unwrap_or(usize::MAX);
    groups.sort_by_key(|(name, _)| place(name));
    (groups.into_iter().map(|(name, kept)| repeated(name, kept)).collect(), Results::new(others))
}

/// The name of the experiment that gave a report: `table-12`.
fn name(report: &Report) -> Option<String> {
    if report.command != "experiment" {
        return None;
    }
    let words = report.invocation.split(' ').map(|word| word.trim_matches('\''));
    let mut named =
        words.filter(|word| word.ends_with(".toml") || experiment::shipped().any(|shipped| shipped == *word));
    let path = Path::new(named.next()?);
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

fn repeated(name: String, kept: Vec<Kept>) -> Repeated {
    let experiment =
        experiment::shipped().find(|shipped| *shipped == name).and_then(|shipped| Experiment::find(shipped).ok());
    let mut notes = distinct(kept.iter().flat_map(|kept| kept.report.notes.iter().cloned()));
    // The first note of an experiment has its title and its source.
    let source = notes.iter().position(|note| note.contains(" Source: ")).map(|at| notes.remove(at));
    Repeated {
        label: experiment.as_ref().and_then(|experiment| experiment.label.clone()).unwrap_or_else(|| name.clone()),
        cite: experiment.and_then(|experiment| experiment.cite),
        source: source.unwrap_or_default(),
        notes,
        results: Results::new(kept),
        name,
    }
}
