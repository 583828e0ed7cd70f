//! Declarations of tables: a struct is a row; its fields give columns, views and schema.

use std::borrow::Cow;

use super::{Cell, CellKind, cell::CellValue};

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in JSON and CSV, in snake case.
    pub key: Cow<'static, str>,
    /// Its meaning.
    pub meaning: &'static str,
    /// Kind of its cells.
    pub kind: CellKind,
    /// Its look in views for people.
    pub look: Look,
}

/// Look of a column in views for people (terminal, Markdown, LaTeX).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The heading; with `None` the column shows only if `--columns` names it.
    pub heading: Option<&'static str>,
    /// The unit of measurement, empty for counts, names and pure numbers.
    pub unit: &'static str,
    /// True if `--brief` keeps it.
    pub essential: bool,
    /// The tables that show it.
    pub shown: Where,
    /// True if it stays next to the column before it when a table is split.
    pub beside: bool,
    /// Key of the column whose cells it marks with their evidence.
    pub marks: Option<&'static str>,
    /// Key of the column whose numbers it follows as their standard error: `1.89e-08 ± 2.1e-10`.
    pub error_of: Option<&'static str>,
}

/// Tables that show a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// All tables.
    Everywhere,
    /// Tables with a nonempty cell in it.
    Filled,
    /// Tables whose rows differ in it.
    Varied,
}

/// A column under this heading.
pub const fn shown(heading: &'static str) -> Look {
    Look {
        heading: Some(heading),
        unit: "",
        essential: false,
        shown: Where::Everywhere,
        beside: false,
        marks: None,
        error_of: None,
    }
}

/// A column that JSON and CSV show, other views only if `--columns` names it.
pub const fn hidden() -> Look {
    Look { heading: None, ..shown("") }
}

impl Look {
    /// Keeps the column with `--brief`.
    pub const fn essential(self) -> Look {
        Look { essential: true, ..self }
    }

    /// Sets the unit of measurement.
    pub const fn unit(self, unit: &'static str) -> Look {
        Look { unit, ..self }
    }

    /// Keeps the column next to the one before it when a table is split.
    pub const fn beside(self) -> Look {
        Look { beside: true, ..self }
    }

    /// Marks the cells of another column with this column's kinds of evidence.
    pub const fn marks(self, key: &'static str) -> Look {
        Look { marks: Some(key), ..self }
    }

    /// Shows the column as the standard error behind the numbers of another one.
    ///
    /// `--columns` can name it, and then shows it alone.
    pub const fn error_of(self, key: &'static str) -> Look {
        Look { error_of: Some(key), ..self }
    }

    /// Shows the column only if a cell is not empty.
    pub const fn if_filled(self) -> Look {
        Look { shown: Where::Filled, ..self }
    }

    /// Shows the column only if the rows differ in it.
    pub const fn if_varied(self) -> Look {
        Look { shown: Where::Varied, ..self }
    }
}

/// A field of a row: one column, or all columns of another row.
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
    /// Meaning of a row.
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
    /// Meaning of a row.
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

/// Declares tables: a struct is a row, a field a column with its meaning and, after `=>`, its look.
///
/// A field whose type is another row stands for all columns of that row.
///
/// ```
/// tcnum_engine::rows! {
///     /// A measurement.
///     pub struct Measurement in "measurements" {
///         /// Its name.
///         name: String => shown("what").essential(),
///         /// Its duration.
///         seconds: f64 => shown("time").unit("s"),
///         /// The seed of its inputs.
///         seed: Option<u64> => hidden(),
///     }
/// }
/// # fn main() {
/// let row = Measurement { name: "sum".into(), seconds: 0.5, seed: None };
/// let table = tcnum_engine::report::Table::of("Measurements", [row]);
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
