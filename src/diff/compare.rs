//! Comparison of two results, row by row and number by number.

use std::collections::HashMap;

use super::keys;
use crate::{
    Error, Result,
    report::{Cell, CellKind, Kept, Report, Table},
};

/// The changes between two results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// The results as a whole, then each table of either.
    pub tables: Vec<TableChanges>,
    /// Provenance that differs.
    pub provenance: Vec<Change>,
}

/// The changes in a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableChanges {
    /// Key; empty for the result as a whole.
    pub table: String,
    /// Rows of both.
    pub rows: [usize; 2],
    /// Equal rows, provenance aside.
    pub same: usize,
    /// Changed rows.
    pub changed: usize,
    /// Cells that differ.
    pub cells: Vec<Change>,
    /// Names of rows that only the first, and only the second has.
    pub only: [Vec<String>; 2],
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Row; empty for the result as a whole.
    pub row: String,
    /// Column, or member of the result.
    pub column: String,
    /// Both values; empty where missing.
    pub values: [Cell; 2],
}

impl Changes {
    /// True if nothing but provenance changed.
    pub fn is_none(&self) -> bool {
        self.tables.iter().all(TableChanges::is_none)
    }
}

impl TableChanges {
    /// True if the rows are the same.
    pub fn is_none(&self) -> bool {
        self.changed == 0 && self.only.iter().all(Vec::is_empty)
    }
}

impl Change {
    /// The second number minus the first, over the magnitude of the first, if that is finite.
    pub fn relative(&self) -> Option<f64> {
        let number = |cell: &Cell| match cell {
            Cell::Integer(value) => Some(*value as f64),
            Cell::Real(value) => Some(*value),
            _ => None,
        };
        let [first, second] = [number(&self.values[0])?, number(&self.values[1])?];
        Some((second - first) / first.abs()).filter(|change| change.is_finite())
    }
}

/// Compares two results.
///
/// # Errors
/// Results of different commands without a common table.
pub fn compare(first: &Report, second: &Report) -> Result<Changes> {
    let both = [first, second];
    let common = first.tables.iter().any(|table| second.tables.iter().any(|other| other.key == table.key));
    if !common && first.command != second.command {
        return Err(Error::request(format!(
            "a result of `tcnum {}` and one of `tcnum {}` have no table in common",
            first.command, second.command
        )));
    }
    let mut changes = Changes { provenance: members(both.map(origin)), ..Changes::default() };
    let cells = members(both.map(outcome));
    let changed = usize::from(!cells.is_empty());
    changes.tables.push(TableChanges { rows: [1, 1], same: 1 - changed, changed, cells, ..TableChanges::default() });
    for key in first.tables.iter().chain(&second.tables).map(|table| table.key) {
        if !changes.tables.iter().any(|known| known.table == key) {
            let tables = both.map(|report| report.tables.iter().find(|table| table.key == key));
            changes.tables.push(table(key, tables, &mut changes.provenance));
        }
    }
    Ok(changes)
}

/// Compares two kept results, and the programs that made them.
///
/// # Errors
/// As [`compare`].
pub(crate) fn compare_kept(first: &Kept, second: &Kept) -> Result<Changes> {
    let mut changes = compare(&first.report, &second.report)?;
    let program = |kept: &Kept| {
        let commit = kept.commit.clone().map(|commit| ("commit of tcnum".to_string(), Cell::Text(commit)));
        let version = ("version of tcnum".to_string(), Cell::Text(kept.version.clone()));
        std::iter::once(version).chain(commit).collect()
    };
    changes.provenance.splice(0..0, members([program(first), program(second)]));
    Ok(changes)
}

/// The outcome of a result as a whole.
fn outcome(report: &Report) -> Vec<(String, Cell)> {
    let interrupted = report.interrupted.map_or(Cell::Empty, |by| Cell::Text(by.name().into()));
    vec![("holds".into(), Cell::Flag(report.holds)), ("interrupted".into(), interrupted)]
}

/// The provenance of a result.
fn origin(report: &Report) -> Vec<(String, Cell)> {
    let text = |text: &String| Cell::Text(text.clone());
    let mut all = vec![("invocation".to_string(), text(&report.invocation))];
    all.extend(report.seed.map(|seed| ("seed".to_string(), Cell::Text(seed.to_string()))));
    if let Some(device) = &report.device {
        all.push(("device".into(), text(&device.name.to_string())));
        all.push(("what the device is".into(), text(&device.description)));
        all.extend(device.details.iter().map(|(key, value)| (key.clone(), text(value))));
    }
    all.extend(report.annotations.iter().map(|(key, value)| (format!("note {key}"), text(value))));
    all
}

/// The members that differ.
fn members(both: [Vec<(String, Cell)>; 2]) -> Vec<Change> {
    let value = |cells: &[(String, Cell)], name: &str| {
        cells.iter().find(|(other, _)| other == name).map_or(Cell::Empty, |(_, value)| value.clone())
    };
    let others = both[1].iter().filter(|(name, _)| !both[0].iter().any(|(first, _)| first == name));
    let change = |(name, _): &(String, Cell)| Change {
        row: String::new(),
        column: name.clone(),
        values: both.each_ref().map(|cells| value(cells, name)),
    };
    both[0].iter().chain(others).map(change).filter(|change| !change.values[0].is_same(&change.values[1])).collect()
}

/// Compares the rows of a table; differences that are no result go to `provenance`.
fn table(key: &str, both: [Option<&Table>; 2], provenance: &mut Vec<Change>) -> TableChanges {
    let rows = both.map(|table| table.map_or(&[][..], |table| &table.rows));
    let mut changes = TableChanges { table: key.into(), rows: rows.map(<[_]>::len), ..TableChanges::default() };
    let names = both.map(|table| table.map_or(Vec::new(), names));
    let mut others: HashMap<&str, &Vec<Cell>> = names[1].iter().map(String::as_str).zip(rows[1]).collect();
    for (name, row) in names[0].iter().zip(rows[0]) {
        let Some(other) = others.remove(name.as_str()) else {
            changes.only[0].push(name.clone());
            continue;
        };
        let before = changes.cells.len();
        let columns = both[0].map_or(&[][..], |table| &table.columns);
        for ((column, x), y) in columns.iter().zip(row).zip(other) {
            if x.is_same(y) {
                continue;
            }
            // Results of older programs may lack the column.
            let lacking =
                !matches!(column.kind, CellKind::Optional(_)) && [x, y].into_iter().any(|cell| *cell == Cell::Empty);
            let change = Change { row: name.clone(), column: column.key.to_string(), values: [x.clone(), y.clone()] };
            if !lacking && !keys::is_provenance(key, &column.key) {
                changes.cells.push(change);
                continue;
            }
            // Once for each column, whichever rows differ.
            let named = format!("{key}.{}", column.key);
            if !provenance.iter().any(|known| known.column == named) {
                provenance.push(Change { column: named, ..change });
            }
        }
        if changes.cells.len() == before { changes.same += 1 } else { changes.changed += 1 }
    }
    changes.only[1] = names[1].iter().filter(|name| others.contains_key(name.as_str())).cloned().collect();
    changes
}

/// The distinct names of rows; equal names get numbers from the second on.
fn names(table: &Table) -> Vec<String> {
    let place = |column: &String| table.columns.iter().position(|candidate| candidate.key == **column);
    let key: Vec<usize> = keys::key(table.key).iter().filter_map(place).collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut name = |(at, row): (usize, &Vec<Cell>)| {
        let parts: Vec<String> =
            key.iter().map(|&column| &row[column]).filter(|cell| !cell.is_empty()).map(Cell::text).collect();
        if parts.is_empty() {
            return format!("row {}", at + 1);
        }
        let name = parts.join(", ");
        let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { name } else { format!("{name} ({count})") }
    };
    table.rows.iter().enumerate().map(&mut name).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::campaign::RegimeRow;

    fn result(rows: &[(&str, &str, u64)]) -> Report {
        let row = |&(instruction, regime, differing): &(&str, &str, u64)| RegimeRow {
            instruction: instruction.into(),
            regime: regime.into(),
            compared: 10,
            differing,
        };
        let mut report = Report::new("verify", "tcnum verify");
        report.tables = vec![Table::of("Regimes", rows.iter().map(row))];
        report
    }

    /// The place of a column of the table of regimes.
    fn column(report: &Report, key: &str) -> usize {
        report.tables[0].columns.iter().position(|column| column.key == key).unwrap()
    }

    #[test]
    fn rows_are_matched_by_what_names_them_in_any_order() {
        let first = result(&[("x", "one", 0), ("x", "two", 0), ("y", "one", 3)]);
        let second = result(&[("y", "one", 4), ("x", "two", 0), ("z", "one", 0)]);
        let changes = compare(&first, &second).unwrap();
        let [outcome, table] = &changes.tables[..] else { panic!("{changes:?}") };
        assert!(outcome.is_none() && !table.is_none());
        assert_eq!((table.rows, table.same, table.changed), ([3, 3], 1, 1));
        assert_eq!(table.only, [vec!["x, one".to_string()], vec!["z, one".to_string()]]);
        let [cell] = &table.cells[..] else { panic!("{changes:?}") };
        assert_eq!((&*cell.row, &*cell.column), ("y, one", "differing"));
        assert!((cell.relative().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn counts_and_where_a_result_comes_from_are_no_change() {
        let first = result(&[("x", "one", 0)]);
        let mut second = Report { seed: Some(1), ..first.clone() };
        let compared = column(&second, "compared");
        second.tables[0].rows[0][compared] = Cell::Integer(20);
        let changes = compare(&first, &second).unwrap();
        assert!(changes.is_none());
        let named: Vec<&str> = changes.provenance.iter().map(|change| &*change.column).collect();
        assert_eq!(named, ["seed", "regimes.compared"]);
    }

    #[test]
    fn a_column_that_a_program_did_not_have_yet_is_no_change() {
        let first = result(&[("x", "one", 0)]);
        let mut second = first.clone();
        let differing = column(&second, "differing");
        second.tables[0].rows[0][differing] = Cell::Empty;
        assert!(compare(&first, &second).unwrap().is_none());
    }

    #[test]
    fn another_outcome_is_a_change_and_not_a_number_is_the_same_as_itself() {
        let first = result(&[]);
        let second = Report { holds: false, ..first.clone() };
        let changes = compare(&first, &second).unwrap();
        assert_eq!(changes.tables[0].cells[0].column, "holds");
        assert!(!changes.is_none());
        assert!(Cell::List(vec![Cell::Real(f64::NAN)]).is_same(&Cell::List(vec![Cell::Real(f64::NAN)])));
        assert!(!Cell::Real(f64::NAN).is_same(&Cell::Real(0.0)));
    }

    #[test]
    fn results_of_different_commands_are_refused() {
        let first = result(&[("x", "one", 0)]);
        let second = Report::new("probe", "tcnum probe");
        assert_eq!(compare(&first, &second).unwrap_err().exit_status(), 2);
    }

    proptest! {
        #[test]
        fn a_result_is_the_same_as_itself_and_what_is_changed_is_found(
            rows in prop::collection::vec(("[xyz]", "[ab]", 0u64..3), 1..12), at in any::<prop::sample::Index>()
        ) {
            let rows: Vec<(&str, &str, u64)> = rows.iter().map(|(x, y, n)| (&**x, &**y, *n)).collect();
            let first = result(&rows);
            prop_assert!(compare(&first, &first).unwrap().is_none());
            let mut second = first.clone();
            let differing = column(&second, "differing");
            second.tables[0].rows[at.index(rows.len())][differing] = Cell::Integer(77);
            let changes = compare(&first, &second).unwrap();
            prop_assert_eq!(changes.tables[1].cells.len(), 1);
            prop_assert_eq!(changes.tables[1].changed, 1);
        }
    }
}
