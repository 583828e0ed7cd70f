//! Cells of tables by the keys of their columns.

use super::{Cell, Table};

/// The rows of a table, with columns by key.
#[derive(Clone, Copy)]
pub struct Rows<'a>(pub &'a Table);

/// A row of a table, with cells by the keys of their columns.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    table: &'a Table,
    cells: &'a [Cell],
}

impl<'a> Rows<'a> {
    /// The rows.
    pub fn iter(self) -> impl Iterator<Item = RowView<'a>> {
        self.0.rows.iter().map(move |cells| RowView { table: self.0, cells })
    }
}

impl<'a> RowView<'a> {
    /// The cell of a column; empty if there is no such column.
    pub fn cell(&self, key: &str) -> &'a Cell {
        let place = self.table.columns.iter().position(|column| column.key == key);
        place.map_or(&Cell::Empty, |at| &self.cells[at])
    }

    /// The cell of a column as text; `None` if empty.
    pub fn shown(&self, key: &str) -> Option<String> {
        Some(self.cell(key)).filter(|cell| !cell.is_empty()).map(Cell::text)
    }

    /// The text of a column, or an empty text.
    pub fn text(&self, key: &str) -> &'a str {
        match self.cell(key) {
            Cell::Text(text) => text,
            _ => "",
        }
    }

    /// The number of a column.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.cell(key) {
            Cell::Integer(value) => Some(*value as f64),
            Cell::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number of a column.
    pub fn integer(&self, key: &str) -> Option<i64> {
        if let Cell::Integer(value) = self.cell(key) { Some(*value) } else { None }
    }

    /// The flag of a column.
    pub fn flag(&self, key: &str) -> Option<bool> {
        if let Cell::Flag(value) = self.cell(key) { Some(*value) } else { None }
    }

    /// The count of a column, 0 if missing.
    pub fn count(&self, key: &str) -> i64 {
        self.number(key).unwrap_or(0.0) as i64
    }

    /// The texts of a list.
    pub fn list(&self, key: &str) -> Vec<&'a str> {
        let Cell::List(cells) = self.cell(key) else { return Vec::new() };
        cells.iter().filter_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None }).collect()
    }

    /// The numbers of a list.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        let Cell::List(cells) = self.cell(key) else { return Vec::new() };
        let number = |cell: &Cell| match cell {
            Cell::Integer(value) => Some(*value as f64),
            Cell::Real(value) => Some(*value),
            _ => None,
        };
        cells.iter().filter_map(number).collect()
    }

    /// A line for each filled column that views for people show: `heading: cell`.
    pub fn lines(&self) -> Vec<String> {
        let columns =
            self.table.columns.iter().filter_map(|column| Some((column.look.heading?, self.shown(&column.key)?)));
        columns.map(|(heading, cell)| format!("{heading}: {cell}")).collect()
    }
}
