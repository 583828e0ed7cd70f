//! One result schema; every view (terminal, CSV, JSON, Markdown, LaTeX) is a rendering of it.

/// A rendering of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Text for a terminal.
    Table,
    /// JSON, described by `schemas/report.schema.json`.
    Json,
    /// Comma-separated values, a block per table.
    Csv,
    /// Markdown.
    Markdown,
    /// LaTeX tabular environments.
    Latex,
}

/// `report` as text, ending with a line feed.
pub fn render(report: &Report, view: View) -> String {
    let _ = view;
    format!("{report:?}\n")
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
