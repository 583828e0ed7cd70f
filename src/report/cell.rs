//! One value of a table.

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
    /// Whether it says nothing: empty, or a list of nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Cell::Empty => true,
            Cell::List(cells) => cells.is_empty(),
            _ => false,
        }
    }

    /// The value as text, with every digit of a number; `-` where it says nothing.
    pub fn text(&self) -> String {
        match self {
            Cell::Empty => "-".into(),
            Cell::List(cells) if cells.is_empty() => "-".into(),
            Cell::Text(text) => text.clone(),
            Cell::Integer(value) => value.to_string(),
            Cell::Real(value) => value.to_string(),
            Cell::Flag(value) => if *value { "yes" } else { "no" }.into(),
            Cell::List(cells) => listed(cells, Cell::text),
        }
    }

    /// Whether it is the same value: NaN is the same as NaN.
    pub fn is_same(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Real(x), Cell::Real(y)) => x == y || x.is_nan() && y.is_nan(),
            (Cell::List(x), Cell::List(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.is_same(y)),
            _ => self == other,
        }
    }
}

/// Several values as text, with commas between values in which there are spaces.
pub(super) fn listed(cells: &[Cell], text: impl Fn(&Cell) -> String) -> String {
    let texts: Vec<String> = cells.iter().map(text).collect();
    texts.join(if texts.iter().any(|text| text.contains(' ')) { ", " } else { " " })
}

/// What a column holds, from the type of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text, a name or a hexadecimal code.
    Text,
    /// A whole number.
    Integer,
    /// A real number, an infinity or NaN.
    Real,
    /// A truth value.
    Flag,
    /// Several values of one kind.
    List(&'static Kind),
    /// A value that may be missing.
    Optional(&'static Kind),
}

/// A type whose values are cells.
pub trait CellValue {
    /// What its cells hold.
    const KIND: Kind;

    /// The value as a cell.
    fn cell(&self) -> Cell;
}

impl CellValue for String {
    const KIND: Kind = Kind::Text;

    fn cell(&self) -> Cell {
        Cell::Text(self.clone())
    }
}

impl CellValue for &str {
    const KIND: Kind = Kind::Text;

    fn cell(&self) -> Cell {
        Cell::Text(self.to_string())
    }
}

impl CellValue for f64 {
    const KIND: Kind = Kind::Real;

    fn cell(&self) -> Cell {
        Cell::Real(*self)
    }
}

impl CellValue for bool {
    const KIND: Kind = Kind::Flag;

    fn cell(&self) -> Cell {
        Cell::Flag(*self)
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl CellValue for $type {
            const KIND: Kind = Kind::Integer;

            /// An integer; beyond 63 bits (steps between f64 numbers of opposite signs) in double precision.
            fn cell(&self) -> Cell {
                i64::try_from(*self).map_or(Cell::Real(*self as f64), Cell::Integer)
            }
        }
    )*};
}
integers!(i32, u32, i64, u64, usize);

impl<T: CellValue> CellValue for Option<T> {
    const KIND: Kind = Kind::Optional(&T::KIND);

    fn cell(&self) -> Cell {
        self.as_ref().map_or(Cell::Empty, T::cell)
    }
}

impl<T: CellValue> CellValue for Vec<T> {
    const KIND: Kind = Kind::List(&T::KIND);

    fn cell(&self) -> Cell {
        Cell::List(self.iter().map(T::cell).collect())
    }
}
