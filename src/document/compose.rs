//! Composition of a document from results.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    Block, Chapter, Document, Sheet, appendix, arithmetic, figures, neighbours,
    outline::{SECTIONS, Section, TAKEN},
    proof,
    results::{CHIP, Results},
};
use crate::report::{Cell, ShownTable, Table, ViewLayout, marks::captioned, plain};

/// Rows from which rows that differ only in the instruction are joined.
const MANY: usize = 24;

/// Comparisons that the lead states; the summary states the rest.
pub(super) const LEADING: usize = 2;

/// Makes the document of results.
pub(crate) fn compose(results: &Results) -> Document {
    let mut parts = vec![
        proof::summary(results),
        proof::instructions(results),
        arithmetic::part(results),
        proof::part(results),
        proof::unknown(results),
    ];
    parts.extend(SECTIONS.iter().map(|section| of_tables(results, section)));
    parts.push(appendix::commands(results, results));
    parts.retain(|part| !part.blocks.is_empty());
    Document { title: title(results), lead: lead(results), parts }
}

/// The answer in one or two sentences, or the subject and its sources.
fn lead(results: &Results) -> String {
    let subjects = results.subjects();
    match results.according_to(|chip| subjects.iter().any(|subject| subject == chip)) {
        Some(models) => format!("Numeric behaviour of simulated matrix instructions. {models} No chip was tested."),
        None if subjects.is_empty() => "Formats and arithmetic models".into(),
        None => match &proof::comparisons(results)[..] {
            [] => "Numeric behaviour of its matrix instructions".into(),
            several => several.iter().take(LEADING).cloned().collect::<Vec<_>>().join(" "),
        },
    }
}

/// The subject of the document: its chips.
fn title(results: &Results) -> String {
    match &results.subjects()[..] {
        [] => "Numbers and their formats".into(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Makes a chapter of tables, each with its figures.
fn of_tables(results: &Results, section: &Section) -> Chapter {
    let mut blocks = if section.id == "neighbours" { neighbours::blocks(results) } else { Vec::new() };
    let keys: Vec<&str> = match section.id {
        "other" => others(results),
        _ => section.tables.to_vec(),
    };
    for key in keys {
        let Some(table) = results.table(key) else { continue };
        let (shown, folded) = figures::of_table(results, &table);
        blocks.extend(shown.into_iter().map(Block::Figure));
        if !folded.is_empty() {
            let summary = format!("{} more figures", folded.len());
            blocks.push(Block::Folded(summary, folded.into_iter().map(Block::Figure).collect()));
        }
        blocks.extend(sheet(&table).block());
    }
    if !blocks.is_empty() && !section.intro.is_empty() {
        blocks.insert(0, Block::Text(section.intro.into()));
    }
    Chapter { id: section.id, heading: section.heading, blocks }
}

/// The tables that a chapter is made of.
pub(super) fn keys(chapter: &str) -> Vec<&'static str> {
    match chapter {
        "arithmetic" => [arithmetic::TABLES, &["features"]].concat(),
        "proof" => [proof::TABLES, &["regimes"]].concat(),
        "instructions" => proof::RUNS.to_vec(),
        "unknown" => vec!["features", "lines", "decisions"],
        id => SECTIONS.iter().filter(|section| section.id == id).flat_map(|section| section.tables).copied().collect(),
    }
}

/// The tables of no other chapter.
fn others(results: &Results) -> Vec<&'static str> {
    let has = |key: &str| {
        TAKEN.contains(&key)
            || proof::TABLES.contains(&key)
            || arithmetic::TABLES.contains(&key)
            || SECTIONS.iter().any(|section| section.tables.contains(&key))
    };
    let mut keys = Vec::new();
    for key in results.kept.iter().flat_map(|kept| kept.report.tables.iter().map(|table| table.key)) {
        if !has(key) && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Makes the sheet of a table.
/// In a long table, rows that differ only in the instruction become one row.
pub(crate) fn sheet(table: &Table) -> Sheet {
    let mut table = table.clone();
    // The column of the chip is redundant where every row names its device.
    let place = |key: &str| table.columns.iter().position(|column| column.key == key);
    if let (Some(chip), Some(device)) = (place(CHIP), place("device"))
        && table.rows.iter().all(|row| row[device] != Cell::Empty)
    {
        table.columns.remove(chip);
        table.rows.iter_mut().for_each(|row| drop(row.remove(chip)));
    }
    let brief = table.columns.iter().any(|column| column.look.essential);
    let shown = ShownTable::new(&table, &ViewLayout { brief, ..ViewLayout::default() }, plain);
    let shown = if shown.rows.len() > MANY { joined(shown, "instruction") } else { shown };
    Sheet { caption: captioned(&table.title, shown.legend.as_deref()), shown }.hoisted()
}

/// Joins rows that differ only in `column`, whose cell becomes a list.
pub(super) fn joined(mut shown: ShownTable, column: &str) -> ShownTable {
    let Some(at) = shown.labels.iter().position(|label| label == column) else { return shown };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    for mut row in shown.rows {
        let text = std::mem::take(&mut row[at]);
        match places.entry(row.clone()) {
            Entry::Occupied(place) => {
                let cell: &mut String = &mut rows[*place.get()][at];
                *cell = format!("{cell}\n{text}");
            }
            Entry::Vacant(place) => {
                place.insert(rows.len());
                row[at] = text;
                rows.push(row);
            }
        }
    }
    shown.rows = rows;
    shown
}
