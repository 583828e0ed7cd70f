//! Conversion of single values to blocks: what a block format makes of each, with the scales.

use crate::{
    format::block::{Blocks, Quantizer},
    report::{Table, counted, grouped, three_digits},
    tensor::ValueRead,
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

/// The answer and the tables of `sources`, quantised as one row.
pub fn in_blocks(quantizer: &Quantizer, sources: &[ValueRead]) -> (String, [Table; 2]) {
    let Quantizer { format, rule, rounding, .. } = *quantizer;
    let blocks = quantizer.quantize_with(sources.len(), sources.len(), |i| sources[i].value);
    let (scales, elements) = (scales(&blocks), elements(&blocks, sources));
    let exact = elements.iter().filter(|row| row.error == Some(0.0)).count();
    let errors = elements.iter().filter_map(|row| row.error.map(f64::abs));
    let answer = format!(
        "{} of {} are exact in {format}, in {}; the largest error is {}.",
        grouped(exact as i64),
        counted(elements.len() as u64, "value"),
        counted(scales.len() as u64, "block"),
        three_digits(errors.fold(0.0, f64::max))
    );
    let (scale, element) = (format.scale, format.element.format);
    let extents = if format.rows == 1 { format.length.to_string() } else { format.extents() };
    let scales = Table::of(format!("Scales of {format} ({scale}), blocks of {extents}, rule: {rule}"), scales);
    (answer, [scales, Table::of(format!("Elements of {format} ({element}), {}", rounding.name()), elements)])
}

fn scales(blocks: &Blocks) -> Vec<ScaleRow> {
    let format = blocks.format;
    let tensor_scale = blocks.tensor_scale.zip(format.tensor_scale);
    let row = |(block, code): (usize, &u32)| {
        let datum = format.scale.decode((*code).into());
        ScaleRow {
            block,
            scale_code: format.scale.hex((*code).into()),
            scale_decimal: datum.decimal(),
            scale_scaled: datum.exact_text(),
            scale_value: datum.to_f64(),
            tensor_scale_code: tensor_scale.map(|(code, scale_format)| scale_format.hex(code)),
            tensor_scale_value: tensor_scale.map(|(code, scale_format)| scale_format.to_f64(code)),
        }
    };
    blocks.scales.iter().enumerate().map(row).collect()
}

fn elements(blocks: &Blocks, sources: &[ValueRead]) -> Vec<ElementRow> {
    let format = blocks.format;
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
