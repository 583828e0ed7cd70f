//! Comma-separated values: the tables, with every column and every digit, in one text or a file each.
//!
//! Quoting follows RFC 4180; lines end with a line feed. What stands beside the tables (device, seed, notes) has
//! no place in this form: it is in JSON.

use serde_json::Value;

use super::{Cell, Report, Table, json};

pub(super) fn render(report: &Report) -> String {
    report.tables.iter().map(block).collect::<Vec<_>>().join("\n")
}

pub(super) fn block(table: &Table) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = table.columns.iter().map(|column| column.key.to_string()).collect();
    let rows = table.rows.iter().map(|row| row.iter().map(field).collect());
    for record in std::iter::once(header).chain(rows) {
        let record: Vec<String> = record;
        writer.write_record(record).expect("records of one length, written to memory");
    }
    String::from_utf8(writer.into_inner().expect("written to memory")).expect("fields are UTF-8")
}

/// A cell as in JSON, without the quotes around a string; nothing for an empty one; a list as a JSON array.
fn field(cell: &Cell) -> String {
    match json::value(cell) {
        Value::Null => String::new(),
        Value::String(text) => text,
        value => value.to_string(),
    }
}
