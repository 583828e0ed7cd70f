//! JSON, described by `schemas/report.schema.json`.
//!
//! Members have a fixed order, and every row of a table is one line, so that line-based tools can compare results.

use serde_json::{Map, Value, json};

use super::{Cell, Column, Report, Table, Verdict, schema};
use crate::{
    COMMIT, VERSION,
    base::{error::Interruption, visible::is_hidden},
};

pub(super) fn render(report: &Report) -> String {
    let device = report.device.as_ref().map_or(Value::Null, |device| {
        json!({
            "name": device.name.to_string(),
            "description": device.description,
            "details": object(&device.details),
        })
    });
    let members = [
        ("tcnum", json!(VERSION)),
        ("commit", json!(COMMIT)),
        ("schema", json!(schema::VERSION)),
        ("command", json!(report.command)),
        ("invocation", json!(report.invocation)),
        ("answer", json!(report.answer)),
        ("device", device),
        ("seed", json!(report.seed)),
        ("annotations", object(&report.annotations)),
        ("notes", json!(report.notes)),
        ("holds", json!(report.holds)),
        ("verdict", json!(report.found().map(Verdict::name))),
        ("interrupted", json!(report.interrupted.map(Interruption::name))),
    ];
    let mut text = String::from("{\n");
    for (key, value) in members {
        text += &format!("  {}: {value},\n", json!(key));
    }
    let tables: Vec<String> = report.tables.iter().map(table).collect();
    text += &format!("  \"tables\": {}\n}}\n", enclose('{', &tables, "  ", '}'));
    escaped(text)
}

/// Escapes hidden characters, which occur in strings only: elsewhere JSON has just line feeds.
pub(super) fn escaped(text: String) -> String {
    let hidden = |c: char| c != '\n' && is_hidden(c);
    if !text.contains(hidden) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hidden(c) { shown += &format!("\\u{:04x}", u32::from(c)) } else { shown.push(c) }
    }
    shown
}

fn table(table: &Table) -> String {
    let rows: Vec<String> = table.rows.iter().map(|row| self::row(&table.columns, row).to_string()).collect();
    format!("{}: {}", json!(table.key), enclose('[', &rows, "    ", ']'))
}

fn row(columns: &[Column], cells: &[Cell]) -> Value {
    Value::Object(columns.iter().zip(cells).map(|(column, cell)| (column.key.to_string(), value(cell))).collect())
}

/// `members` between two brackets, one line each; `indent` indents the closing bracket.
fn enclose(open: char, members: &[String], indent: &str, close: char) -> String {
    if members.is_empty() {
        return format!("{open}{close}");
    }
    let lines: Vec<String> = members.iter().map(|member| format!("{indent}  {member}")).collect();
    format!("{open}\n{}\n{indent}{close}", lines.join(",\n"))
}

fn object(pairs: &[(String, String)]) -> Value {
    Value::Object(pairs.iter().map(|(key, value)| (key.clone(), json!(value))).collect::<Map<_, _>>())
}

/// The value of a cell; infinities and NaN become the strings `Infinity`, `-Infinity`, `NaN`.
pub(super) fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Empty => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Integer(value) => json!(value),
        Cell::Real(value) if value.is_finite() => json!(value),
        Cell::Real(value) if value.is_nan() => json!("NaN"),
        Cell::Real(value) => json!(if *value > 0.0 { "Infinity" } else { "-Infinity" }),
        Cell::Flag(value) => json!(value),
        Cell::List(cells) => Value::Array(cells.iter().map(self::value).collect()),
    }
}
