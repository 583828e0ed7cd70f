//! Conversion of single values to blocks: what a block format makes of each, with the scales.

use super::value::Source;
use crate::{
    format::block::{Blocks, Quantizer},
    report::{Cell, Column, Table},
};

/// Quantises a row of values.
#[derive(Debug, Clone, Copy)]
pub struct BlockConversion {
    /// How.
    pub quantizer: Quantizer,
}

impl BlockConversion {
    /// The scales and the elements of `sources`, taken as one row, as two tables.
    pub fn tables(&self, sources: &[Source]) -> [Table; 2] {
        let blocks = self.quantizer.quantize_with(sources.len(), sources.len(), |i| sources[i].value);
        [self.scales(&blocks), self.elements(&blocks, sources)]
    }

    fn scales(&self, blocks: &Blocks) -> Table {
        let Quantizer { format, rule, .. } = self.quantizer;
        let columns = vec![
            Column::new("block", "block"),
            Column::new("scale_code", "scale"),
            Column::new("scale_decimal", "its value"),
            Column::new("scale_scaled", "exactly"),
            Column::hidden("scale_value"),
            Column::hidden("tensor_scale_code"),
            if format.tensor_scale.is_some() {
                Column::new("tensor_scale_value", "tensor scale")
            } else {
                Column::hidden("tensor_scale_value")
            },
        ];
        let title = format!("Scales of {format} ({}), blocks of {}, rule: {rule}", format.scale, format.length);
        let mut table = Table::new("scales", title, columns);
        let tensor_scale = blocks.tensor_scale.zip(format.tensor_scale);
        for (i, code) in blocks.scales.iter().enumerate() {
            let datum = format.scale.decode((*code).into());
            table.rows.push(vec![
                i.into(),
                format.scale.hex((*code).into()).into(),
                datum.decimal().into(),
                datum.scaled().into(),
                datum.to_f64().into(),
                tensor_scale.map(|(code, own)| own.hex(code)).into(),
                tensor_scale.map(|(code, own)| own.to_f64(code)).into(),
            ]);
        }
        table
    }

    fn elements(&self, blocks: &Blocks, sources: &[Source]) -> Table {
        let Quantizer { format, rounding, .. } = self.quantizer;
        let columns = vec![
            Column::new("input", "input"),
            Column::new("block", "block"),
            Column::new("code", "code"),
            Column::new("element", "element"),
            Column::new("value", "value"),
            Column::new("error", "error"),
            Column::new("relative_error", "relative"),
        ];
        let title = format!("Elements of {format} ({}), {}", format.element.format, rounding.name());
        let mut table = Table::new("elements", title, columns);
        for (i, source) in sources.iter().enumerate() {
            let code = blocks.elements[i].into();
            let (x, y) = (source.value.to_f64(), blocks.value(i).to_f64());
            let error = Some(y - x).filter(|error| !error.is_nan());
            let relative = error.filter(|error| error.is_finite() && x != 0.0).map(|error| error / x.abs());
            table.rows.push(vec![
                source.text.as_str().into(),
                blocks.block_of(i).into(),
                format.element.format.hex(code).into(),
                format.element.value(code).to_f64().into(),
                y.into(),
                error.into(),
                Cell::from(relative),
            ]);
        }
        table
    }
}
