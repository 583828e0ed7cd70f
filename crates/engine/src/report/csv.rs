//! CSV: the tables with every column and every digit, in one text or one file each.
//!
//! Quoting follows RFC 4180; lines end with a line feed. Device, seed and notes are in JSON only. Control characters become escapes,
//! and text that a spreadsheet would take for a formula starts with an apostrophe (OWASP, CSV injection).

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use serde_json::Value;

use super::{Cell, Column, Report, Table, json};
use crate::{
    base::{atomic::DerivedKind, text, visible::visible},
    number::Real,
};

/// First characters of text that spreadsheets take for a formula.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

pub(super) fn render(report: &Report) -> String {
    report.tables.iter().map(block).collect::<Vec<_>>().join("\n")
}

pub(super) fn block(table: &Table) -> String {
    let rows = table.rows.iter().map(|row| row.iter().map(field).collect());
    records(std::iter::once(header(&table.columns)).chain(rows))
}

fn header(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.key.to_string()).collect()
}

fn records(records: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record).expect("records of one length, written to memory");
    }
    String::from_utf8(writer.into_inner().expect("written to memory")).expect("fields are UTF-8")
}

/// A cell as in JSON, but without quotes around a string; empty if the cell is.
fn field(cell: &Cell) -> String {
    match json::value(cell) {
        Value::Null => String::new(),
        Value::String(text) => harmless(&text),
        Value::Array(cells) => json::escaped(Value::Array(cells).to_string()),
        value => value.to_string(),
    }
}

/// Text that no terminal and no spreadsheet obeys.
fn harmless(text: &str) -> String {
    let shown = visible(text);
    match shown.starts_with(FORMULA) && shown.parse::<Real>().is_err() {
        true => format!("'{shown}"),
        false => shown.into_owned(),
    }
}

/// A file with a table of these columns.
#[derive(Debug)]
pub struct TableFile {
    header: String,
}

impl TableFile {
    /// The file for a table with these columns.
    pub fn new(columns: &[Column]) -> TableFile {
        TableFile { header: records(std::iter::once(header(columns))) }
    }

    fn begins(&self, file: File) -> bool {
        let mut line = String::new();
        let read = BufReader::new(file).take(self.header.len() as u64).read_line(&mut line);
        read.is_ok() && line == self.header
    }
}

impl DerivedKind for TableFile {
    fn description(&self) -> String {
        "a table of these columns".into()
    }

    fn is_of_kind(&self, path: &Path) -> bool {
        text::open(path).is_ok_and(|(file, _)| self.begins(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_and_control_characters_are_text_and_numbers_are_numbers() {
        for (text, expected) in [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
            ("-A1", "'-A1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\u{ff1d}A1", "'\u{ff1d}A1"),
            ("\t=A1", "\\t=A1"),
            ("\u{1b}[31m\r", "\\u{1b}[31m\\r"),
            ("-1.5e-3", "-1.5e-3"),
            ("-0x1.8p3", "-0x1.8p3"),
            ("-inf", "-inf"),
            ("+3*2^-1", "+3*2^-1"),
            ("a-b=c", "a-b=c"),
        ] {
            assert_eq!(field(&Cell::Text(text.into())), expected);
        }
        assert_eq!(field(&Cell::List(vec![Cell::Text("=\u{9b}".into())])), "[\"=\\u009b\"]");
        assert_eq!(field(&Cell::Integer(-1)), "-1");
    }
}
