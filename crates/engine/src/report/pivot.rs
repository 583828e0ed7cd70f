//! Tables turned for people: sections, and a column for each value of a column.
//!
//! JSON and CSV keep one row for each cell. A view for people shows a table for each section instead, whose columns are the values of one
//! column in the order of their first rows.

use std::collections::BTreeMap;

use super::{
    Cell, Table,
    human::{CellEvidence, ShownTable, plain},
};

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
pub fn turned(table: &Table, pivot: Pivot, print: impl Fn(&Cell) -> String) -> Vec<(String, ShownTable)> {
    let place = |key: &str| table.columns.iter().position(|column| column.key == key);
    let keys = [pivot.section, pivot.row, pivot.column, pivot.cell, pivot.among];
    let [Some(section), Some(row), Some(column), Some(cell), Some(among)] = keys.map(place) else { return Vec::new() };
    let evidence = CellEvidence::of(table, &[cell]);
    // Headings are text that views print.
    let columns = distinct(table, column);
    let heading = |at: usize, key: &str| table.columns[at].look.heading.unwrap_or(key).to_string();
    let mut sections: Vec<(String, PivotSection)> = Vec::new();
    for cells in &table.rows {
        let name = plain(&cells[section]);
        let at = sections.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            sections.push((name, PivotSection::default()));
            sections.len() - 1
        });
        let of = plain(&cells[column]);
        let of = columns.iter().position(|known| *known == of).expect("it is one of the values");
        let text = evidence.marked(cells, cell, &print);
        sections[at].1.add(print(&cells[row]), of, text, print(&cells[among]));
    }
    let shown = sections.into_iter().map(|(name, section)| {
        let shown = ShownTable {
            labels: std::iter::once(heading(row, pivot.row)).chain(columns.clone()).collect(),
            numeric: vec![false; columns.len() + 1],
            beside: vec![false; columns.len() + 1],
            rows: section.lines(heading(among, pivot.among), columns.len()),
            legend: evidence.legend(),
            longest: table.longest,
        };
        (name, shown)
    });
    shown.collect()
}

/// The cells of one table.
#[derive(Default)]
struct PivotSection {
    /// The names of rows, in the order of the table.
    names: Vec<String>,
    /// Texts by row and column, each with what tells it apart.
    cells: BTreeMap<(usize, usize), Vec<(String, String)>>,
}

impl PivotSection {
    /// Adds a text, with what tells it apart.
    fn add(&mut self, row: String, column: usize, text: String, among: String) {
        let at = self.names.iter().position(|known| *known == row).unwrap_or_else(|| {
            self.names.push(row);
            self.names.len() - 1
        });
        self.cells.entry((at, column)).or_default().push((text, among));
    }

    /// The rows of the table, first what tells cells of one place apart, under the name `naming`.
    fn lines(&self, naming: String, columns: usize) -> Vec<Vec<String>> {
        let among = (0..columns).map(|of| {
            let mut names: Vec<&str> = Vec::new();
            let cells = self.cells.iter().filter(|((_, column), _)| *column == of);
            for (_, name) in cells.flat_map(|(_, entries)| entries) {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            names.join(", ")
        });
        let first = std::iter::once(naming).chain(among).collect();
        let line = |(at, name): (usize, &String)| {
            let cells = (0..columns).map(|of| self.cells.get(&(at, of)).map_or("-".into(), |entries| joined(entries)));
            std::iter::once(name.clone()).chain(cells).collect()
        };
        std::iter::once(first).chain(self.names.iter().enumerate().map(line)).collect()
    }
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
fn joined(entries: &[(String, String)]) -> String {
    let mut several: Vec<(&str, Vec<&str>)> = Vec::new();
    for (text, among) in entries {
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
        let row = |&(class, feature, device, words, evidence, shape): &_| Turned {
            class,
            feature,
            device,
            found: Some(words).filter(|words: &&str| !words.is_empty()),
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
