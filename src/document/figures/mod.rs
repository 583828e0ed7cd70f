//! Figures of tables. Equal tables give equal figures.

mod chains;
mod comparisons;
mod costs;
mod errors;
mod factors;
mod products;

use std::collections::{BTreeSet, HashSet};

use super::{
    Results,
    results::CHIP,
    rows::{Line, Rows, Seen, together},
};
use crate::{
    isa,
    report::{Report, Table, figure::Scene},
};

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// Name in files.
    pub(crate) name: String,
    /// Caption.
    pub(crate) caption: String,
    /// Drawing.
    pub(crate) scene: Scene,
}

/// Figures of a table that are not folded.
const SHOWN: usize = 2;
/// Most characters of a title with the names of two chips.
const TITLE: usize = 60;
/// Most lines of a figure.
const LINES: usize = 14;

/// Most figures of a table in a document.
const MOST: usize = 40;

/// A way to draw a table, with the name of its figures.
type Draw = fn(&Table) -> Vec<Figure>;

/// Tables with figures; the first of them that a result has gives its main figure.
const DRAWN: [(&str, Draw); 12] = [
    ("chain", chains::drift),
    ("product_errors", products::growth),
    ("emulations", products::splitting),
    ("quantisation", errors::quantisation),
    ("tensor_quantisation", errors::quantisation),
    ("bit_agreement", errors::bits),
    ("bit_factors", factors::precision),
    ("profile", errors::histograms),
    ("cost_points", costs::rates),
    ("verification", comparisons::rates),
    ("generations", comparisons::generations),
    ("ulps", errors::ulps),
];

/// The shown and the folded figures of a table.
pub(super) fn of_table(results: &Results, table: &Table) -> (Vec<Figure>, Vec<Figure>) {
    let draw = DRAWN.iter().find(|(key, _)| *key == table.key);
    let mut all = draw.map_or_else(Vec::new, |(_, draw)| drawn(results, table, draw));
    all.truncate(MOST);
    let folded = all.split_off(all.len().min(SHOWN));
    (all, folded)
}

/// All figures of a report, the main figure first.
pub(crate) fn figures(report: &Report) -> Vec<Figure> {
    let results = Results::of(report);
    let tables = DRAWN.iter().filter_map(|(key, draw)| Some(drawn(&results, &results.table(key)?, draw)));
    let mut all: Vec<Figure> = tables.flatten().collect();
    let mut names = HashSet::new();
    for (at, figure) in all.iter_mut().enumerate() {
        // Figures with one name get numbers.
        if !names.insert(figure.name.clone()) {
            figure.name = format!("{}-{}", figure.name, at + 1);
            names.insert(figure.name.clone());
        }
    }
    all
}

/// The figures of a table; captions name the evidence of models.
fn drawn(results: &Results, table: &Table, draw: &Draw) -> Vec<Figure> {
    let chips: BTreeSet<_> = Rows(table).iter().flat_map(|line| [line.text(CHIP), line.text("device")]).collect();
    let mut figures = draw(table);
    for figure in &mut figures {
        let named = |chip: &str| figure.scene.says(chip);
        let any = chips.iter().any(|chip| !chip.is_empty() && named(chip));
        let said = results.according_to(|chip| chips.contains(chip) && (named(chip) || !any));
        if let Some(words) = said {
            figure.scene.note(&words);
            figure.caption = format!("{} {words}", figure.caption);
        }
    }
    figures
}

/// The device or chip of a row.
fn on<'a>(line: &Line<'a>) -> &'a str {
    match line.text("device") {
        "" => line.text(CHIP),
        device => device,
    }
}

/// The family and formats of an instruction.
fn kind(name: &str) -> String {
    match isa::known(name) {
        Some(i) if i.a.name == i.b.name => format!("{} {} -> {}", i.family(), i.a.name, i.d.name),
        Some(i) => format!("{} {} * {} -> {}", i.family(), i.a.name, i.b.name, i.d.name),
        None => name.to_string(),
    }
}

/// A title with the chips of its rows, or with their number.
fn titled(what: &str, chips: &[&str]) -> String {
    let named = chips.iter().filter(|chip| !chip.is_empty());
    let distinct: Vec<&str> = together(named.map(|chip| (*chip, ()))).into_iter().map(|(chip, _)| chip).collect();
    match distinct[..] {
        [] => what.to_string(),
        [one] => format!("{what}: {one}"),
        [one, other] if what.len() + one.len() + other.len() < TITLE => format!("{what}: {one} and {other}"),
        _ => format!("{what}: {} chips", distinct.len()),
    }
}

/// A name in lower case for files.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let parts: String = text.chars().map(plain).collect();
    parts.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
