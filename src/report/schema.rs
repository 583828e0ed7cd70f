//! The JSON Schema of reports, and the list of columns that a version has promised, both from the declarations of tables.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Column, Declaration, Kind, Verdict};

/// The version of the schema. It grows when a member, a table or a column changes its meaning or goes; new ones come without.
pub const VERSION: u32 = 2;

/// What every report has beside its tables.
const FRAME: &str = include_str!("frame.json");

/// The JSON Schema (2020-12) of reports that hold these tables.
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

fn constraint(kind: &Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Integer => json!({ "type": "integer" }),
        Kind::Real => json!({ "$ref": "#/$defs/real" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::List(kind) => json!({ "type": "array", "items": constraint(kind) }),
        Kind::Optional(kind) => json!({ "anyOf": [{ "type": "null" }, constraint(kind)] }),
    }
}

/// The promise of this version: a line for the version, then one for each column, `TABLE.COLUMN KIND`, in order of names.
pub fn promise(tables: &[Declaration]) -> String {
    let line = |table: &Declaration, column: &Column| format!("{}.{} {}", table.key, column.key, name(&column.kind));
    let mut lines: Vec<String> =
        tables.iter().flat_map(|table| table.columns.iter().map(move |column| line(table, column))).collect();
    lines.sort();
    format!("schema {VERSION}\n{}\n", lines.join("\n"))
}

fn name(kind: &Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Integer => "integer".into(),
        Kind::Real => "real".into(),
        Kind::Flag => "flag".into(),
        Kind::List(kind) => format!("list of {}", name(kind)),
        Kind::Optional(kind) => format!("optional {}", name(kind)),
    }
}

/// What `now` breaks of the promise `before`: the columns that are gone or hold something else, if the version is the same.
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
