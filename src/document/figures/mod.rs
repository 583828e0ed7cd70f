//! Figures of tables. Equal tables give equal figures.

mod chains;
mod comparisons;
mod costs;
mod curves;
mod errors;
mod factors;
mod names;
mod products;
mod published;

use std::collections::{BTreeSet, HashSet};

use super::{
    Results,
    results::CHIP,
    rows::{Line, Rows, together},
};
use crate::{
    experiment::NOT_TESTABLE,
    report::{
        Report, Table,
        figure::{Chart, Drawing, Panel},
    },
};
use curves::{Arranged, Binades, Curve, arranged};
use names::{Instructions, chip, kind};

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// Name in files.
    pub(crate) name: String,
    /// Caption.
    pub(crate) caption: String,
    /// Drawing.
    pub(crate) drawing: Drawing,
}

/// Figures of a table that are not folded.
const SHOWN: usize = 2;
/// Most panels of a figure.
const PANELS: usize = 24;
/// Most figures of a table in a document.
const MOST: usize = 40;

/// A way to draw a table, with the name of its figures.
type Draw = fn(&Table) -> Vec<Figure>;

/// Tables with figures; the first figure of a result, in this order, is its main figure.
const DRAWN: [(&str, Draw); 19] = [
    ("chain", chains::drift),
    ("product_errors", products::growth),
    ("emulations", products::splitting),
    ("splitting_cells", published::splitting),
    ("splitting_errors", products::splitting),
    ("integer_cells", comparisons::integers),
    ("tensor_quantisation", errors::layers),
    ("quantisation", errors::quantisation),
    ("tensor_quantisation", errors::quantisation),
    ("bit_agreement", errors::bits),
    ("bit_factors", factors::precision),
    ("profile", errors::histograms),
    ("cells", published::profile),
    ("cost_points", costs::points),
    ("cost_cells", published::costs),
    ("costs", costs::highest),
    ("verification", comparisons::rates),
    ("generations", comparisons::generations),
    ("ulps", errors::ulps),
];

/// The shown and the folded figures of a table.
pub(super) fn of_table(results: &Results, table: &Table) -> (Vec<Figure>, Vec<Figure>) {
    let entries = DRAWN.iter().filter(|(key, _)| *key == table.key);
    let mut all: Vec<Figure> = entries.flat_map(|(_, draw)| drawn(results, table, draw)).collect();
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

/// The figures of a table; notes and captions name the evidence of models.
fn drawn(results: &Results, table: &Table, draw: &Draw) -> Vec<Figure> {
    // A device that cannot test a row has nothing to draw there.
    let rows = Rows(table);
    let tested = rows.iter().filter(|line| line.text("verdict") != NOT_TESTABLE);
    let chips: BTreeSet<_> = tested.map(|line| device(&line)).collect();
    let mut figures = draw(table);
    if let Some(words) = results.according_to(|name| chips.contains(name)) {
        let words = chips.iter().fold(words, |words, name| words.replace(name, &chip(name)));
        for figure in &mut figures {
            figure.drawing.notes().push(words.clone());
            figure.caption = format!("{} {words}", figure.caption);
        }
    }
    figures
}

/// Figures of curves in a chart whose title says what it shows, as many as their panels need.
fn charts(name: &str, caption: &str, chart: Chart, curves: Vec<Curve>) -> Vec<Figure> {
    let Arranged { panels, fixed, notes } = arranged(curves);
    let title = titled(&chart.title, &fixed);
    let pages: Vec<&[Panel]> = if panels.is_empty() { vec![&[]] } else { panels.chunks(PANELS).collect() };
    let figure = |(page, panels): (usize, &&[Panel])| {
        let (part, number) = match pages.len() {
            1 => (String::new(), String::new()),
            all => (format!(" ({} of {all})", page + 1), format!("-{}", page + 1)),
        };
        let mut notes = [chart.notes.clone(), notes.clone()].concat();
        notes.retain(|note| !note.is_empty());
        let chart = Chart { title: format!("{title}{part}"), panels: panels.to_vec(), notes, ..chart.clone() };
        Figure {
            name: if page == 0 { name.to_string() } else { format!("{name}{number}") },
            caption: format!("{title}{part}: {caption}."),
            drawing: Drawing::Chart(chart),
        }
    };
    pages.iter().enumerate().map(figure).collect()
}

/// A title with the words that all its entries share.
fn titled(what: &str, fixed: &[String]) -> String {
    if fixed.is_empty() { what.to_string() } else { format!("{what}, {}", fixed.join(", ")) }
}

/// The chip of a row, in short.
fn on(line: &Line) -> String {
    chip(device(line))
}

/// The device or chip of a row.
fn device<'a>(line: &Line<'a>) -> &'a str {
    match line.text("device") {
        "" => line.text(CHIP),
        device => device,
    }
}

/// The instructions of a table.
fn instructions(table: &Table) -> Instructions {
    Instructions::new(Rows(table).iter().map(|row| (device(&row), row.text("instruction"))))
}

/// A name in lower case for files.
pub(crate) fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let parts: String = text.chars().map(plain).collect();
    parts.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests;
