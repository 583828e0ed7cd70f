//! A row for each block format.

use crate::{
    format::Finite,
    format::block::BlockFormat,
    report::{Cell, Column, Table},
};

/// The records of block formats: what their elements, scales and blocks are.
pub fn blocks<'a>(formats: impl IntoIterator<Item = &'a BlockFormat>) -> Table {
    let columns = vec![
        Column::new("format", "block format"),
        Column::new("aliases", "other names"),
        Column::new("element", "element"),
        Column::new("element_exponent", "times 2^"),
        Column::new("largest", "largest element"),
        Column::new("emax", "emax"),
        Column::new("length", "elements"),
        Column::new("scale", "scale"),
        Column::new("tensor_scale", "tensor scale"),
        Column::new("bits", "bits a value"),
        Column::new("scale_rule", "scale rule"),
        Column::new("source", "source"),
    ];
    let mut table = Table::new("block_formats", "Block formats", columns);
    table.rows = formats.into_iter().map(row).collect();
    table
}

fn row(format: &BlockFormat) -> Vec<Cell> {
    let aliases: Vec<Cell> = format.aliases.iter().map(|&alias| alias.into()).collect();
    let largest: Finite = format.element.largest();
    // The code of a scale takes a byte.
    let bits = f64::from(format.element.format.bits) + 8.0 / format.length as f64;
    vec![
        format.name.into(),
        Cell::List(aliases),
        format.element.format.name.into(),
        format.element.exponent.into(),
        largest.to_f64().into(),
        format.element.emax().into(),
        format.length.into(),
        format.scale.name.into(),
        format.tensor_scale.map(|scale| scale.name).into(),
        bits.into(),
        format.default_rule.into(),
        format.source.into(),
    ]
}
