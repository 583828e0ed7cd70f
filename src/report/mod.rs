//! One result schema; every view (terminal, CSV, JSON, Markdown, LaTeX) is a rendering of it.
//!
//! A command fills a [`Report`]; a view prints one. Views measure nothing and commands format nothing: the
//! number of digits, the alignment and the escaping are decided here.

mod cell;
mod csv;
mod declare;
#[cfg(feature = "cli")]
pub(crate) mod figure;
mod human;
mod json;
pub(crate) mod latex;
pub(crate) mod markdown;
pub(crate) mod marks;
mod parts;
mod read;
pub mod schema;
mod table;
mod verdict;

use std::borrow::Cow;

use crate::base::{atomic, named::named};
pub use cell::{Cell, CellValue, Kind};
pub(crate) use csv::TableFile;
pub use declare::{Column, Declaration, Field, Look, Row, Where, hidden, shown};
pub(crate) use human::{Shown, counted, grouped, plain, three_digits};
pub(crate) use read::{Kept, result};
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

impl Default for View {
    fn default() -> View {
        View::Table
    }
}

/// What the views for people (terminal, Markdown, LaTeX) show of each table, and how wide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewLayout {
    /// The keys of the columns to show, in this order; tables that have none of them are left out. Empty: as declared.
    pub columns: Vec<String>,
    /// Show the essential columns only.
    pub brief: bool,
    /// Columns of characters that a terminal has.
    pub width: usize,
}

impl Default for ViewLayout {
    fn default() -> ViewLayout {
        ViewLayout { columns: Vec::new(), brief: false, width: WIDTH }
    }
}

/// Columns of characters of a terminal whose width is not known.
pub const WIDTH: usize = 120;

/// `report` as text, ending with a line feed.
///
/// Human views (terminal, Markdown, LaTeX) print real numbers with three significant digits, counts with
/// thousands separators and an empty cell as `-`; JSON and CSV keep every digit, and all columns whatever the layout.
pub fn render(report: &Report, view: View, layout: &ViewLayout) -> String {
    match view {
        View::Table => table::render(report, layout),
        View::Json => json::render(report),
        View::Csv => csv::render(report),
        View::Markdown => markdown::render(report, layout),
        View::Latex => latex::render(report, layout),
    }
}

/// The tables of `report` as files of comma-separated values: name and content of each.
pub fn csv_files(report: &Report) -> Vec<(String, String)> {
    report.tables.iter().map(|table| (csv_name(table.key), csv::block(table))).collect()
}

/// Writes the tables of `report` to a folder, a file of comma-separated values each. A file that is there is replaced if it is that
/// table.
///
/// # Errors
/// A file that cannot be written, or that is not such a table.
pub(crate) fn write_csv_files(report: &Report, folder: &std::path::Path) -> crate::Result<()> {
    let mut files = report.tables.iter().map(|table| (folder.join(csv_name(table.key)), table));
    files.clone().try_for_each(|(path, table)| atomic::derivable(&path, &TableFile::new(&table.columns)))?;
    files.try_for_each(|(path, table)| {
        atomic::write_derived(&path, &TableFile::new(&table.columns), csv::block(table).as_bytes())
    })
}

/// The name of the file of a table.
pub(crate) fn csv_name(key: &str) -> String {
    format!("{key}.csv")
}

/// The result of one command.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The verb: `probe`, `chain`, `formats`...
    pub command: Cow<'static, str>,
    /// The command line, to be repeated: `tcnum probe --fmt bf16 ...`.
    pub invocation: String,
    /// The device that ran it, if one did.
    pub device: Option<crate::device::Identity>,
    /// The answer to what was asked, in one sentence.
    pub answer: Option<String>,
    /// The seed of the random inputs, if there were any.
    pub seed: Option<u64>,
    /// Sentences that the reader of the numbers must know.
    pub notes: Vec<String>,
    /// The text of the model file that the command made; JSON and the views do not have it.
    pub model: Option<String>,
    /// Key and value pairs that the caller asked to keep with the result (`--note date=...`).
    pub annotations: Vec<(String, String)>,
    /// The results.
    pub tables: Vec<Table>,
    /// Whether what the command claims holds: false makes the exit status 1.
    pub holds: bool,
    /// What the command found, where its claim does not hold.
    pub verdict: Verdict,
    /// What stopped the command, if something did: the results are those of the work that was done until then, and the exit
    /// status is that of the interruption.
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
    /// Whether human views show the essential columns only, unless others are asked for.
    pub brief: bool,
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
    /// What it found that makes the exit status 1: nothing where its claim holds, or where something interrupted the work.
    pub fn found(&self) -> Option<Verdict> {
        (!self.holds && self.interrupted.is_none()).then_some(self.verdict)
    }

    /// Takes in what some of the work came to: its result, or nothing where it was interrupted, which is then answered and
    /// stands in the report.
    ///
    /// # Errors
    /// Whatever else the work failed with.
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
        Table { key: R::TABLE, title: title.into(), columns: R::columns(), rows, brief: false }
    }

    /// The table, or `None` if it has no row.
    pub fn filled(self) -> Option<Table> {
        (!self.rows.is_empty()).then_some(self)
    }
}

#[cfg(test)]
mod tests;
