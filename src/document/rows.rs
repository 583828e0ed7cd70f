//! Cells of tables by the keys of their columns, and grouped rows.

use std::{collections::HashMap, hash::Hash};

use crate::report::{Cell, Table};

/// The rows of a table, with columns by key.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a>(pub(super) &'a Table);

/// A row of it.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    table: &'a Table,
    cells: &'a [Cell],
}

impl<'a> Rows<'a> {
    /// The rows.
    pub(super) fn iter(self) -> impl Iterator<Item = Line<'a>> {
        self.0.rows.iter().map(move |cells| Line { table: self.0, cells })
    }
}

impl<'a> Line<'a> {
    /// The cell of a column; empty if there is no such column.
    pub(super) fn cell(&self, key: &str) -> &'a Cell {
        let place = self.table.columns.iter().position(|column| column.key == key);
        place.map_or(&Cell::Empty, |at| &self.cells[at])
    }

    /// The text of a column, or an empty text.
    pub(super) fn text(&self, key: &str) -> &'a str {
        match self.cell(key) {
            Cell::Text(text) => text,
            _ => "",
        }
    }

    /// The number of a column.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.cell(key) {
            Cell::Integer(value) => Some(*value as f64),
            Cell::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// The count of a column, 0 if missing.
    pub(super) fn count(&self, key: &str) -> i64 {
        self.number(key).unwrap_or(0.0) as i64
    }

    /// The texts of a list.
    pub(super) fn list(&self, key: &str) -> Vec<&'a str> {
        let Cell::List(cells) = self.cell(key) else { return Vec::new() };
        cells.iter().filter_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None }).collect()
    }

    /// The numbers of a list.
    pub(super) fn numbers(&self, key: &str) -> Vec<f64> {
        let Cell::List(cells) = self.cell(key) else { return Vec::new() };
        let number = |cell: &Cell| match cell {
            Cell::Integer(value) => Some(*value as f64),
            Cell::Real(value) => Some(*value),
            _ => None,
        };
        cells.iter().filter_map(number).collect()
    }
}

/// Numbers for keys, in order of appearance.
pub(super) struct Seen<K>(HashMap<K, usize>);

impl<K: Eq + Hash> Seen<K> {
    pub(super) fn new() -> Seen<K> {
        Seen(HashMap::new())
    }

    /// The number of a key, and whether it is new.
    pub(super) fn number(&mut self, key: K) -> (usize, bool) {
        let next = self.0.len();
        let number = *self.0.entry(key).or_insert(next);
        (number, number == next && self.0.len() > next)
    }
}

/// Groups items by key, in order of appearance.
pub(super) fn together<K: Clone + Eq + Hash, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let (mut seen, mut groups) = (Seen::new(), Vec::<(K, Vec<T>)>::new());
    for (key, item) in items {
        match seen.number(key.clone()) {
            (_, true) => groups.push((key, vec![item])),
            (at, false) => groups[at].1.push(item),
        }
    }
    groups
}
