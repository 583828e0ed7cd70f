//! The JSON Schema of reports, and the columns that a version promises, from declared tables.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{CellKind, Column, Declaration, Verdict};

/// Version of the schema; it grows when a member, table or column changes its meaning or goes.
pub const VERSION: u32 = 2;

/// Schema of all members except tables.
const FRAME: &str = include_str!("frame.json");

/// The JSON Schema (2020-12) of reports with these tables.
pub fn document(tables: &[Declaration]) -> Value {
    let mut document: Value = serde_json::from_str(FRAME).expect("the frame is JSON");
    document["properties"]["schema"]["const"] = json!(VERSION);
    document["properties"]["verdict"]["anyOf"][1]["enum"] = json!(Verdict::ALL.map(Verdict::name));
    let mut properties = Map::new();
    for table in tables {
        let rows = json!({
            "description": table.about,
            "type": "array",
            "items": { "$ref": format!("#/$defs/{}_row", table.key) },
        });
        properties.insert(table.key.into(), rows);
        document["$defs"][format!("{}_row", table.key)] = row(&table.columns);
    }
    document["properties"]["tables"]["properties"] = Value::Object(properties);
    document
}

fn row(columns: &[Column]) -> Value {
    let keys: Vec<&str> = columns.iter().map(|column| &*column.key).collect();
    let member = |column: &Column| (column.key.to_string(), property(column));
    json!({
        "type": "object",
        "required": keys,
        "additionalProperties": false,
        "properties": columns.iter().map(member).collect::<Map<_, _>>(),
    })
}

fn property(column: &Column) -> Value {
    let mut property = Map::from_iter([("description".to_string(), json!(column.meaning))]);
    if !column.look.unit.is_empty() {
        property.insert("x-unit".into(), json!(column.look.unit));
    }
    let Value::Object(constraint) = constraint(&column.kind) else { unreachable!("constraints are objects") };
    property.extend(constraint);
    Value::Object(property)
}

fn constraint(kind: &CellKind) -> Value {
    match kind {
        CellKind::Text => json!({ "type": "string" }),
        CellKind::Integer => json!({ "type": "integer" }),
        CellKind::Real => json!({ "$ref": "#/$defs/real" }),
        CellKind::Flag => json!({ "type": "boolean" }),
        CellKind::List(kind) => json!({ "type": "array", "items": constraint(kind) }),
        CellKind::Optional(kind) => json!({ "anyOf": [{ "type": "null" }, constraint(kind)] }),
    }
}

/// The promise of this version: its number, then a sorted line `TABLE.COLUMN KIND` for each column.
pub fn promise(tables: &[Declaration]) -> String {
    let line = |table: &Declaration, column: &Column| format!("{}.{} {}", table.key, column.key, name(&column.kind));
    let mut lines: Vec<String> =
        tables.iter().flat_map(|table| table.columns.iter().map(move |column| line(table, column))).collect();
    lines.sort();
    format!("schema {VERSION}\n{}\n", lines.join("\n"))
}

fn name(kind: &CellKind) -> String {
    match kind {
        CellKind::Text => "text".into(),
        CellKind::Integer => "integer".into(),
        CellKind::Real => "real".into(),
        CellKind::Flag => "flag".into(),
        CellKind::List(kind) => format!("list of {}", name(kind)),
        CellKind::Optional(kind) => format!("optional {}", name(kind)),
    }
}

/// The columns of the promise `before` that `now` lacks or changes under the same version.
pub fn broken(before: &str, now: &str) -> Vec<String> {
    let (mut before, mut now) = (before.lines(), now.lines());
    if before.next() != now.next() {
        return Vec::new();
    }
    let kept: BTreeSet<_> = now.collect();
    before.filter(|line| !kept.contains(line)).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_goes_or_changes_breaks_the_promise_of_its_version_and_a_new_one_does_not() {
        let before = "schema 2\nt.a integer\nt.b text\n";
        assert_eq!(broken(before, "schema 2\nt.a integer\nt.b text\nt.c flag\n"), [""; 0]);
        assert_eq!(broken(before, "schema 2\nt.a integer\nt.c text\n"), ["t.b text"]);
        assert_eq!(broken(before, "schema 2\nt.a real\nt.b text\n"), ["t.a integer"]);
        assert_eq!(broken(before, "schema 3\nt.a real\n"), [""; 0]);
    }
}
