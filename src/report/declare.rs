//! The declaration of tables: a struct is a row, and from its fields follow columns, views and schema.

use std::borrow::Cow;

use super::{Cell, Kind, cell::CellValue};

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in JSON and CSV, in snake case.
    pub key: Cow<'static, str>,
    /// What it says.
    pub meaning: &'static str,
    /// What its cells hold.
    pub kind: Kind,
    /// How views for people show it.
    pub look: Look,
}

/// How views for people (terminal, Markdown, LaTeX) show a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The heading; `None` keeps the column out of them, unless it is asked for by its key.
    pub heading: Option<&'static str>,
    /// The unit of measurement, empty for counts, names and pure numbers.
    pub unit: &'static str,
    /// Whether `--brief` keeps it.
    pub essential: bool,
    /// In which tables it is shown.
    pub shown: Where,
    /// Whether it stays beside the column before it where a table is cut into parts.
    pub beside: bool,
    /// The key of the column whose cells it marks: with what each rests on.
    pub marks: Option<&'static str>,
}

/// In which tables a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In all.
    Everywhere,
    /// Where a row has something in it.
    Filled,
    /// Where the rows differ in it.
    Varied,
}

/// A column under this heading.
pub const fn shown(heading: &'static str) -> Look {
    Look { heading: Some(heading), unit: "", essential: false, shown: Where::Everywhere, beside: false, marks: None }
}

/// A column that JSON and CSV have, and other views where it is asked for.
pub const fn hidden() -> Look {
    Look { heading: None, unit: "", essential: false, shown: Where::Everywhere, beside: false, marks: None }
}

impl Look {
    /// The same, kept by `--brief`.
    pub const fn essential(self) -> Look {
        Look { essential: true, ..self }
    }

    /// The same, with a unit of measurement.
    pub const fn unit(self, unit: &'static str) -> Look {
        Look { unit, ..self }
    }

    /// The same, beside the column before it where a table is cut into parts.
    pub const fn beside(self) -> Look {
        Look { beside: true, ..self }
    }

    /// The same, as the kinds of evidence that the cells of another column rest on.
    pub const fn marks(self, key: &'static str) -> Look {
        Look { marks: Some(key), ..self }
    }

    /// The same, where a row has something in it.
    pub const fn if_filled(self) -> Look {
        Look { shown: Where::Filled, ..self }
    }

    /// The same, where the rows differ in it.
    pub const fn if_varied(self) -> Look {
        Look { shown: Where::Varied, ..self }
    }
}

/// A field of a row: one column, or all those of another row.
pub trait Field {
    /// Its columns.
    fn columns(key: &'static str, meaning: &'static str, look: Look) -> Vec<Column>;

    /// Its cells, as many as there are columns.
    fn append(&self, cells: &mut Vec<Cell>);
}

impl<T: CellValue> Field for T {
    fn columns(key: &'static str, meaning: &'static str, look: Look) -> Vec<Column> {
        vec![Column { key: key.into(), meaning, kind: T::KIND, look }]
    }

    fn append(&self, cells: &mut Vec<Cell>) {
        cells.push(self.cell());
    }
}

/// A row of a declared table (see [`rows!`](crate::rows)).
pub trait Row {
    /// The name of the table in JSON, in snake case.
    const TABLE: &'static str;
    /// What a row is.
    const ABOUT: &'static str;

    /// The columns.
    fn columns() -> Vec<Column>;

    /// The cells, as many as there are columns.
    fn cells(&self) -> Vec<Cell>;
}

/// A declared table, for the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The name of the table in JSON.
    pub key: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
}

impl Declaration {
    /// The declaration of the table whose rows are `R`.
    pub fn of<R: Row>() -> Declaration {
        Declaration { key: R::TABLE, about: R::ABOUT, columns: R::columns() }
    }
}

/// Declares tables: each struct is a row, each field a column, with its meaning as documentation and its look behind an arrow.
/// A field whose type is another row stands for all columns of that row.
///
/// ```
/// tcnum::rows! {
///     /// One thing that was measured.
///     pub struct Measurement in "measurements" {
///         /// What was measured.
///         name: String => shown("what").essential(),
///         /// How long it took.
///         seconds: f64 => shown("time").unit("s"),
///         /// The seed of its inputs.
///         seed: Option<u64> => hidden(),
///     }
/// }
/// # fn main() {
/// let row = Measurement { name: "sum".into(), seconds: 0.5, seed: None };
/// let table = tcnum::report::Table::of("Measurements", [row]);
/// assert_eq!((table.key, table.columns[1].look.unit), ("measurements", "s"));
/// # }
/// ```
#[macro_export]
macro_rules! rows {
    ($(
        $(#[doc = $about:literal])+
        $(#[derive($($derived:path),+)])?
        $visible:vis struct $name:ident in $table:literal {
            $($(#[doc = $meaning:literal])+ $(#[serde($($serde:tt)*)])? $key:ident : $type:ty => $look:expr,)+
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        $(#[derive($($derived),+)])?
        $visible struct $name {
            $($(#[doc = $meaning])+ $(#[serde($($serde)*)])? pub $key: $type,)+
        }

        impl $crate::report::Row for $name {
            const TABLE: &'static str = $table;
            const ABOUT: &'static str = concat!($($about),+).trim_ascii();

            fn columns() -> Vec<$crate::report::Column> {
                #[allow(unused_imports)]
                use $crate::report::{hidden, shown};
                let mut columns = Vec::new();
                $({
                    const MEANING: &str = concat!($($meaning),+).trim_ascii();
                    columns.extend(<$type as $crate::report::Field>::columns(stringify!($key), MEANING, $look));
                })+
                columns
            }

            fn cells(&self) -> Vec<$crate::report::Cell> {
                let mut cells = Vec::new();
                $($crate::report::Field::append(&self.$key, &mut cells);)+
                cells
            }
        }

        impl $crate::report::Field for $name {
            fn columns(_: &'static str, _: &'static str, _: $crate::report::Look) -> Vec<$crate::report::Column> {
                <$name as $crate::report::Row>::columns()
            }

            fn append(&self, cells: &mut Vec<$crate::report::Cell>) {
                cells.extend($crate::report::Row::cells(self));
            }
        }
    )+};
}
