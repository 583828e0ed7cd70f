//! The table of block formats.

use crate::{
    format::block::BlockFormat,
    number::Finite,
    report::{Table, three_digits},
};

crate::rows! {
    /// A block format: its elements, scales and blocks.
    pub struct BlockRow in "block_formats" {
        /// Name.
        format: &'static str => shown("block format").essential(),
        /// Other accepted names.
        aliases: Vec<&'static str> => shown("other names"),
        /// Format of the elements.
        element: &'static str => shown("element").essential(),
        /// Power of two that multiplies the value of an element's code.
        element_exponent: i32 => shown("times 2^"),
        /// Largest element.
        largest: f64 => shown("largest element"),
        /// Exponent of the largest element.
        emax: i32 => shown("emax"),
        /// Rows of a block.
        rows: usize => shown("rows").essential(),
        /// Elements in a row of a block.
        length: usize => shown("elements").essential(),
        /// Format of a block's scale.
        scale: &'static str => shown("scale").essential(),
        /// Format of the tensor's scale, if it has one.
        tensor_scale: Option<&'static str> => shown("tensor scale"),
        /// Bits per value, with its share of the scale.
        bits: f64 => shown("bits per value").essential(),
        /// Default rule that derives a scale from the largest magnitude of its block.
        scale_rule: &'static str => shown("scale rule"),
        /// Specification.
        source: &'static str => shown("source"),
    }
}

/// Makes the table of block formats.
pub fn blocks<'a>(formats: impl IntoIterator<Item = &'a BlockFormat>) -> Table {
    Table::of("Block formats", formats.into_iter().map(row))
}

/// Describes a block format in a sentence.
pub fn answer(format: &BlockFormat) -> String {
    let record = row(format);
    let blocks = if format.rows == 1 { format.length.to_string() } else { format.extents() };
    let tensor = record.tensor_scale.map_or(String::new(), |scale| format!(", and a tensor one in {scale}"));
    format!(
        "{format} has blocks of {blocks} values in {} with one scale in {}{tensor}: {} bits per value.",
        record.element,
        record.scale,
        three_digits(record.bits)
    )
}

fn row(format: &BlockFormat) -> BlockRow {
    let largest: Finite = format.element.largest();
    BlockRow {
        format: format.name,
        aliases: format.aliases.to_vec(),
        element: format.element.format.name,
        element_exponent: format.element.exponent,
        largest: largest.to_f64(),
        emax: format.element.emax(),
        rows: format.rows,
        length: format.length,
        scale: format.scale.name,
        tensor_scale: format.tensor_scale.map(|scale| scale.name),
        // A scale code takes whole bytes.
        bits: f64::from(format.element.format.bits)
            + 8.0 * format.scale.bytes() as f64 / (format.rows * format.length) as f64,
        scale_rule: format.default_rule,
        source: format.source,
    }
}
