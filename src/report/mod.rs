//! One result schema; every view (terminal, CSV, JSON, Markdown, LaTeX) is a rendering of it.
//!
//! A command fills a [`Report`]; a view prints one. Views measure nothing and commands format nothing: the
//! number of digits, the alignment and the escaping are decided here.

mod csv;
mod human;
mod json;
mod latex;
mod markdown;
mod table;

/// A rendering of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Text for a terminal.
    Table,
    /// JSON, described by `schemas/report.schema.json`.
    Json,
    /// Comma-separated values (RFC 4180, lines ending with a line feed): the tables alone, each starting with a
    /// row of column keys, an empty line between two.
    Csv,
    /// Markdown.
    Markdown,
    /// LaTeX tabular environments.
    Latex,
}

/// `report` as text, ending with a line feed.
///
/// Human views (terminal, Markdown, LaTeX) print real numbers with three significant digits, counts with
/// thousands separators and an empty cell as `-`; JSON and CSV keep every digit.
///
/// # Panics
/// If a row of a table has not as many cells as the table has columns.
pub fn render(report: &Report, view: View) -> String {
    for table in &report.tables {
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "a row of table '{}' is short or long", table.key);
        }
    }
    match view {
        View::Table => table::render(report),
        View::Json => json::render(report),
        View::Csv => csv::render(report),
        View::Markdown => markdown::render(report),
        View::Latex => latex::render(report),
    }
}

/// The result of one command.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The verb: `probe`, `chain`, `formats`...
    pub command: &'static str,
    /// The command line, to be repeated: `tcnum probe --fmt bf16 ...`.
    pub invocation: String,
    /// The device that ran it, if one did.
    pub device: Option<crate::device::Identity>,
    /// The seed of the random inputs, if there were any.
    pub seed: Option<u64>,
    /// Sentences that the reader of the numbers must know.
    pub notes: Vec<String>,
    /// Key and value pairs that the caller asked to keep with the result (`--note date=...`).
    pub annotations: Vec<(String, String)>,
    /// The results.
    pub tables: Vec<Table>,
    /// Whether what the command claims holds: false makes the exit status 1.
    pub holds: bool,
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
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in JSON and CSV, in snake case.
    pub key: &'static str,
    /// The heading in human views (terminal, Markdown, LaTeX); `None` keeps the column out of them.
    pub label: Option<&'static str>,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Not applicable, or not measured.
    Empty,
    /// Text, a name or a hexadecimal code.
    Text(String),
    /// A count or another integer.
    Integer(i64),
    /// A measured number: JSON and CSV get every digit, human views three significant digits.
    Real(f64),
    /// A truth value.
    Flag(bool),
    /// Several values, such as the counts of a histogram.
    List(Vec<Cell>),
}

impl Report {
    /// A report of `command` without tables, notes or device, whose claim holds.
    pub fn new(command: &'static str, invocation: impl Into<String>) -> Self {
        Report {
            command,
            invocation: invocation.into(),
            device: None,
            seed: None,
            notes: Vec::new(),
            annotations: Vec::new(),
            tables: Vec::new(),
            holds: true,
        }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(key: &'static str, title: impl Into<String>, columns: Vec<Column>) -> Self {
        Table { key, title: title.into(), columns, rows: Vec::new() }
    }
}

impl Column {
    /// A column that every view shows.
    pub const fn new(key: &'static str, label: &'static str) -> Self {
        Column { key, label: Some(label) }
    }

    /// A column that only JSON and CSV show.
    pub const fn hidden(key: &'static str) -> Self {
        Column { key, label: None }
    }
}

impl Cell {
    /// A text cell.
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// An integer cell.
    ///
    /// # Panics
    /// If `value` does not fit 64 bits with a sign: no count here comes near.
    pub fn integer(value: impl TryInto<i64>) -> Self {
        Cell::Integer(value.try_into().ok().expect("a count fits 64 bits"))
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Real(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Cell::Flag(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Text(value.to_string())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Cell::Text(value)
    }
}

macro_rules! integer_cells {
    ($($type:ty),*) => {$(
        impl From<$type> for Cell {
            fn from(value: $type) -> Self {
                Cell::integer(value)
            }
        }
    )*};
}
integer_cells!(i32, u32, i64, u64, usize);

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Empty, Into::into)
    }
}

impl<T: Into<Cell>> From<Vec<T>> for Cell {
    fn from(values: Vec<T>) -> Self {
        Cell::List(values.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests;
