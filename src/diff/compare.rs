//! Two results, row by row and number by number.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    keys,
    result::{KeptResult, Row},
};
use crate::{Error, Result};

/// What two results have in common, and what not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// Each table of either.
    pub tables: Vec<TableChanges>,
    /// What they say of where they come from, where that differs.
    pub provenance: Vec<Change>,
}

/// What changed in a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableChanges {
    /// Its key; empty: what the result says as a whole.
    pub table: String,
    /// Rows of both.
    pub rows: [usize; 2],
    /// Rows of both that are the same, but for their provenance.
    pub same: usize,
    /// Rows of both that are not.
    pub changed: usize,
    /// The cells that differ.
    pub cells: Vec<Change>,
    /// The rows that only one of them has, by name: the first's, and the second's.
    pub only: [Vec<String>; 2],
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The row that it stands in; empty for the result as a whole.
    pub row: String,
    /// What it is: a column, or a member of the result.
    pub column: String,
    /// The values; `None` where one lacks it.
    pub values: [Option<Value>; 2],
}

impl Changes {
    /// Whether nothing has changed but where it comes from.
    pub fn is_none(&self) -> bool {
        self.tables.iter().all(TableChanges::is_none)
    }
}

impl TableChanges {
    /// Whether the rows are the same.
    pub fn is_none(&self) -> bool {
        self.changed == 0 && self.only.iter().all(Vec::is_empty)
    }
}

impl Change {
    /// The second number less the first, over the magnitude of the first; `None` unless both are finite numbers and the first is not zero.
    pub fn relative(&self) -> Option<f64> {
        let [Some(first), Some(second)] = &self.values else { return None };
        let (first, second) = (first.as_f64()?, second.as_f64()?);
        Some((second - first) / first.abs()).filter(|change| change.is_finite())
    }
}

/// Compares two results.
///
/// # Errors
/// They have no table in common, and one has a row.
pub fn compare(first: &KeptResult, second: &KeptResult) -> Result<Changes> {
    let both = [first, second];
    let filled = |result: &KeptResult| result.tables.iter().any(|(_, rows)| !rows.is_empty());
    let common = first.tables.iter().any(|(key, _)| second.tables.iter().any(|(other, _)| other == key));
    if !common && both.into_iter().any(filled) && first.command != second.command {
        return Err(Error::request(format!(
            "a result of `tcnum {}` and one of `tcnum {}` have no table in common",
            first.command, second.command
        )));
    }
    let mut changes = Changes::default();
    let origins = both.map(|result| result.provenance.iter().cloned().collect::<Row>());
    cells("", &origins[0], &origins[1], |change, _| changes.provenance.push(change));
    let mut whole = TableChanges { rows: [1, 1], ..TableChanges::default() };
    cells("", &first.outcome, &second.outcome, |change, _| whole.cells.push(change));
    (whole.same, whole.changed) = if whole.cells.is_empty() { (1, 0) } else { (0, 1) };
    changes.tables.push(whole);
    let keys = first.tables.iter().chain(&second.tables).map(|(key, _)| key);
    for key in keys {
        if changes.tables.iter().any(|known| known.table == *key) {
            continue;
        }
        let rows =
            both.map(|result| result.tables.iter().find(|(own, _)| own == key).map_or(&[][..], |(_, rows)| &rows[..]));
        let table = table(key, rows, &mut changes.provenance);
        changes.tables.push(table);
    }
    Ok(changes)
}

/// Compares the rows of a table.
fn table(key: &str, [first, second]: [&[Row]; 2], provenance: &mut Vec<Change>) -> TableChanges {
    let mut changes = TableChanges { table: key.into(), rows: [first.len(), second.len()], ..TableChanges::default() };
    let mut others: HashMap<String, &Row> = names(key, second).into_iter().zip(second).collect();
    for (name, row) in names(key, first).into_iter().zip(first) {
        let Some(other) = others.remove(&name) else {
            changes.only[0].push(name);
            continue;
        };
        let before = changes.cells.len();
        cells(&name, row, other, |change, in_both| {
            // A column that only one has came with a version of the program.
            let counts = in_both && !keys::is_provenance(key, &change.column);
            if counts {
                changes.cells.push(change);
            } else {
                let column = format!("{key}.{}", change.column);
                let same = |known: &Change| known.column == column && known.values == change.values;
                if !provenance.iter().any(same) && (in_both || !provenance.iter().any(|known| known.column == column)) {
                    provenance.push(Change { column, row: change.row, values: change.values });
                }
            }
        });
        if changes.cells.len() == before { changes.same += 1 } else { changes.changed += 1 }
    }
    // In the order of the result.
    changes.only[1] = names(key, second).into_iter().filter(|name| others.contains_key(name)).collect();
    changes
}

/// The names of rows, each another: of rows that are named alike all but the first get their number.
fn names(table: &str, rows: &[Row]) -> Vec<String> {
    let key = keys::key(table);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut name = |(at, row): (usize, &Row)| {
        let parts: Vec<String> =
            key.iter().filter_map(|column| row.get(column)).filter(|value| !value.is_null()).map(shown).collect();
        if parts.is_empty() {
            return format!("row {}", at + 1);
        }
        let name = parts.join(", ");
        let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { name } else { format!("{name} ({count})") }
    };
    rows.iter().enumerate().map(&mut name).collect()
}

/// Hands over the members in which two rows differ, each with whether both have it.
fn cells(name: &str, first: &Row, second: &Row, mut differs: impl FnMut(Change, bool)) {
    let columns = first.keys().chain(second.keys().filter(|column| !first.contains_key(*column)));
    for column in columns {
        let values = [first.get(column), second.get(column)];
        if values[0] != values[1] {
            let in_both = values.iter().all(Option::is_some);
            differs(
                Change { row: name.into(), column: column.clone(), values: values.map(Option::<&Value>::cloned) },
                in_both,
            );
        }
    }
}

/// A value as text.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn result(tables: &str) -> KeptResult {
        let text = format!(
            r#"{{"tcnum": "0.1.0", "commit": "a", "schema": 2, "command": "verify", "invocation": "tcnum verify", "seed": 0,
                "device": null, "annotations": {{}}, "holds": true, "interrupted": null, "tables": {tables}}}"#
        );
        KeptResult::parse(&text).unwrap()
    }

    fn regimes(rows: &[(&str, &str, u64)]) -> String {
        let row = |(instruction, regime, differing): &(&str, &str, u64)| {
            format!(
                r#"{{"instruction": "{instruction}", "regime": "{regime}", "compared": 10, "differing": {differing}}}"#
            )
        };
        format!(r#"{{"regimes": [{}]}}"#, rows.iter().map(row).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn rows_are_matched_by_what_names_them_in_any_order() {
        let first = result(&regimes(&[("x", "one", 0), ("x", "two", 0), ("y", "one", 3)]));
        let second = result(&regimes(&[("y", "one", 4), ("x", "two", 0), ("z", "one", 0)]));
        let changes = compare(&first, &second).unwrap();
        let [whole, table] = &changes.tables[..] else { panic!("{changes:?}") };
        assert!(whole.is_none() && !table.is_none());
        assert_eq!((table.rows, table.same, table.changed), ([3, 3], 1, 1));
        assert_eq!(table.only, [vec!["x, one".to_string()], vec!["z, one".to_string()]]);
        let [cell] = &table.cells[..] else { panic!("{changes:?}") };
        assert_eq!((&*cell.row, &*cell.column), ("y, one", "differing"));
        assert!((cell.relative().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn counts_versions_and_times_are_no_change() {
        let first = result(&regimes(&[("x", "one", 0)]));
        let mut second = first.clone();
        second.tables[0].1[0]["compared"] = 20.into();
        second.provenance[1].1 = "b".into();
        let changes = compare(&first, &second).unwrap();
        assert!(changes.is_none());
        let named: Vec<&str> = changes.provenance.iter().map(|change| &*change.column).collect();
        assert_eq!(named, ["commit", "regimes.compared"]);
    }

    #[test]
    fn a_column_that_only_one_has_is_no_change() {
        let first = result(&regimes(&[("x", "one", 0)]));
        let mut second = first.clone();
        second.tables[0].1[0].insert("later".into(), 1.into());
        let changes = compare(&first, &second).unwrap();
        assert!(changes.is_none());
        assert_eq!(changes.provenance[0].values, [None, Some(1.into())]);
    }

    #[test]
    fn another_outcome_is_a_change() {
        let first = result("{}");
        let mut second = first.clone();
        second.outcome["holds"] = false.into();
        let changes = compare(&first, &second).unwrap();
        assert_eq!(changes.tables[0].cells[0].column, "holds");
        assert!(!changes.is_none());
    }

    #[test]
    fn results_of_different_commands_are_refused() {
        let first = result(&regimes(&[("x", "one", 0)]));
        let mut second = result("{\"profile\": []}");
        second.command = "probe".into();
        assert_eq!(compare(&first, &second).unwrap_err().exit_status(), 2);
    }

    proptest! {
        #[test]
        fn a_result_is_the_same_as_itself_and_what_is_changed_is_found(
            rows in prop::collection::vec(("[xyz]", "[ab]", 0u64..3), 1..12), at in any::<prop::sample::Index>()
        ) {
            let rows: Vec<(&str, &str, u64)> = rows.iter().map(|(x, y, n)| (&**x, &**y, *n)).collect();
            let first = result(&regimes(&rows));
            prop_assert!(compare(&first, &first).unwrap().is_none());
            let mut second = first.clone();
            second.tables[0].1[at.index(rows.len())]["differing"] = 77.into();
            let changes = compare(&first, &second).unwrap();
            prop_assert_eq!(changes.tables[1].cells.len(), 1);
            prop_assert_eq!(changes.tables[1].changed, 1);
        }
    }
}
