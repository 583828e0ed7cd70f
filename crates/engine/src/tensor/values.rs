//! The values of a tensor as host doubles, many at a time.

use std::ops::Range;

use super::{FormatDecoder, Tensor};
use crate::{
    format::{
        Encoding, Format,
        block::{BlockFormat, Blocks},
        slices::Decoder,
    },
    number::product,
};

/// Values that are read at once: few enough for the nearest cache, and for memory that was used before.
pub(crate) const AT_ONCE: usize = 1 << 11;

/// Properties of a tensor, besides its codes, that decide its values.
#[derive(Debug, Clone, Copy)]
pub enum TensorKind {
    /// Codes of a format.
    Scalar(&'static Format),
    /// Blocks, with the code of the tensor's scale where the format has one.
    Blocks(&'static BlockFormat, Option<u64>),
}

/// Reads the values of tensors of one kind.
pub struct ValueReader {
    kind: TensorKind,
    by: By,
}

enum By {
    /// Codes of binary32.
    Single,
    /// Codes of binary64.
    Double,
    /// Codes of at most 16 bits with values in binary32.
    Decoder(FormatDecoder),
    /// Element codes, the power of two that multiplies them, and all scales times the tensor's scale.
    Blocks { elements: Decoder<u8>, unit: f32, scales: ScaleValues },
    /// Code by code.
    Each,
}

/// Values of scales, times the tensor's.
enum ScaleValues {
    /// By code.
    Listed(Vec<f64>),
    /// Format of more than 8 bits, and the tensor's scale.
    Read(&'static Format, f64),
}

impl ScaleValues {
    fn of(&self, code: u32) -> f64 {
        match self {
            ScaleValues::Listed(all) => all[code as usize],
            ScaleValues::Read(format, common) => format.to_f64(code.into()) * common,
        }
    }
}

impl ValueReader {
    /// Reads values of tensors of a kind.
    pub fn new(kind: TensorKind) -> ValueReader {
        let by = match kind {
            TensorKind::Scalar(format) => match format.name {
                "f32" => By::Single,
                "f64" => By::Double,
                _ if format.bits <= 16 && fits_f32(format) => {
                    By::Decoder(FormatDecoder::new(format).expect("at most 16 bits"))
                }
                _ => By::Each,
            },
            TensorKind::Blocks(format, _) if format.offset.is_some() => By::Each,
            TensorKind::Blocks(format, tensor_scale) => {
                let common = tensor_scale.zip(format.tensor_scale).map(|(code, scale_format)| scale_format.value(code));
                let scale = |code: u64| match (format.scale.value(code), &common) {
                    (scale, Some(common)) => product(&scale, common).to_f64(),
                    (scale, None) => scale.to_f64(),
                };
                let scales = match format.scale.bits {
                    bits if bits <= 8 => ScaleValues::Listed((0..=0xff).map(scale).collect()),
                    _ => ScaleValues::Read(format.scale, common.map_or(1.0, |common| common.to_f64())),
                };
                By::Blocks {
                    elements: Decoder::new(format.element.format).expect("elements have at most 8 bits"),
                    unit: (format.element.exponent as f32).exp2(),
                    scales,
                }
            }
        };
        ValueReader { kind, by }
    }

    /// True if every value is a double; integers of 64 bits are not.
    pub fn are_exact(&self) -> bool {
        match self.kind {
            TensorKind::Scalar(format) => !(matches!(format.encoding, Encoding::Integer { .. }) && format.bits > 53),
            TensorKind::Blocks(..) => true,
        }
    }

    /// True if every value is in binary32, for [`ValueReader::read_f32`].
    pub fn fit_f32(&self) -> bool {
        matches!(self.by, By::Single | By::Decoder(_))
    }

    /// True if every value is in binary32 times the scale of its block, for [`ValueReader::read_unscaled`].
    pub(crate) fn are_scaled_f32(&self) -> bool {
        self.fit_f32() || matches!(self.by, By::Blocks { .. })
    }

    /// The scale of a block; NaN where its code is NaN.
    pub(crate) fn scale_of(&self, blocks: &Blocks, block: usize) -> f64 {
        match &self.by {
            By::Blocks { scales, .. } => scales.of(blocks.scales[block]),
            _ => 1.0,
        }
    }

    /// Writes the values at `range`, in blocks without the scales.
    pub(crate) fn read_unscaled(&self, tensor: &Tensor, range: Range<usize>, values: &mut Vec<f32>) {
        match (&self.by, tensor) {
            (By::Blocks { elements, unit, .. }, Tensor::Blocks(blocks)) => {
                values.resize(range.len(), 0.0);
                elements.decode(&blocks.elements[range], values);
                if *unit != 1.0 {
                    values.iter_mut().for_each(|value| *value *= unit);
                }
            }
            _ => self.read_f32(tensor, range, values),
        }
    }

    /// Writes the values at `range`, all of them of binary32, to `values`.
    pub fn read_f32(&self, tensor: &Tensor, range: Range<usize>, values: &mut Vec<f32>) {
        // Old values are overwritten.
        values.resize(range.len(), 0.0);
        match (&self.by, tensor) {
            (By::Single, Tensor::Scalar(_, codes)) => {
                let words = &codes.as_bytes()[4 * range.start..4 * range.end].as_chunks().0[..values.len()];
                for (at, value) in values.iter_mut().enumerate() {
                    *value = f32::from_le_bytes(words[at]);
                }
            }
            (By::Decoder(decoder), Tensor::Scalar(_, codes)) => {
                let width = codes.width();
                decoder.decode(&codes.as_bytes()[width * range.start..width * range.end], values);
            }
            _ => unreachable!("only values that are known to be of binary32 are read as such"),
        }
    }

    /// Writes the values at `range` to `values`; those that are not doubles rounded to nearest.
    pub fn read(&self, tensor: &Tensor, range: Range<usize>, values: &mut Vec<f64>) {
        values.clear();
        match (&self.by, tensor) {
            (By::Single | By::Decoder(_), _) => {
                let mut words = Vec::new();
                self.read_f32(tensor, range, &mut words);
                values.extend(words.iter().map(|word| f64::from(*word)));
            }
            (By::Double, Tensor::Scalar(_, codes)) => {
                let words = codes.as_bytes()[8 * range.start..8 * range.end].as_chunks().0;
                values.extend(words.iter().map(|word| f64::from_le_bytes(*word)));
            }
            (By::Blocks { scales, .. }, Tensor::Blocks(blocks)) => {
                let mut elements = Vec::new();
                self.read_unscaled(tensor, range.clone(), &mut elements);
                let (row, length) = (blocks.row, blocks.format.length);
                let mut index = range.start;
                while index < range.end {
                    let column = index % row;
                    let end = (index - column + row.min((column / length + 1) * length)).min(range.end);
                    let scale = scales.of(blocks.scales[blocks.block_of(index)]);
                    let run = &elements[index - range.start..end - range.start];
                    values.extend(run.iter().map(|element| f64::from(*element) * scale));
                    index = end;
                }
            }
            (_, tensor) => values.extend(range.map(|index| tensor.value(index).to_f64())),
        }
    }
}

/// True if all values of a format are numbers of f32.
fn fits_f32(format: &Format) -> bool {
    format.float().is_none_or(|float| {
        float.precision() <= f32::MANTISSA_DIGITS
            && float.emin() - float.trailing_bits as i32 >= f32::MIN_EXP - f32::MANTISSA_DIGITS as i32
            && float.emax() < f32::MAX_EXP
    })
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{format::FORMATS, format::block::formats, isa::Codes};

    fn equals_each(tensor: &Tensor) {
        let (values, mut read) = (ValueReader::new(tensor.kind()), Vec::new());
        for range in [0..tensor.len(), 0..1, 7..64, 30..31, 5..5] {
            values.read(tensor, range.clone(), &mut read);
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
        for format in formats().iter() {
            for row in [1, 50, 64, 100] {
                let (rows, per_row) = (100, usize::div_ceil(row, format.length));
                let (mut elements, mut scales) = (vec![0; rows * row], vec![0; rows * per_row]);
                rng.fill_bytes(&mut elements);
                rng.fill_bytes(&mut scales);
                elements.iter_mut().for_each(|code| *code &= format.element.format.code_mask() as u8);
                let scales: Vec<u32> =
                    scales.iter().map(|code| u32::from(*code) & format.scale.code_mask() as u32).collect();
                let offsets = format.offset.map_or(Vec::new(), |_| scales.iter().map(|code| code % 16).collect());
                let tensor_scale = format.tensor_scale.map(|_| u64::from(0.37f32.to_bits()));
                equals_each(&Tensor::Blocks(Blocks { format, row, tensor_scale, scales, offsets, elements }));
            }
        }
    }
}
