//! Values of tables.

use crate::arithmetic::EvidenceKind;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Not applicable, or not measured.
    Empty,
    /// Text, a name or a hexadecimal code.
    Text(String),
    /// A count or another integer.
    Integer(i64),
    /// A measured number: JSON and CSV get every digit, human views three significant digits.
    Real(f64),
    /// A truth value.
    Flag(bool),
    /// Several values, such as the counts of a histogram.
    List(Vec<Cell>),
}

impl Cell {
    /// True if it is empty, or an empty list.
    pub fn is_empty(&self) -> bool {
        match self {
            Cell::Empty => true,
            Cell::List(cells) => cells.is_empty(),
            _ => false,
        }
    }

    /// Rewords the texts in it.
    pub(super) fn reword(&mut self, reword: &impl Fn(&str) -> String) {
        match self {
            Cell::Text(text) => *text = reword(text),
            Cell::List(cells) => cells.iter_mut().for_each(|cell| cell.reword(reword)),
            _ => {}
        }
    }

    /// The value as text, with every digit of a number; `-` if it is empty.
    pub fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Integer(value) => value.to_string(),
            Cell::Real(value) => value.to_string(),
            Cell::Flag(value) => if *value { "yes" } else { "no" }.into(),
            Cell::List(cells) if !cells.is_empty() => listed(cells, Cell::text),
            Cell::Empty | Cell::List(_) => "-".into(),
        }
    }

    /// True if both are the same value; NaN is the same as NaN.
    pub fn is_same(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Real(x), Cell::Real(y)) => x == y || x.is_nan() && y.is_nan(),
            (Cell::List(x), Cell::List(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.is_same(y)),
            _ => self == other,
        }
    }
}

/// Several values as text, separated by commas if one has a space, else by spaces.
pub(super) fn listed(cells: &[Cell], text: impl Fn(&Cell) -> String) -> String {
    let texts: Vec<String> = cells.iter().map(text).collect();
    texts.join(if texts.iter().any(|text| text.contains(' ')) { ", " } else { " " })
}

/// Kind of a column's cells, from the type of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Text, a name or a hexadecimal code.
    Text,
    /// A whole number.
    Integer,
    /// A real number, an infinity or NaN.
    Real,
    /// A truth value.
    Flag,
    /// Several values of one kind.
    List(&'static CellKind),
    /// A value that may be missing.
    Optional(&'static CellKind),
}

/// A type that a cell can hold.
pub trait CellValue {
    /// Kind of its cells.
    const KIND: CellKind;

    /// The value as a cell.
    fn cell(&self) -> Cell;
}

macro_rules! cell_values {
    ($($kind:ident: $type:ty => $cell:expr;)*) => {$(
        impl CellValue for $type {
            const KIND: CellKind = CellKind::$kind;

            fn cell(&self) -> Cell {
                $cell(self)
            }
        }
    )*};
}
cell_values! {
    Text: String => |text: &String| Cell::Text(text.clone());
    Text: &str => |text: &&str| Cell::Text((*text).into());
    Text: EvidenceKind => |kind: &EvidenceKind| Cell::Text(kind.name().into());
    Real: f64 => |value: &f64| Cell::Real(*value);
    Flag: bool => |value: &bool| Cell::Flag(*value);
    Integer: i32 => |value: &i32| integer(*value);
    Integer: u32 => |value: &u32| integer(*value);
    Integer: i64 => |value: &i64| integer(*value);
    Integer: u64 => |value: &u64| integer(*value);
    Integer: usize => |value: &usize| integer(*value as u64);
}

/// An integer; beyond 63 bits (distances of f64 numbers of opposite signs) in double precision.
fn integer(value: impl Into<i128>) -> Cell {
    let value = value.into();
    i64::try_from(value).map_or(Cell::Real(value as f64), Cell::Integer)
}

impl<T: CellValue> CellValue for Option<T> {
    const KIND: CellKind = CellKind::Optional(&T::KIND);

    fn cell(&self) -> Cell {
        self.as_ref().map_or(Cell::Empty, T::cell)
    }
}

impl<T: CellValue> CellValue for Vec<T> {
    const KIND: CellKind = CellKind::List(&T::KIND);

    fn cell(&self) -> Cell {
        Cell::List(self.iter().map(T::cell).collect())
    }
}
