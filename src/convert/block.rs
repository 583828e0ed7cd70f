//! Conversion of single values to blocks: what a block format makes of each, with the scales.

use super::value::ValueRead;
use crate::{
    format::block::{Blocks, Quantizer},
    report::{Table, counted, grouped, three_digits},
};

crate::rows! {
    /// The scale of a block.
    pub struct ScaleRow in "scales" {
        /// The number of the block, from 0.
        block: usize => shown("block").essential(),
        /// The code of its scale.
        scale_code: String => shown("scale").essential(),
        /// Its value in decimal.
        scale_decimal: String => shown("its value").beside().essential(),
        /// Its value as an integer times a power of two.
        scale_scaled: String => shown("exactly"),
        /// Its value.
        scale_value: f64 => hidden(),
        /// The code of the scale of the tensor, if there is one.
        tensor_scale_code: Option<String> => hidden(),
        /// Its value.
        tensor_scale_value: Option<f64> => shown("tensor scale").if_filled(),
    }

    /// An element of a block.
    pub struct ElementRow in "elements" {
        /// The value as it was given.
        input: String => shown("input").essential(),
        /// The number of its block.
        block: usize => shown("block").essential(),
        /// The code of the element.
        code: String => shown("code").essential(),
        /// Its value, without scales.
        element: f64 => shown("element"),
        /// The value of the element, with scales.
        value: f64 => shown("value").essential(),
        /// Its difference from the given value.
        error: Option<f64> => shown("error").essential(),
        /// The error over the magnitude of the given value.
        relative_error: Option<f64> => shown("relative"),
    }
}

/// Quantises a row of values.
#[derive(Debug, Clone, Copy)]
pub struct BlockConversion {
    /// How.
    pub quantizer: Quantizer,
}

impl BlockConversion {
    /// The scales and the elements of `sources`, taken as one row.
    pub(crate) fn rows(&self, sources: &[ValueRead]) -> (Vec<ScaleRow>, Vec<ElementRow>) {
        let blocks = self.quantizer.quantize_with(sources.len(), sources.len(), |i| sources[i].value);
        (self.scales(&blocks), self.elements(&blocks, sources))
    }

    pub(crate) fn tables(&self, scales: Vec<ScaleRow>, elements: Vec<ElementRow>) -> [Table; 2] {
        let Quantizer { format, rule, rounding, .. } = self.quantizer;
        let (scale, length, element) = (format.scale, format.length, format.element.format);
        [
            Table::of(format!("Scales of {format} ({scale}), blocks of {length}, rule: {rule}"), scales),
            Table::of(format!("Elements of {format} ({element}), {}", rounding.name()), elements),
        ]
    }

    pub(crate) fn answer(&self, scales: &[ScaleRow], elements: &[ElementRow]) -> String {
        let exact = elements.iter().filter(|row| row.error == Some(0.0)).count();
        let errors = elements.iter().filter_map(|row| row.error.map(f64::abs));
        let blocks = counted(scales.len() as u64, "block");
        format!(
            "{} of {} are exact in {}, in {blocks}; the largest error is {}.",
            grouped(exact as i64),
            counted(elements.len() as u64, "value"),
            self.quantizer.format,
            three_digits(errors.fold(0.0, f64::max))
        )
    }

    fn scales(&self, blocks: &Blocks) -> Vec<ScaleRow> {
        let format = self.quantizer.format;
        let tensor_scale = blocks.tensor_scale.zip(format.tensor_scale);
        let row = |(block, code): (usize, &u8)| {
            let datum = format.scale.decode((*code).into());
            ScaleRow {
                block,
                scale_code: format.scale.hex((*code).into()),
                scale_decimal: datum.decimal(),
                scale_scaled: datum.scaled(),
                scale_value: datum.to_f64(),
                tensor_scale_code: tensor_scale.map(|(code, own)| own.hex(code)),
                tensor_scale_value: tensor_scale.map(|(code, own)| own.to_f64(code)),
            }
        };
        blocks.scales.iter().enumerate().map(row).collect()
    }

    fn elements(&self, blocks: &Blocks, sources: &[ValueRead]) -> Vec<ElementRow> {
        let format = self.quantizer.format;
        let row = |(i, source): (usize, &ValueRead)| {
            let code = blocks.elements[i].into();
            let (x, y) = (source.value.to_f64(), blocks.value(i).to_f64());
            let error = Some(y - x).filter(|error| !error.is_nan());
            ElementRow {
                input: source.text.clone(),
                block: blocks.block_of(i),
                code: format.element.format.hex(code),
                element: format.element.value(code).to_f64(),
                value: y,
                error,
                relative_error: error.filter(|error| error.is_finite() && x != 0.0).map(|error| error / x.abs()),
            }
        };
        sources.iter().enumerate().map(row).collect()
    }
}
