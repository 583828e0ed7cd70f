//! Tables turned for people: sections, and a column for each value of a column.
//!
//! JSON and CSV keep one row for each cell. A view for people shows a table for each section instead, whose columns are the values of one
//! column in the order of their first rows.

use std::collections::BTreeMap;

use super::{
    Cell, Table,
    human::{CellEvidence, ShownTable, plain},
};

/// Longest cell that is not wrapped: many columns of short cells stand next to each other.
const LONGEST: usize = 28;

/// Columns that turn a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pivot {
    /// Key of the column with a table for each of its values.
    pub section: &'static str,
    /// Key of the column that names the rows.
    pub row: &'static str,
    /// Key of the column whose values become columns.
    pub column: &'static str,
    /// Key of the column with the cells.
    pub cell: &'static str,
    /// Key of the column that tells different cells of one place apart; its values are the first row.
    pub among: &'static str,
}

/// The tables of a turned table, each with its section; `print` turns a cell into text.
pub(crate) fn turned(table: &Table, pivot: Pivot, print: impl Fn(&Cell) -> String) -> Vec<(String, ShownTable)> {
    let place = |key: &str| table.columns.iter().position(|column| column.key == key);
    let keys = [pivot.section, pivot.row, pivot.column, pivot.cell, pivot.among];
    let [Some(section), Some(row), Some(column), Some(cell), Some(among)] = keys.map(place) else { return Vec::new() };
    let evidence = CellEvidence::of(table, &[cell]);
    // Headings are text that views print.
    let columns = distinct(table, column);
    let heading = table.columns[row].look.heading.unwrap_or(pivot.row);
    let naming = table.columns[among].look.heading.unwrap_or(pivot.among);
    let sections = distinct(table, section).into_iter().map(|name| {
        let own = table.rows.iter().filter(|cells| plain(&cells[section]) == name);
        let mut names: Vec<String> = Vec::new();
        let mut cells: BTreeMap<(usize, usize), Vec<(String, String)>> = BTreeMap::new();
        for line in own {
            let label = print(&line[row]);
            let at = names.iter().position(|known| *known == label).unwrap_or_else(|| {
                names.push(label);
                names.len() - 1
            });
            let name = plain(&line[column]);
            let Some(of) = columns.iter().position(|known| *known == name) else { continue };
            cells.entry((at, of)).or_default().push((evidence.marked(line, cell, &print), print(&line[among])));
        }
        let among = (0..columns.len()).map(|of| {
            let texts = cells.iter().filter(|((_, own), _)| *own == of).flat_map(|(_, found)| found);
            let mut names: Vec<&str> = Vec::new();
            for (_, name) in texts {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            names.join(", ")
        });
        let first: Vec<String> = std::iter::once(naming.to_string()).chain(among).collect();
        let line = |(at, label): (usize, &String)| {
            let own = (0..columns.len()).map(|of| cells.get(&(at, of)).map_or("-".into(), |found| joined(found)));
            std::iter::once(label.clone()).chain(own).collect()
        };
        let shown = ShownTable {
            labels: std::iter::once(heading.to_string()).chain(columns.clone()).collect(),
            numeric: vec![false; columns.len() + 1],
            beside: vec![false; columns.len() + 1],
            rows: std::iter::once(first).chain(names.iter().enumerate().map(line)).collect(),
            legend: evidence.legend(),
            longest: Some(LONGEST),
        };
        (name, shown)
    });
    sections.collect()
}

/// The values of a column, in the order of their first rows.
fn distinct(table: &Table, column: usize) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for text in table.rows.iter().map(|cells| plain(&cells[column])) {
        if !values.contains(&text) {
            values.push(text);
        }
    }
    values
}

/// The cells of one place: one text, or several with what tells them apart.
fn joined(found: &[(String, String)]) -> String {
    let mut several: Vec<(&str, Vec<&str>)> = Vec::new();
    for (text, among) in found {
        match several.iter_mut().find(|(known, _)| known == text) {
            Some((_, of)) => of.push(among),
            None => several.push((text, vec![among])),
        }
    }
    match &several[..] {
        [(text, _)] => text.to_string(),
        several => {
            let each = several.iter().map(|(text, of)| format!("{}: {text}", of.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::EvidenceKind;

    crate::rows! {
        /// A cell.
        struct Turned in "turned" {
            /// Section.
            class: &'static str => shown("class"),
            /// Row.
            feature: &'static str => shown("feature"),
            /// Column.
            device: &'static str => shown("device"),
            /// Cell.
            found: Option<&'static str> => shown("found"),
            /// Its evidence.
            evidence: Option<EvidenceKind> => hidden().marks("found"),
            /// Shape.
            shape: &'static str => shown("shape"),
        }
    }

    const PIVOT: Pivot = Pivot { section: "class", row: "feature", column: "device", cell: "found", among: "shape" };

    fn table(rows: &[(&'static str, &'static str, &'static str, &'static str, EvidenceKind, &'static str)]) -> Table {
        let row = |&(class, feature, device, found, evidence, shape): &_| Turned {
            class,
            feature,
            device,
            found: Some(found).filter(|found: &&str| !found.is_empty()),
            evidence: Some(evidence),
            shape,
        };
        Table::of("t", rows.iter().map(row))
    }

    #[test]
    fn a_turned_table_has_a_table_for_each_section_and_a_column_for_each_value() {
        let (m, l) = (EvidenceKind::Measured, EvidenceKind::Literature);
        let table = table(&[
            ("x", "width", "new", "25", m, "k16"),
            ("x", "width", "old", "24", l, "k8"),
            ("x", "width", "old", "24", l, "k16"),
            ("x", "order", "new", "one step", m, "k16"),
            ("x", "order", "old", "one step", l, "k8"),
            ("x", "order", "old", "two steps", l, "k16"),
            ("y", "width", "new", "13", m, "k32"),
            ("y", "order", "new", "", m, "k32"),
        ]);
        let [(x, first), (y, second)] = &turned(&table, PIVOT, plain)[..] else { panic!("two sections") };
        assert_eq!((x.as_str(), y.as_str()), ("x", "y"));
        assert_eq!(first.labels, ["feature", "new", "old"]);
        assert_eq!(first.rows[0], ["shape", "k16", "k8, k16"]);
        assert_eq!(first.rows[1], ["width", "25 [m]", "24 [l]"]);
        assert_eq!(first.rows[2], ["order", "one step [m]", "k8: one step [l]; k16: two steps [l]"]);
        // A column without rows in a section is not left out, and an empty cell has no mark.
        assert_eq!(second.labels, first.labels);
        assert_eq!(second.rows, [["shape", "k32", ""], ["width", "13 [m]", "-"], ["order", "-", "-"]]);
        assert!(first.legend.as_ref().is_some_and(|legend| legend.contains("[l] literature")), "{first:?}");
    }
}
