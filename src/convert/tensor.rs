//! Conversion of one tensor.

use super::{Deviations, values::TensorValues};
use crate::{
    Error, Result,
    base::parallel,
    format::block::{BlockFormat, Blocks, Quantizer},
    format::slices::{Code, Encoder},
    format::{Format, Overflow, Real, Rounding},
    isa::Codes,
};

/// Elements that one task converts.
pub(super) const PART: usize = 1 << 14;

/// A tensor: codes of a scalar format, or blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    /// Codes of a format.
    Scalar(&'static Format, Codes),
    /// Blocks.
    Blocks(Blocks),
}

/// What a tensor is converted to.
#[derive(Debug, Clone, Copy)]
pub enum ConversionTarget {
    /// A scalar format.
    Scalar {
        /// The format.
        format: &'static Format,
        /// The rounding direction.
        rounding: Rounding,
        /// What becomes of values that are too large.
        overflow: Overflow,
    },
    /// A block format.
    Blocks(Quantizer),
}

impl Tensor {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Tensor::Scalar(_, codes) => codes.len(),
            Tensor::Blocks(blocks) => blocks.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of its format.
    pub fn format_name(&self) -> &'static str {
        match self {
            Tensor::Scalar(format, _) => format.name,
            Tensor::Blocks(blocks) => blocks.format.name,
        }
    }

    /// The exact value of the element at `index`.
    pub fn value(&self, index: usize) -> Real {
        match self {
            Tensor::Scalar(format, codes) => format.value(codes.get(index)),
            Tensor::Blocks(blocks) => blocks.value(index),
        }
    }
}

/// `source`, rows of `row` elements, converted to `target`, each element rounded once; and what changed.
///
/// # Errors
/// A value that the target has no code for (NaN in a format without NaN): how many there are, and where the first is.
pub fn convert(source: &Tensor, row: usize, target: &ConversionTarget) -> Result<(Tensor, Deviations)> {
    let result = match target {
        ConversionTarget::Scalar { format, rounding, overflow } => {
            Tensor::Scalar(format, encode(source, format, *rounding, *overflow)?)
        }
        ConversionTarget::Blocks(quantizer) => Tensor::Blocks(quantize(source, row, quantizer)),
    };
    let deviations = Deviations::between(source, &result);
    Ok((result, deviations))
}

/// The values in blocks, the same by each of the ways.
fn quantize(source: &Tensor, row: usize, quantizer: &Quantizer) -> Blocks {
    let values = TensorValues::of(source);
    if !values.fit_f32() {
        return quantizer.quantize_with(source.len(), row, |index| source.value(index));
    }
    let mut words = vec![0.0; source.len()];
    parallel::each_with(words.chunks_mut(PART).enumerate(), Vec::new, |read, (part, words)| {
        values.read(part * PART..part * PART + words.len(), read);
        words.iter_mut().zip(read).for_each(|(word, value)| *word = *value as f32);
    });
    quantizer.quantize(&words, row)
}

/// The codes of the values, those of [`Format::encode`] by each of the ways.
///
/// # Errors
/// As [`convert`].
pub fn encode(source: &Tensor, format: &'static Format, rounding: Rounding, overflow: Overflow) -> Result<Codes> {
    let width = format.bytes();
    let code = |value: &Real| format.encode(value, rounding, overflow);
    let mut bytes = vec![0; source.len() * width];
    let missing = match source {
        // What becomes of each code of the source is found once.
        Tensor::Scalar(from, codes) if from.bits <= 16 && source.len() >> from.bits > 0 => {
            let table: Vec<Option<u64>> = (0..=from.code_mask()).map(|code_of| code(&from.value(code_of))).collect();
            let mask = from.code_mask();
            write(&mut bytes, width, |index| table[(codes.get(index) & mask) as usize])
        }
        Tensor::Scalar(from, codes) if from.name == "f32" && format.bits <= 16 => {
            let missing = match width {
                1 => vectorised::<u8>(codes, &mut bytes, Encoder::new(format, rounding, overflow)?),
                _ => vectorised::<u16>(codes, &mut bytes, Encoder::new(format, rounding, overflow)?),
            };
            // Where they are does not matter unless there are some.
            if missing == 0 { Vec::new() } else { write(&mut bytes, width, |index| code(&source.value(index))) }
        }
        Tensor::Blocks(blocks)
            if format.name == "f32" && (rounding, overflow) == (Rounding::Rne, Overflow::Standard) =>
        {
            let words = blocks.dequantize();
            write(&mut bytes, width, |index| Some(words[index].to_bits().into()))
        }
        _ => write(&mut bytes, width, |index| code(&source.value(index))),
    };
    match missing.first() {
        Some(first) => Err(Error::request(format!(
            "{} of {} values have no code in {format} (NaN, which it lacks), the first at position {first}",
            missing.len(),
            source.len()
        ))),
        None => Ok(Codes::from_bytes(format, bytes).expect("whole codes")),
    }
}

/// Writes the code of every index, and returns the indices that have none.
fn write(bytes: &mut [u8], width: usize, code: impl Fn(usize) -> Option<u64> + Sync) -> Vec<usize> {
    let part = |(part, bytes): (usize, &mut [u8])| {
        let mut missing = Vec::new();
        for (index, place) in (part * PART..).zip(bytes.chunks_mut(width)) {
            match code(index) {
                Some(code) => place.copy_from_slice(&code.to_le_bytes()[..width]),
                None => missing.push(index),
            }
        }
        missing
    };
    parallel::map(bytes.chunks_mut(PART * width).enumerate(), part).concat()
}

/// Writes the codes of binary32 values, and returns how many have none.
fn vectorised<C: Code>(values: &Codes, bytes: &mut [u8], encoder: Encoder<C>) -> usize {
    let width = size_of::<C>();
    let parts = values.as_bytes().chunks(4 * PART).zip(bytes.chunks_mut(width * PART));
    let part = |(words, codes): &mut (Vec<f32>, Vec<C>), (values, bytes): (&[u8], &mut [u8])| {
        words.clear();
        words.extend(values.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)));
        codes.resize(words.len(), C::default());
        let missing = encoder.encode(words, codes);
        for (place, code) in bytes.chunks_exact_mut(width).zip(codes) {
            let code: u64 = (*code).into();
            place.copy_from_slice(&code.to_le_bytes()[..width]);
        }
        missing
    };
    parallel::map_with(parts, Default::default, part).iter().sum()
}

impl ConversionTarget {
    /// The block format, if it is one.
    pub fn block(&self) -> Option<&'static BlockFormat> {
        match self {
            ConversionTarget::Scalar { .. } => None,
            ConversionTarget::Blocks(quantizer) => Some(quantizer.format),
        }
    }

    /// The name of the format.
    pub fn name(&self) -> &'static str {
        match self {
            ConversionTarget::Scalar { format, .. } => format.name,
            ConversionTarget::Blocks(quantizer) => quantizer.format.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{
        format::block::BLOCK_FORMATS,
        format::{FORMATS, find},
    };

    /// Codes at random, NaNs among them where `nan` is set.
    fn random(format: &'static Format, count: usize, nan: bool) -> Tensor {
        let mut bytes = vec![0; count * format.bytes()];
        ChaCha8Rng::seed_from_u64(5).fill_bytes(&mut bytes);
        let mut codes = Codes::from_bytes(format, bytes).unwrap();
        for index in 0..count {
            let code = codes.get(index) & format.code_mask();
            codes.set(index, if nan || format.value(code) != Real::Nan { code } else { format.largest(false) });
        }
        Tensor::Scalar(format, codes)
    }

    #[test]
    fn every_way_to_a_scalar_format_gives_the_codes_of_each_value() {
        let halves = ["f16", "bf16"].map(|name| (find(name).unwrap(), 70_000));
        let sources = FORMATS.iter().map(|format| (format, 600)).chain(halves);
        for (from, count) in sources {
            for to in FORMATS.iter() {
                for (rounding, overflow) in [(Rounding::Rne, Overflow::Standard), (Rounding::Ru, Overflow::Saturate)] {
                    let source = random(from, count, to.has_nan());
                    let code = |index| to.encode(&source.value(index), rounding, overflow);
                    let each: Option<Vec<u64>> = (0..count).map(code).collect();
                    let all = encode(&source, to, rounding, overflow);
                    match each {
                        Some(each) => assert!(all.unwrap().iter().eq(each), "{from} to {to}"),
                        None => assert!(all.is_err(), "{from} to {to}"),
                    }
                }
            }
        }
    }

    #[test]
    fn every_way_from_a_block_format_gives_the_codes_of_each_value() {
        for format in BLOCK_FORMATS.iter() {
            let blocks =
                Tensor::Blocks(quantize(&random(find("f16").unwrap(), 200 * 50, true), 50, &Quantizer::new(format)));
            for to in ["f32", "bf16"].map(|name| find(name).unwrap()) {
                for (rounding, overflow) in [(Rounding::Rne, Overflow::Standard), (Rounding::Rz, Overflow::Saturate)] {
                    let each =
                        (0..blocks.len()).map(|index| to.encode(&blocks.value(index), rounding, overflow).unwrap());
                    assert!(encode(&blocks, to, rounding, overflow).unwrap().iter().eq(each), "{format} to {to}");
                }
            }
        }
    }

    #[test]
    fn the_first_value_without_a_code_is_named_by_every_way() {
        let (f32, f16, f64) = (find("f32").unwrap(), find("f16").unwrap(), find("f64").unwrap());
        for from in [f32, f16, f64] {
            for count in [40, 70_000] {
                let nan = from.encode(&Real::Nan, Rounding::Rne, Overflow::Standard).unwrap();
                let codes: Vec<u64> = (0..count).map(|index| if index == 7 || index == 30 { nan } else { 0 }).collect();
                let source = Tensor::Scalar(from, Codes::from_values(from, &codes));
                let error = encode(&source, find("e2m1").unwrap(), Rounding::Rne, Overflow::Standard).unwrap_err();
                let expected = format!("2 of {count} values");
                assert!(error.to_string().contains(&expected) && error.to_string().ends_with("position 7"), "{error}");
            }
        }
    }

    #[test]
    fn every_way_to_a_block_format_gives_the_blocks_of_each_value() {
        for format in BLOCK_FORMATS.iter() {
            for from in ["f32", "f16", "bf16", "e5m2", "s8", "f64"] {
                let quantizer = Quantizer::new(format);
                let source = random(find(from).unwrap(), 240 * 50, true);
                let each = quantizer.quantize_with(source.len(), 50, |index| source.value(index));
                assert_eq!(quantize(&source, 50, &quantizer), each, "{from} to {format}");
            }
        }
    }
}
