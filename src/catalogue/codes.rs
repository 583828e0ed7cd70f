//! The codes of one format, with their bits, class and exact value.

use crate::{
    format::Format,
    report::{Cell, Column, Table},
};

/// Every code of `format`, in ascending order.
///
/// # Panics
/// For a format of more than 16 bits, whose table nobody would read.
pub fn codes(format: &Format) -> Table {
    assert!(format.bits <= 16, "a table of all codes of {format}");
    let mut table = Table::new("codes", format!("Every code of {format}"), columns());
    table.rows = (0..=format.code_mask()).map(|code| row(format, code)).collect();
    table
}

/// The codes that describe `format`: zeros, ends of the ranges of its classes, one, infinities, canonical NaN.
pub fn landmarks(format: &Format) -> Table {
    let mut columns = columns();
    columns.insert(0, Column::new("landmark", "landmark"));
    let mut table = Table::new("landmarks", format!("Landmarks of {format}"), columns);
    let named = |(name, code): (&str, u64)| [vec![name.into()], row(format, code)].concat();
    table.rows = format.landmarks().into_iter().map(named).collect();
    table
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("code", "code"),
        Column::new("bits", "bits"),
        Column::new("class", "class"),
        Column::hidden("value"),
        Column::new("decimal", "value"),
        Column::new("scaled", "exactly"),
    ]
}

fn row(format: &Format, code: u64) -> Vec<Cell> {
    let datum = format.decode(code);
    vec![
        format.hex(code).into(),
        format.split(code).into(),
        datum.class.name().into(),
        datum.to_f64().into(),
        datum.decimal().into(),
        datum.scaled().into(),
    ]
}
