//! The values of a tensor as host doubles, many at a time.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use super::Tensor;
use crate::format::{Encoding, Format};

/// Reads the values of one tensor.
pub(super) struct TensorValues<'a> {
    tensor: &'a Tensor,
    by: By,
}

enum By {
    /// The codes are those of binary32.
    Bits,
    /// The values of all codes, which have 16 bits or fewer.
    Table(Arc<CodeValues>),
    /// The values of all element codes, and those of the scales.
    Blocks { elements: Vec<f64>, scales: Vec<f64> },
    /// Code by code.
    Each,
}

impl<'a> TensorValues<'a> {
    /// The values of `tensor`.
    pub(super) fn of(tensor: &'a Tensor) -> TensorValues<'a> {
        let by = match tensor {
            Tensor::Scalar(format, _) if format.name == "f32" => By::Bits,
            Tensor::Scalar(format, _) if format.bits <= 16 => By::Table(CodeValues::of(format)),
            Tensor::Scalar(..) => By::Each,
            Tensor::Blocks(blocks) => {
                let element = |code: u64| blocks.format.element.value(code).to_f64();
                By::Blocks {
                    elements: (0..=0xff).map(element).collect(),
                    scales: (0..blocks.scales.len()).map(|block| blocks.scale(block).to_f64()).collect(),
                }
            }
        };
        TensorValues { tensor, by }
    }

    /// Whether every value of the tensor's format is a double: those of integers of 64 bits are not.
    pub(super) fn are_exact(&self) -> bool {
        match self.tensor {
            Tensor::Scalar(format, _) => !(matches!(format.encoding, Encoding::Integer { .. }) && format.bits > 53),
            Tensor::Blocks(_) => true,
        }
    }

    /// Whether every value of the tensor's format is one of binary32.
    pub(super) fn fit_f32(&self) -> bool {
        match &self.by {
            By::Bits => true,
            By::Table(table) => table.fit_f32,
            By::Blocks { .. } | By::Each => false,
        }
    }

    /// What the element at `index` is to be multiplied with; NaN where the scale of its block is.
    pub(super) fn scale(&self, index: usize) -> f64 {
        match (&self.by, self.tensor) {
            (By::Blocks { scales, .. }, Tensor::Blocks(blocks)) => scales[blocks.block_of(index)],
            _ => 1.0,
        }
    }

    /// Writes the values at `range` to `values`; those that are not doubles rounded to nearest.
    pub(super) fn read(&self, range: Range<usize>, values: &mut Vec<f64>) {
        values.clear();
        match (&self.by, self.tensor) {
            (By::Bits, Tensor::Scalar(_, codes)) => {
                let words = codes.as_bytes()[4 * range.start..4 * range.end].as_chunks().0;
                values.extend(words.iter().map(|word| f64::from(f32::from_le_bytes(*word))));
            }
            (By::Table(table), Tensor::Scalar(_, codes)) => {
                // Bits above the format's width are ignored, as everywhere.
                let value = |code: usize| table.values[code & (table.values.len() - 1)];
                if codes.width() == 1 {
                    values.extend(codes.as_bytes()[range].iter().map(|code| value(usize::from(*code))));
                } else {
                    let words = codes.as_bytes()[2 * range.start..2 * range.end].as_chunks().0;
                    values.extend(words.iter().map(|word| value(usize::from(u16::from_le_bytes(*word)))));
                }
            }
            (By::Blocks { elements, scales }, Tensor::Blocks(blocks)) => {
                let (row, length) = (blocks.row, blocks.format.length);
                let mut index = range.start;
                while index < range.end {
                    let column = index % row;
                    let end = (index - column + row.min((column / length + 1) * length)).min(range.end);
                    let scale = scales[blocks.block_of(index)];
                    values.extend(blocks.elements[index..end].iter().map(|code| elements[usize::from(*code)] * scale));
                    index = end;
                }
            }
            (_, tensor) => values.extend(range.map(|index| tensor.value(index).to_f64())),
        }
    }
}

/// The values of all codes of a format.
struct CodeValues {
    values: Vec<f64>,
    /// Whether each is one of binary32.
    fit_f32: bool,
}

impl CodeValues {
    /// Those of a format of up to 16 bits: found once, for a small tensor is read sooner than they are.
    fn of(format: &'static Format) -> Arc<CodeValues> {
        // By place: a user's format may have any name.
        static FOUND: Mutex<BTreeMap<usize, Arc<CodeValues>>> = Mutex::new(BTreeMap::new());
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        found.entry(std::ptr::from_ref(format).addr()).or_insert_with(|| Arc::new(CodeValues::new(format))).clone()
    }

    fn new(format: &Format) -> CodeValues {
        let values: Vec<f64> = (0..=format.code_mask()).map(|code| format.to_f64(code)).collect();
        let fits = |value: &f64| value.is_nan() || f64::from(*value as f32) == *value;
        CodeValues { fit_f32: values.iter().all(fits), values }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{
        format::FORMATS,
        format::block::{BLOCK_FORMATS, Blocks},
        isa::Codes,
    };

    fn equals_each(tensor: &Tensor) {
        let (values, mut read) = (TensorValues::of(tensor), Vec::new());
        for range in [0..tensor.len(), 0..1, 7..64, 30..31, 5..5] {
            values.read(range.clone(), &mut read);
            assert_eq!(read.len(), range.len());
            for (index, value) in range.zip(&read) {
                let expected = tensor.value(index).to_f64();
                let same = value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan();
                assert!(same, "{} at {index}: {value:e}, not {expected:e}", tensor.format_name());
            }
        }
    }

    #[test]
    fn many_values_are_those_of_each_code() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for format in FORMATS.iter() {
            let mut bytes = vec![0; 1000 * format.bytes()];
            rng.fill_bytes(&mut bytes);
            equals_each(&Tensor::Scalar(format, Codes::from_bytes(format, bytes).unwrap()));
        }
    }

    #[test]
    fn many_values_of_blocks_are_the_products_of_each() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for format in BLOCK_FORMATS.iter() {
            for row in [1, 50, 64, 100] {
                let (rows, per_row) = (100, usize::div_ceil(row, format.length));
                let (mut elements, mut scales) = (vec![0; rows * row], vec![0; rows * per_row]);
                rng.fill_bytes(&mut elements);
                rng.fill_bytes(&mut scales);
                elements.iter_mut().for_each(|code| *code &= format.element.format.code_mask() as u8);
                scales.iter_mut().for_each(|code| *code &= format.scale.code_mask() as u8);
                let tensor_scale = format.tensor_scale.map(|_| u64::from(0.37f32.to_bits()));
                equals_each(&Tensor::Blocks(Blocks { format, row, tensor_scale, scales, elements }));
            }
        }
    }
}
