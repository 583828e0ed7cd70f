//! Reports with one schema, and their views: terminal, CSV, JSON, Markdown, LaTeX.
//!
//! A command fills a [`Report`], and a view renders it. Digits, alignment and escaping are decided here.

mod cell;
mod csv;
mod declare;
mod devices;
#[cfg(feature = "figures")]
pub mod figure;
mod human;
mod json;
pub mod latex;
pub mod markdown;
pub mod marks;
mod parts;
mod pivot;
mod read;
mod rows;
pub mod schema;
mod table;
mod verdict;

use std::borrow::Cow;

use crate::base::{atomic, named::named};
pub use cell::{Cell, CellKind, CellValue};
pub use csv::TableFile;
pub use declare::{Column, Declaration, Field, Look, Row, Where, hidden, shown};
pub use devices::DeviceRow;
pub use devices::devices;
pub use human::{ShownTable, counted, grouped, plain, three_digits};
pub use pivot::Pivot;
pub use pivot::turned;
pub use read::{Kept, result};
pub use rows::{RowView, Rows};
pub use verdict::Verdict;

use crate::{Error, Interruption, Result, base::interrupt};

named! {
    /// A rendering of a report.
    pub enum View {
        Table = "table": "Text for a terminal";
        Json = "json": "JSON, described by `schemas/report.schema.json`";
        Csv = "csv": "Comma-separated values (RFC 4180): the tables alone, each after a row of column keys";
        Markdown = "markdown": "Markdown";
        Latex = "latex": "LaTeX tabular environments (longtable for long tables)";
    }
}

#[allow(clippy::derivable_impls, reason = "the macro makes the variants")]
impl Default for View {
    fn default() -> View {
        View::Table
    }
}

/// Layout of the views for people (terminal, Markdown, LaTeX).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewLayout {
    /// Keys of the columns to show, in this order; tables without them are left out. Empty: as declared.
    pub columns: Vec<String>,
    /// Show the essential columns only.
    pub brief: bool,
    /// Width of the terminal in characters.
    pub width: usize,
}

impl Default for ViewLayout {
    fn default() -> ViewLayout {
        ViewLayout { columns: Vec::new(), brief: false, width: WIDTH }
    }
}

/// Width of a terminal whose width is not known, in characters.
pub const WIDTH: usize = 120;

/// `report` as text, ending with a line feed.
///
/// Views for people print real numbers with three significant digits, counts with thousands separators, and `-` for an empty cell. JSON
/// and CSV keep every digit and every column.
pub fn render(report: &Report, view: View, layout: &ViewLayout) -> String {
    match view {
        View::Table => table::render(report, layout),
        View::Json => json::render(report),
        View::Csv => csv::render(report),
        View::Markdown => markdown::render(report, layout),
        View::Latex => latex::render(report, layout),
    }
}

/// Writes each table of `report` to a CSV file in a folder; replaces files with the same columns only.
///
/// # Errors
/// A file that cannot be written, or an existing file with other content.
pub fn write_csv_files(report: &Report, folder: &std::path::Path) -> crate::Result<()> {
    let mut files = report.tables.iter().map(|table| (folder.join(csv_name(table.key)), table));
    files.clone().try_for_each(|(path, table)| atomic::derivable(&path, &TableFile::new(&table.columns)))?;
    files.try_for_each(|(path, table)| {
        atomic::write_derived(&path, &TableFile::new(&table.columns), csv::block(table).as_bytes())
    })
}

/// The file name of a table.
pub fn csv_name(key: &str) -> String {
    format!("{key}.csv")
}

/// The result of one command.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The verb: `probe`, `chain`, `formats`...
    pub command: Cow<'static, str>,
    /// The command line that repeats it: `tcnum probe --fmt bf16 ...`.
    pub invocation: String,
    /// The device, if one was used.
    pub device: Option<crate::device::Identity>,
    /// The answer, in one sentence.
    pub answer: Option<String>,
    /// The seed of the random inputs, if there were any.
    pub seed: Option<u64>,
    /// Notes: what a reader of the numbers must know.
    pub notes: Vec<String>,
    /// The text of the model file that the command made; no view shows it.
    pub model: Option<String>,
    /// Keys and values to keep with the result (`--note date=...`).
    pub annotations: Vec<(String, String)>,
    /// The results.
    pub tables: Vec<Table>,
    /// True if the command's claim holds; if not, the exit status is 1.
    pub holds: bool,
    /// The finding, if the claim does not hold.
    pub verdict: Verdict,
    /// The signal or limit that stopped the command; it decides the exit status.
    pub interrupted: Option<Interruption>,
}

/// One table of results: in JSON an array of objects, one per row, under the table's key.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The name in JSON, in snake case.
    pub key: &'static str,
    /// The heading in human views.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows: as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// True if human views show the essential columns only, unless others are asked for.
    pub brief: bool,
    /// Columns that turn it in human views, unless columns are asked for.
    pub pivot: Option<Pivot>,
    /// Longest cell, in characters, that a terminal does not wrap; `None` for the view's own limit.
    pub longest: Option<usize>,
}

impl Report {
    /// A report of `command` without tables, notes or device, whose claim holds.
    pub fn new(command: impl Into<Cow<'static, str>>, invocation: impl Into<String>) -> Self {
        Report {
            command: command.into(),
            invocation: invocation.into(),
            device: None,
            answer: None,
            seed: None,
            notes: Vec::new(),
            model: None,
            annotations: Vec::new(),
            tables: Vec::new(),
            holds: true,
            verdict: Verdict::Mismatch,
            interrupted: None,
        }
    }
}

impl Report {
    /// The report with every text reworded, such as by [`crate::base::parameters::spelled`].
    #[must_use]
    pub fn reworded(mut self, reword: impl Fn(&str) -> String) -> Report {
        let titles = self.tables.iter_mut().map(|table| &mut table.title);
        titles.chain(&mut self.answer).chain(&mut self.notes).for_each(|text| *text = reword(text));
        let rows = self.tables.iter_mut().flat_map(|table| &mut table.rows);
        rows.flatten().for_each(|cell| cell.reword(&reword));
        self
    }

    /// The finding behind exit status 1; `None` if the claim holds or the work was interrupted.
    pub fn finding(&self) -> Option<Verdict> {
        (!self.holds && self.interrupted.is_none()).then_some(self.verdict)
    }

    /// The result of some work; `None` after an interruption, which the report then names.
    ///
    /// # Errors
    /// Any other error of the work.
    pub fn until_interrupted<T>(&mut self, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(result) => Ok(Some(result)),
            Err(Error::Interrupted { by }) => {
                interrupt::answered();
                if self.interrupted.is_none() {
                    self.notes
                        .insert(0, format!("Interrupted by {}: the result covers the work done before it.", by.name()));
                }
                self.interrupted = Some(by);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Table {
    /// The table of these rows.
    pub fn of<R: Row>(title: impl Into<String>, rows: impl IntoIterator<Item = R>) -> Table {
        let rows = rows.into_iter().map(|row| row.cells()).collect();
        Table {
            key: R::TABLE,
            title: title.into(),
            columns: R::columns(),
            rows,
            brief: false,
            pivot: None,
            longest: None,
        }
    }

    /// The table, or `None` if it has no row.
    pub fn filled(self) -> Option<Table> {
        (!self.rows.is_empty()).then_some(self)
    }
}

#[cfg(test)]
mod tests;
