//! Conversion of one tensor.

use super::{
    Deviations,
    converter::{BlockConverter, Missing, ScalarConverter},
    deviations::TensorComparison,
    values::{TensorKind, ValueReader},
};
use crate::{
    Error, Result,
    base::parallel,
    format::block::{BlockFormat, Blocks, Quantizer},
    format::{Format, Overflow, Real, Rounding},
    inputs,
    isa::Codes,
};

/// Elements that one task converts.
pub(crate) const PART: usize = 1 << 14;

/// A tensor: codes of a scalar format, or blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    /// Codes of a format.
    Scalar(&'static Format, Codes),
    /// Blocks.
    Blocks(Blocks),
}

/// Target of a conversion.
#[derive(Debug, Clone, Copy)]
pub enum ConversionTarget {
    /// A scalar format.
    Scalar {
        /// The format.
        format: &'static Format,
        /// The rounding direction.
        rounding: Rounding,
        /// Rule for values that are too large.
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

    /// True if there are none.
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

    /// Its bytes, to be used again.
    pub fn into_memory(self) -> Vec<u8> {
        match self {
            Tensor::Scalar(_, codes) => codes.into_bytes(),
            Tensor::Blocks(blocks) => blocks.elements,
        }
    }

    /// Properties, besides its codes, that decide its values.
    pub(crate) fn kind(&self) -> TensorKind {
        match self {
            Tensor::Scalar(format, _) => TensorKind::Scalar(format),
            Tensor::Blocks(blocks) => TensorKind::Blocks(blocks.format, blocks.tensor_scale),
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

/// `source`, in rows of `row` elements, converted to `target`, and the differences.
///
/// # Errors
/// A value that the target has no code for (NaN in a format without NaN): how many there are, and where the first is. A NaN or an
/// infinity, where one scale serves all values.
pub fn convert(source: &Tensor, row: usize, target: &ConversionTarget) -> Result<(Tensor, Deviations)> {
    let result = match target {
        ConversionTarget::Scalar { format, rounding, overflow } => {
            Tensor::Scalar(format, encode(source, format, *rounding, *overflow)?)
        }
        ConversionTarget::Blocks(quantizer) => Tensor::Blocks(refuse_nan_scale(quantize(source, row, quantizer))?),
    };
    Ok(compared(source, result))
}

/// [`convert`] with random bits of its own for each element under stochastic rounding.
///
/// The place of the element and `seed` decide the bits, in memory and in files alike.
///
/// # Errors
/// As [`convert`].
pub fn convert_with_seed(
    source: &Tensor,
    row: usize,
    target: &ConversionTarget,
    seed: u64,
) -> Result<(Tensor, Deviations)> {
    let Rounding::Sr { bits, .. } = target.rounding() else { return convert(source, row, target) };
    let random: Vec<u64> = inputs::rounding_bits(seed, bits, 0..source.len() as u64).collect();
    let result = match target {
        ConversionTarget::Scalar { format, rounding, overflow } => {
            let converter = ScalarConverter::new(source.kind(), source.len(), format, *rounding, *overflow)?;
            Tensor::Scalar(format, encoded(&converter, source, format, Some(&random))?)
        }
        ConversionTarget::Blocks(quantizer) => {
            // Elements take random bits of their own; the quantizer finds scales alone.
            let scales = Quantizer { rounding: Rounding::Rne, ..*quantizer };
            let (code, _) = scales.tensor_scale(source.len(), &|index| source.value(index));
            let tensor_scale = code.map(|code| f32::from_bits(code as u32));
            let scales = Quantizer { tensor_scale, ..scales };
            let converter = BlockConverter::new(source.kind(), source.len(), &scales, Some(bits));
            Tensor::Blocks(refuse_nan_scale(converter.quantize(source, row, Some(&random)))?)
        }
    };
    Ok(compared(source, result))
}

/// `result` with its differences from `source`.
fn compared(source: &Tensor, result: Tensor) -> (Tensor, Deviations) {
    let comparison = TensorComparison::new(source.kind(), result.kind());
    let parts = parallel::map(parts(source.len()), |range| comparison.of(source, &result, range));
    // In the order of the parts, so that sums do not depend on the number of threads.
    let mut deviations = Deviations::default();
    parts.iter().for_each(|part| deviations.add(part));
    (result, deviations)
}

/// Refuses the NaN that a NaN or an infinity makes of all values of a tensor.
fn refuse_nan_scale(blocks: Blocks) -> Result<Blocks> {
    let BlockFormat { rows, scale, .. } = *blocks.format;
    let is_nan = |code: &u32| matches!(scale.value(u64::from(*code)), Real::Nan);
    match rows == BlockFormat::WHOLE && blocks.scales.iter().any(is_nan) {
        true => Err(refused_whole()),
        false => Ok(blocks),
    }
}

/// The error for a tensor with a NaN or an infinity whose values share one scale.
pub fn refused_whole() -> Error {
    Error::request("it holds a NaN or an infinity, and one scale for all values has no place for them")
}

/// The parts of `count` elements, one for each task.
fn parts(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count.div_ceil(PART)).map(move |part| part * PART..count.min((part + 1) * PART))
}

/// The values in blocks, the same by each of the ways.
fn quantize(source: &Tensor, row: usize, quantizer: &Quantizer) -> Blocks {
    let values = ValueReader::new(source.kind());
    if !values.fit_f32() {
        return quantizer.quantize_with(source.len(), row, |index| source.value(index));
    }
    let mut words = vec![0.0; source.len()];
    parallel::each_with(words.chunks_mut(PART).enumerate(), Vec::new, |read, (part, words)| {
        values.read_f32(source, part * PART..part * PART + words.len(), read);
        words.copy_from_slice(read);
    });
    quantizer.quantize(&words, row)
}

/// The codes of the values, equal to [`Format::encode`] of each.
///
/// # Errors
/// As [`convert`].
pub fn encode(source: &Tensor, format: &'static Format, rounding: Rounding, overflow: Overflow) -> Result<Codes> {
    let converter = ScalarConverter::new(source.kind(), source.len(), format, rounding, overflow)?;
    encoded(&converter, source, format, None)
}

/// The codes of the values by a converter; `random` has a word for each under stochastic rounding.
fn encoded(
    converter: &ScalarConverter,
    source: &Tensor,
    format: &'static Format,
    random: Option<&[u64]>,
) -> Result<Codes> {
    let width = format.bytes();
    let mut bytes = vec![0; source.len() * width];
    let mut all = Missing::default();
    if converter.takes_all() {
        all.add(converter.encode(source, 0..source.len(), random, &mut bytes)?, 0);
    } else {
        let parts = parts(source.len()).zip(bytes.chunks_mut(PART * width));
        let of_part = |(range, bytes): (std::ops::Range<usize>, &mut [u8])| {
            let random = random.map(|random| &random[range.clone()]);
            converter.encode(source, range, random, bytes)
        };
        for missing in parallel::map(parts, of_part) {
            all.add(missing?, 0);
        }
    }
    all.refused(source.len(), format)?;
    Ok(Codes::from_bytes(format, bytes).expect("whole codes"))
}

impl ConversionTarget {
    /// The block format, if it is one.
    pub fn block(&self) -> Option<&'static BlockFormat> {
        match self {
            ConversionTarget::Scalar { .. } => None,
            ConversionTarget::Blocks(quantizer) => Some(quantizer.format),
        }
    }

    /// The rounding of elements.
    pub fn rounding(&self) -> Rounding {
        match self {
            ConversionTarget::Scalar { rounding, .. } => *rounding,
            ConversionTarget::Blocks(quantizer) => quantizer.rounding,
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
        format::block::formats,
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
        for format in formats().iter() {
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
    fn each_element_draws_random_bits_of_its_own_by_the_seed() {
        let f32 = find("f32").unwrap();
        // Between 1 and 1.125, near a quarter of the way; the first of each row decides its scale.
        let bits = |value: f32| u64::from(value.to_bits());
        let words: Vec<u64> = (0..40_000).map(|at| bits(if at % 100 == 0 { 448.0 } else { 1.03 })).collect();
        let source = Tensor::Scalar(f32, Codes::from_values(f32, &words));
        let e4m3 = find("e4m3").unwrap();
        let rounding = Rounding::Sr { random: 0, bits: 32 };
        let rows = BlockFormat::with_f32_scales(e4m3, 1, 100).unwrap();
        for target in [
            ConversionTarget::Scalar { format: e4m3, rounding, overflow: Overflow::Saturate },
            ConversionTarget::Blocks(Quantizer { rounding, ..Quantizer::new(rows) }),
        ] {
            let of = |seed| convert_with_seed(&source, 100, &target, seed).unwrap();
            let ((first, deviations), (second, _)) = (of(1), of(2));
            assert_eq!((&first, deviations), (&of(1).0, of(1).1));
            assert_ne!(first, second);
            let values: Vec<f64> = (0..40_000).filter(|at| at % 100 > 0).map(|at| first.value(at).to_f64()).collect();
            assert!(values.iter().all(|value| [1.0, 1.125].contains(value)));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            assert!((mean - 1.03).abs() < 2e-3, "{mean}");
        }
    }

    #[test]
    fn a_nan_that_would_take_all_values_of_a_tensor_is_refused() {
        let f32 = find("f32").unwrap();
        let words = [f32::NAN, 1.0, 2.0, 448.0].map(|value| u64::from(value.to_bits()));
        let source = Tensor::Scalar(f32, Codes::from_values(f32, &words));
        let of = |rows| {
            let format = BlockFormat::with_f32_scales(find("e4m3").unwrap(), rows, BlockFormat::WHOLE).unwrap();
            convert(&source, 2, &ConversionTarget::Blocks(Quantizer::new(format)))
        };
        assert!(of(BlockFormat::WHOLE).unwrap_err().to_string().contains("one scale for all values"));
        let (rows, deviations) = of(1).unwrap();
        assert_eq!((deviations.nan_results, rows.value(3).to_f64()), (2, 448.0));
        // Energies are those of the row of numbers, whose second is exact.
        assert!(deviations.losses.energies.sqnr().unwrap() > 30.0);
    }

    #[test]
    fn every_way_to_a_block_format_gives_the_blocks_of_each_value() {
        for format in formats().iter() {
            for from in ["f32", "f16", "bf16", "e5m2", "s8", "f64"] {
                let quantizer = Quantizer::new(format);
                let source = random(find(from).unwrap(), 240 * 50, true);
                let each = quantizer.quantize_with(source.len(), 50, |index| source.value(index));
                assert_eq!(quantize(&source, 50, &quantizer), each, "{from} to {format}");
            }
        }
    }
}
