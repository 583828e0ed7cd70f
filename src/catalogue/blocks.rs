//! A row for each block format.

use crate::{
    format::block::BlockFormat,
    number::Finite,
    report::{Table, three_digits},
};

crate::rows! {
    /// A block format: what its elements, scales and blocks are.
    pub(crate) struct BlockRow in "block_formats" {
        /// The name.
        format: &'static str => shown("block format").essential(),
        /// Other names that are accepted.
        aliases: Vec<&'static str> => shown("other names"),
        /// The format of the elements.
        element: &'static str => shown("element").essential(),
        /// The power of two that multiplies the value of an element's code.
        element_exponent: i32 => shown("times 2^"),
        /// The largest element.
        largest: f64 => shown("largest element"),
        /// The exponent of the largest element.
        emax: i32 => shown("emax"),
        /// Elements in a block.
        length: usize => shown("elements").essential(),
        /// The format of the scale of a block.
        scale: &'static str => shown("scale").essential(),
        /// The format of the scale of a tensor, if it has one.
        tensor_scale: Option<&'static str> => shown("tensor scale"),
        /// Bits that a value takes, its share of the scale included.
        bits: f64 => shown("bits a value").essential(),
        /// How a scale follows from the largest magnitude of its block, unless another rule is asked for.
        scale_rule: &'static str => shown("scale rule"),
        /// Where it is specified.
        source: &'static str => shown("source"),
    }
}

/// The records of block formats.
pub(crate) fn blocks<'a>(formats: impl IntoIterator<Item = &'a BlockFormat>) -> Table {
    Table::of("Block formats", formats.into_iter().map(row))
}

/// What a block format is, in a sentence.
pub(crate) fn answer(format: &BlockFormat) -> String {
    let record = row(format);
    let tensor = record.tensor_scale.map_or(String::new(), |scale| format!(", and a tensor one in {scale}"));
    format!(
        "{format} has blocks of {} values in {} with one scale in {}{tensor}: {} bits a value.",
        record.length,
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
        length: format.length,
        scale: format.scale.name,
        tensor_scale: format.tensor_scale.map(|scale| scale.name),
        // The code of a scale takes a byte.
        bits: f64::from(format.element.format.bits) + 8.0 / format.length as f64,
        scale_rule: format.default_rule,
        source: format.source,
    }
}
