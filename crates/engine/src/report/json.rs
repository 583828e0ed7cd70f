//! JSON, described by `schemas/report.schema.json`.
//!
//! Members have a fixed order, and every row of a table is one line, so that line-based tools can compare results.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::{Cell, Report, Table, Verdict, schema};
use crate::{
    VERSION,
    base::{error::Interruption, visible::is_hidden},
    commit,
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
        ("commit", json!(commit())),
        ("schema", json!(schema::VERSION)),
        ("command", json!(report.command)),
        ("invocation", json!(report.invocation)),
        ("answer", json!(report.answer)),
        ("device", device),
        ("seed", json!(report.seed)),
        ("annotations", object(&report.annotations)),
        ("notes", json!(report.notes)),
        ("holds", json!(report.holds)),
        ("verdict", json!(report.finding().map(Verdict::name))),
        ("interrupted", json!(report.interrupted.map(Interruption::name))),
    ];
    let mut text = String::from("{\n");
    for (key, value) in members {
        text += &format!("  {}: {value},\n", json!(key));
    }
    text += "  \"tables\": {";
    for (at, report_table) in report.tables.iter().enumerate() {
        text += if at == 0 { "\n    " } else { ",\n    " };
        table(report_table, &mut text);
    }
    text += if report.tables.is_empty() { "}\n}\n" } else { "\n  }\n}\n" };
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

/// Adds a table, each row in one line.
/// There may be millions of rows, so that nothing is made of a row but its text.
fn table(table: &Table, text: &mut String) {
    let keys: Vec<String> = table.columns.iter().map(|column| json!(column.key).to_string()).collect();
    *text += &format!("{}: [", json!(table.key));
    for (at, cells) in table.rows.iter().enumerate() {
        *text += if at == 0 { "\n      {" } else { ",\n      {" };
        for (place, (key, cell)) in keys.iter().zip(cells).enumerate() {
            *text += if place == 0 { "" } else { "," };
            *text += key;
            text.push(':');
            // Writing to a text cannot fail.
            let _ = write!(text, "{}", value(cell));
        }
        text.push('}');
    }
    *text += if table.rows.is_empty() { "]" } else { "\n    ]" };
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
