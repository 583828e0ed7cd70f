//! Quantisation of a tensor to blocks, and back.

use super::{
    BlockFormat, ScaleRule, choice::larger, dequantize::Dequantizer, extreme::Extreme, fast::VectorQuantizer,
    offset::ShiftedQuantizer, rule::Choice,
};
use crate::{
    base::parallel,
    format::{Format, Overflow, find},
    number::{Finite, Real, Rounding, product},
};

/// Values from which on the vectorised conversion outweighs its preparation.
const WORTH_IT: usize = 1 << 13;
/// Values that a thread converts at a time, one by one.
const PIECE: usize = 1 << 10;

/// Rules that turn values into blocks.
#[derive(Debug, Clone, Copy)]
pub struct Quantizer {
    /// Format of the result.
    pub format: &'static BlockFormat,
    /// Rule for the scale.
    pub rule: &'static ScaleRule,
    /// Rounding of an element, `x / scale`.
    pub rounding: Rounding,
    /// Scale of the tensor, for formats that have one; `None`: it follows from the values.
    /// The default is the tensor's `amax / (largest scale * largest element)`, to nearest, and 1 without finite numbers
    /// other than zero.
    pub tensor_scale: Option<f32>,
    /// Scale code of every block; `None`: it follows from the values.
    ///
    /// Under a given scale a NaN or an infinity does not change its block: it becomes the element of its own kind, or the
    /// largest number.
    pub block_scale: Option<u32>,
}

/// Tensor in a block format: rows of `row` elements, cut into blocks of rows and columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    /// Format of the blocks.
    pub format: &'static BlockFormat,
    /// Number of elements of a row.
    pub row: usize,
    /// Code of the tensor's scale, if the format has one.
    pub tensor_scale: Option<u64>,
    /// Scale codes, `[rows.div_ceil(format.rows)][row.div_ceil(format.length)]`.
    pub scales: Vec<u32>,
    /// Codes of the offsets, as many as scales; none for formats without.
    pub offsets: Vec<u32>,
    /// Element codes, `[rows][row]`.
    pub elements: Vec<u8>,
}

impl Quantizer {
    /// Quantizer of `format` by its specification's scale rule, to nearest.
    pub fn new(format: &'static BlockFormat) -> Self {
        let rule = super::find_rule(format.default_rule).expect("records name rules");
        Quantizer { format, rule, rounding: Rounding::Rne, tensor_scale: None, block_scale: None }
    }

    /// Quantises rows of `row` values, vectorised where that pays.
    /// The result equals [`Quantizer::quantize_with`] in every bit.
    ///
    /// # Panics
    /// If the number of values is not a multiple of `row`.
    pub fn quantize(&self, values: &[f32], row: usize) -> Blocks {
        assert!(values.is_empty() || values.len().is_multiple_of(row), "whole rows");
        // Exact values make a search over all scales slow.
        let worth_it = if self.searches_all() { 1 } else { WORTH_IT };
        let fast = if values.len() < worth_it { None } else { VectorQuantizer::of(self, values) };
        match fast {
            Some(fast) => fast.quantize(values, row),
            None => self.quantize_with(values.len(), row, |i| Real::from(f64::from(values[i]))),
        }
    }

    /// Quantises `count` exact values, `value(i)` at index `i`, in rows of `row`.
    ///
    /// # Panics
    /// If `count` is not a multiple of `row`.
    pub fn quantize_with(&self, count: usize, row: usize, value: impl Fn(usize) -> Real + Sync) -> Blocks {
        assert!(count == 0 || count.is_multiple_of(row), "whole rows");
        if let Some(shifted) = ShiftedQuantizer::new(self) {
            return shifted.quantize(count, row, &value);
        }
        let (tensor_scale, factor) = self.tensor_scale(count, &value);
        let BlockFormat { rows, length, .. } = *self.format;
        let mut elements = vec![0; count];
        let mut scales = vec![0; self.format.blocks(count, row)];
        let per_row = row.div_ceil(length).max(1);
        let bands = elements.chunks_mut(rows.saturating_mul(row).max(1)).zip(scales.chunks_mut(per_row)).enumerate();
        parallel::each(bands, |(band, (elements, scales))| {
            let (first, count) = (band * rows * row, elements.len());
            for (column, scale) in scales.iter_mut().enumerate() {
                let places: Vec<usize> = places(count, row, length, column).flatten().collect();
                let values: Vec<Real> = places.iter().map(|place| value(first + place)).collect();
                let mut codes = vec![0; values.len()];
                *scale = self.block(&values, &factor, &mut codes);
                places.iter().zip(codes).for_each(|(place, code)| elements[*place] = code);
            }
        });
        Blocks { format: self.format, row, tensor_scale, scales, offsets: Vec::new(), elements }
    }

    /// Code of the tensor's scale, if the format has one, and its value; 1 if it is not a number.
    pub fn tensor_scale(&self, count: usize, value: &(impl Fn(usize) -> Real + Sync)) -> (Option<u64>, Finite) {
        let code = self.format.tensor_scale.map(|format| {
            let given = self.tensor_scale.map(|scale| Real::from(f64::from(scale)));
            let scale = given.unwrap_or_else(|| self.scale_of_tensor(count, format, value));
            format.encode(&scale, Rounding::Rne, Overflow::Saturate).expect("f32 holds every number")
        });
        match code.zip(self.format.tensor_scale).map(|(code, format)| format.value(code)) {
            Some(Real::Finite(factor)) => (code, factor),
            _ => (code, Finite::exact(false, 1, 0)),
        }
    }

    /// True if every scale of either sign is tried.
    fn searches_all(&self) -> bool {
        matches!(self.rule.choice, Choice::Least(_)) && self.searched_codes().is_some()
    }

    /// Fills in the element codes of a block and returns its scale code.
    pub(super) fn block(&self, values: &[Real], tensor_scale: &Finite, elements: &mut [u8]) -> u32 {
        let BlockFormat { scale: format, element, .. } = self.format;
        let finite = |value: &Real| match value {
            Real::Finite(value) => Some(*value),
            _ => None,
        };
        if let Some(code) = self.block_scale {
            let scale = self.scale_value(code, tensor_scale);
            values.iter().zip(elements).for_each(|(value, element)| *element = self.element_of(value, &scale));
            return code;
        }
        let Some(values) = values.iter().map(finite).collect::<Option<Vec<Finite>>>() else {
            elements.fill(element.encode(&Finite::zero(false), Rounding::Rne) as u8);
            return format.nan().expect("scales have a NaN") as u32;
        };
        if let Some(extreme) = self.extreme() {
            return extreme.block(&values, elements);
        }
        let code = self.scale_of_block(&values, tensor_scale);
        let scale = self.scale_value(code, tensor_scale);
        for (value, code) in values.iter().zip(elements) {
            *code = self.element_code(value, &scale);
        }
        code
    }

    /// The rule that computes scale and elements of a block together, if it is this quantizer's.
    pub(super) fn extreme(&self) -> Option<Extreme> {
        let serves =
            self.rule.choice == Choice::Extreme && self.rounding == Rounding::Rne && self.block_scale.is_none();
        if serves { Extreme::new(self.format) } else { None }
    }

    /// Factor of the elements of a block with this scale code.
    pub(super) fn scale_value(&self, code: u32, tensor_scale: &Finite) -> Finite {
        let Real::Finite(scale) = self.format.scale.value(code.into()) else { unreachable!("scales saturate") };
        scale.times(tensor_scale)
    }

    /// Element code of a value, special or not, under a given scale.
    fn element_of(&self, value: &Real, scale: &Finite) -> u8 {
        let format = self.format.element.format;
        match value {
            Real::Finite(value) => self.element_code(value, scale),
            // Every number of an element is below.
            Real::Infinity { negative } => {
                self.format.element.encode(&Finite::exact(*negative, 1, 1 << 14), self.rounding) as u8
            }
            Real::Nan if format.is_integer() => 0,
            Real::Nan => format.nan().unwrap_or_else(|| format.largest(false)) as u8,
        }
    }

    /// Element code of `value` in a block with this scale.
    pub fn element_code(&self, value: &Finite, scale: &Finite) -> u8 {
        let quotient = if scale.is_zero() { Finite::zero(value.negative) } else { value.over(scale) };
        self.format.element.encode(&quotient, self.rounding) as u8
    }

    /// `amax / (largest scale * largest element)`, at least the smallest positive number; 1 if `amax` is 0.
    fn scale_of_tensor(&self, count: usize, format: &Format, value: &(impl Fn(usize) -> Real + Sync)) -> Real {
        let part = |start: usize| {
            let range = start..count.min(start + PIECE);
            range.map(value).filter_map(magnitude).reduce(larger)
        };
        let parts = parallel::map((0..count).step_by(PIECE), part);
        let amax = parts.into_iter().flatten().reduce(larger);
        let largest = || match self.format.scale.value(self.format.scale.largest(false)) {
            Real::Finite(largest) => largest,
            _ => unreachable!("the largest number is one"),
        };
        let Some(amax) = amax.filter(|amax| !amax.is_zero()) else {
            return Real::Finite(Finite::exact(false, 1, 0));
        };
        let scale = self.rule.largest_scale().unwrap_or_else(largest);
        let ratio = Real::Finite(amax.over(&scale.times(&self.format.element.largest())));
        let code = format.encode(&ratio, Rounding::Rne, Overflow::Saturate).expect("a number has a code");
        format.value(code.max(1))
    }
}

impl Blocks {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Index of the scale of the element at `index`.
    pub fn block_of(&self, index: usize) -> usize {
        let BlockFormat { rows, length, .. } = *self.format;
        index / self.row / rows * self.row.div_ceil(length) + index % self.row / length
    }

    /// Exact scale of a block, the tensor's included; NaN if the scale code is.
    pub fn scale(&self, block: usize) -> Real {
        let scale = self.format.scale.value(self.scales[block].into());
        match self.tensor_scale.zip(self.format.tensor_scale) {
            Some((code, format)) => product(&scale, &format.value(code)),
            None => scale,
        }
    }

    /// Exact value of the element at `index`: `element * scale`; NaN if one of them is.
    ///
    /// The value of a block with an offset is rounded to f64.
    pub fn value(&self, index: usize) -> Real {
        if self.format.offset.is_some() {
            return Real::from(self.shifted(index));
        }
        product(&self.format.element.value(self.elements[index].into()), &self.scale(self.block_of(index)))
    }

    /// Value of the element at `index` of blocks with offsets.
    fn shifted(&self, index: usize) -> f64 {
        let (block, element) = (self.block_of(index), &self.format.element);
        let scale = self.format.scale.to_f64(self.scales[block].into());
        let shift = self.format.offset.map_or(0.0, |offset| offset.shift(self.offsets[block], scale));
        element.value(self.elements[index].into()).to_f64() * scale + shift
    }

    /// Values as binary32, each rounded once, to nearest.
    /// A value is inexact only outside the normal range, or under a tensor scale, whose 24 bits make products of up to
    /// 30 bits.
    pub fn dequantize(&self) -> Vec<f32> {
        if self.format.offset.is_some() {
            return (0..self.len()).map(|index| self.shifted(index) as f32).collect();
        }
        match Dequantizer::new(self.format, self.tensor_scale) {
            Some(dequantizer) => dequantizer.values(self),
            None => self.dequantize_exactly(),
        }
    }

    /// [`Blocks::dequantize`] by exact values.
    pub(super) fn dequantize_exactly(&self) -> Vec<f32> {
        let f32 = find("f32").expect("there is f32");
        let code = |i| f32.encode(&self.value(i), Rounding::Rne, Overflow::Standard).expect("f32 holds every value");
        let mut values = vec![0.0; self.len()];
        parallel::each(values.chunks_mut(PIECE).enumerate(), |(piece, values)| {
            values.iter_mut().zip(piece * PIECE..).for_each(|(value, i)| *value = f32::from_bits(code(i) as u32));
        });
        values
    }
}

/// Places of a block in `count` elements of its band, row by row.
pub(super) fn places(
    count: usize,
    row: usize,
    length: usize,
    column: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count).step_by(row.max(1)).map(move |start| start + column * length..start + row.min((column + 1) * length))
}

fn magnitude(value: Real) -> Option<Finite> {
    match value {
        Real::Finite(finite) => Some(finite.magnitude()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::block::{SCALE_RULES, formats};

    #[test]
    fn a_row_of_any_length_shares_one_scale() {
        let full_extent = BlockFormat::WHOLE;
        let format = BlockFormat::with_f32_scales(find("e4m3").unwrap(), full_extent, full_extent).unwrap();
        // As many as make rows times a row of `WHOLE` more than a word holds.
        let mut values = vec![0.0; 1 << 24];
        values[(1 << 24) - 1] = 448.0;
        let blocks = Quantizer::new(format).quantize(&values, values.len());
        assert_eq!(blocks.scales, [1f32.to_bits()]);
        let back = blocks.dequantize();
        assert!(back == values);
        let few = Quantizer::new(format).quantize(&[1.0, 224.0, -448.0], 3);
        assert_eq!((few.scales.len(), few.dequantize()), (1, vec![1.0, 224.0, -448.0]));
    }

    /// Magnitudes at the end of f32: the last ones, and parts of the last four binades.
    fn last_numbers() -> Vec<f32> {
        let last = f32::MAX.to_bits();
        let parts = (0..512).map(|part| last - (part << 16) - (part % 7));
        (0..64).map(|below| last - below).chain(parts).map(f32::from_bits).collect()
    }

    #[test]
    fn finite_values_have_finite_results_up_to_the_end_of_f32() {
        let last = last_numbers();
        let mut values: Vec<f32> = last.iter().flat_map(|value| [*value, -*value]).collect();
        // Blocks that hold smaller values, too.
        values.extend(last.iter().enumerate().map(|(at, value)| value / [1.0, 3.0, -70.0, 1e9][at % 4]));
        for format in formats() {
            for rule in SCALE_RULES.iter().filter(|rule| rule.refusal(format).is_none()) {
                for (rounding, row) in [(Rounding::Rne, 1), (Rounding::Rne, 64), (Rounding::Ru, 64), (Rounding::Rna, 1)]
                {
                    let values = &values[..values.len() / row * row];
                    let quantizer = Quantizer { rule, rounding, ..Quantizer::new(format) };
                    let blocks = quantizer.quantize_with(values.len(), row, |i| Real::from(f64::from(values[i])));
                    let results = blocks.dequantize();
                    let lost = results.iter().position(|value| !value.is_finite());
                    assert!(
                        lost.is_none(),
                        "{format} {rule} {rounding:?}: {:?}",
                        lost.map(|at| (values[at], results[at]))
                    );
                    let fast = VectorQuantizer::of(&quantizer, values).map(|fast| fast.quantize(values, row));
                    assert!(fast.is_none_or(|fast| fast == blocks), "{format} {rule} {rounding:?}");
                }
            }
        }
    }
}
