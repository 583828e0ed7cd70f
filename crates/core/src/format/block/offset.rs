//! Blocks whose values are shifted: by a zero point, or by a minimum.
//!
//! Quotients are rounded once, in f64, which decides every tie of values and scales of f32 rightly. Scale and offset follow from the
//! smallest and the largest value, between which zero always lies under a zero point. Under the rule `mse` several shorter ranges are
//! tried, and then the neighbours of the best scale and offset.

use super::{BlockFormat, Blocks, Quantizer, quantize::places, rule::Choice};
use crate::{
    base::parallel,
    format::{Format, Overflow, Real, Rounding},
};

/// Parts of the range that the search leaves out at each end, at most.
const PARTS: u32 = 8;
/// Share of the range that is a part.
const PART: f64 = 0.04;
/// Steps of scale codes that the search tries around the best scale.
const STEPS: [i64; 9] = [0, 1, -1, 3, -3, 9, -9, 20, -20];
/// Ranges from which the search goes on.
const STARTS: usize = 6;
/// Improvements of a block after which its search ends.
const MOST: usize = 64;

/// Second number of each block, which shifts its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOffset {
    /// An integer that is subtracted from the elements: `(element - zero point) * scale`.
    ZeroPoint(&'static Format),
    /// A number that is added to the values: `element * scale + minimum`.
    Minimum(&'static Format),
}

impl BlockOffset {
    /// Format of the numbers.
    pub fn format(self) -> &'static Format {
        match self {
            BlockOffset::ZeroPoint(format) | BlockOffset::Minimum(format) => format,
        }
    }

    /// Number that is added to the values of a block.
    pub(super) fn shift(self, code: u32, scale: f64) -> f64 {
        let number = self.format().to_f64(code.into());
        match self {
            BlockOffset::ZeroPoint(_) => -number * scale,
            BlockOffset::Minimum(_) => number,
        }
    }
}

/// Scale and offset of a block, with their codes.
#[derive(Debug, Clone, Copy)]
struct BlockGrid {
    codes: [u32; 2],
    scale: f64,
    shift: f64,
}

impl BlockGrid {
    /// True if the values of the smallest and the largest element are numbers of f32.
    fn is_finite(&self, ends: [f64; 2]) -> bool {
        ends.iter().all(|end| ((end * self.scale + self.shift) as f32).is_finite())
    }
}

/// Quantisation to a format with offsets.
pub(super) struct ShiftedQuantizer<'a> {
    quantizer: &'a Quantizer,
    offset: BlockOffset,
    /// Smallest and largest element.
    ends: [f64; 2],
}

impl<'a> ShiftedQuantizer<'a> {
    /// Quantizer of a format with offsets; `None` for other formats.
    pub(super) fn new(quantizer: &'a Quantizer) -> Option<ShiftedQuantizer<'a>> {
        let format = quantizer.format.element.format;
        let ends = [true, false].map(|negative| format.to_f64(format.largest(negative)));
        quantizer.format.offset.map(|offset| ShiftedQuantizer { quantizer, offset, ends })
    }

    /// Quantises `count` values in rows of `row`.
    pub(super) fn quantize(&self, count: usize, row: usize, value: &(impl Fn(usize) -> Real + Sync)) -> Blocks {
        let format = self.quantizer.format;
        let BlockFormat { rows, length, .. } = *format;
        let blocks = format.blocks(count, row);
        let (mut elements, mut scales, mut offsets) = (vec![0; count], vec![0; blocks], vec![0; blocks]);
        let per_row = row.div_ceil(length).max(1);
        let bands = elements.chunks_mut(rows.saturating_mul(row).max(1));
        let bands = bands.zip(scales.chunks_mut(per_row).zip(offsets.chunks_mut(per_row))).enumerate();
        parallel::each(bands, |(band, (elements, (scales, offsets)))| {
            let (first, count) = (band * rows * row, elements.len());
            for (column, (scale, offset)) in scales.iter_mut().zip(offsets).enumerate() {
                let places: Vec<usize> = places(count, row, length, column).flatten().collect();
                let values: Vec<f64> = places.iter().map(|place| value(first + place).to_f64()).collect();
                let Some(grid) = self.grid(&values) else {
                    *scale = format.scale.nan().expect("scales have a NaN") as u32;
                    continue;
                };
                [*scale, *offset] = grid.codes;
                places.iter().zip(&values).for_each(|(place, value)| elements[*place] = self.code(*value, &grid));
            }
        });
        Blocks { format, row, tensor_scale: None, scales, offsets, elements }
    }

    /// Scale and offset of a block; `None` if a value is no number.
    fn grid(&self, values: &[f64]) -> Option<BlockGrid> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let zero = if matches!(self.offset, BlockOffset::ZeroPoint(_)) { 0.0 } else { values.first().copied()? };
        let (low, high) = values.iter().fold((zero, zero), |(low, high), value| (value.min(low), value.max(high)));
        let first = self.between(low, high);
        Some(match self.quantizer.rule.choice {
            Choice::Least(_) => self.search(values, low, high, first),
            _ => first,
        })
    }

    /// Scale and offset under which the elements reach from one value to another.
    fn between(&self, low: f64, high: f64) -> BlockGrid {
        let [least, most] = self.ends;
        let mut scale = self.encoded(self.quantizer.format.scale, (high - low) / (most - least));
        // Near the end of f32 a scale that is rounded up makes values infinite.
        while scale > 0 && !self.of_range(low, scale).is_finite(self.ends) {
            scale -= 1;
        }
        self.of_range(low, scale)
    }

    /// The offset of a range under a scale.
    fn of_range(&self, low: f64, scale: u32) -> BlockGrid {
        let [least, _] = self.ends;
        let value = self.quantizer.format.scale.to_f64(scale.into());
        let wanted = match self.offset {
            BlockOffset::ZeroPoint(_) if value > 0.0 => least - low / value,
            BlockOffset::ZeroPoint(_) => least,
            BlockOffset::Minimum(_) => low - least * value,
        };
        self.of_codes(scale, self.encoded(self.offset.format(), wanted))
    }

    fn of_codes(&self, scale: u32, offset: u32) -> BlockGrid {
        let value = self.quantizer.format.scale.to_f64(scale.into());
        BlockGrid { codes: [scale, offset], scale: value, shift: self.offset.shift(offset, value) }
    }

    fn encoded(&self, format: &Format, value: f64) -> u32 {
        format.encode(&Real::from(value), Rounding::Rne, Overflow::Saturate).unwrap_or(0) as u32
    }

    /// Element code of a finite value.
    fn code(&self, value: f64, grid: &BlockGrid) -> u8 {
        let element = &self.quantizer.format.element;
        match Real::from(self.quotient(value, grid)) {
            Real::Finite(quotient) => element.encode(&quotient, self.quantizer.rounding) as u8,
            _ => 0,
        }
    }

    /// Element of a value before its rounding.
    fn quotient(&self, value: f64, grid: &BlockGrid) -> f64 {
        let [least, most] = self.ends;
        if grid.scale == 0.0 {
            return least;
        }
        let quotient = match self.offset {
            // The zero point is an integer: ties of the quotient alone decide.
            BlockOffset::ZeroPoint(_) => {
                let zero = -grid.shift / grid.scale;
                let quotient = value / grid.scale;
                if self.quantizer.rounding == Rounding::Rne {
                    quotient.round_ties_even() + zero
                } else {
                    quotient + zero
                }
            }
            BlockOffset::Minimum(_) => (value - grid.shift) / grid.scale,
        };
        quotient.clamp(least, most)
    }

    /// Sum of the squared errors.
    fn loss(&self, values: &[f64], grid: &BlockGrid) -> f64 {
        if grid.scale == 0.0 {
            return values.iter().map(|value| (value - grid.shift) * (value - grid.shift)).sum();
        }
        let ([least, most], reciprocal) = (self.ends, 1.0 / grid.scale);
        let error = |value: &f64| {
            let element = ((value - grid.shift) * reciprocal).round_ties_even().clamp(least, most);
            element * grid.scale + grid.shift - value
        };
        values.iter().map(|value| error(value) * error(value)).sum()
    }

    /// The best of shorter ranges and their neighbours.
    fn search(&self, values: &[f64], low: f64, high: f64, first: BlockGrid) -> BlockGrid {
        let judged =
            |grid: BlockGrid| (if grid.is_finite(self.ends) { self.loss(values, &grid) } else { f64::INFINITY }, grid);
        let mut starts = vec![judged(first)];
        let part = |count: u32| f64::from(count) * PART * (high - low);
        for (below, above) in (0..=PARTS).flat_map(|below| (0..=PARTS).map(move |above| (below, above))) {
            let grid = self.between(low + part(below), high - part(above));
            if starts.iter().all(|(_, other)| other.codes != grid.codes) {
                starts.push(judged(grid));
            }
        }
        starts.sort_by(|x, y| x.0.total_cmp(&y.0));
        starts.truncate(STARTS);
        for best in &mut starts {
            self.descend(best, &judged);
        }
        let least = starts.into_iter().reduce(|least, other| if other.0 < least.0 { other } else { least });
        least.map_or(first, |(_, grid)| grid)
    }

    /// Goes from a scale and an offset to the best of their neighbours, until none is better.
    fn descend(&self, best: &mut (f64, BlockGrid), judged: &impl Fn(BlockGrid) -> (f64, BlockGrid)) {
        let near = |code: u32, step: i64, format: &Format| {
            u32::try_from(i64::from(code) + step).ok().filter(|code| u64::from(*code) <= format.code_mask())
        };
        let of_offset = if matches!(self.offset, BlockOffset::ZeroPoint(_)) { 3 } else { STEPS.len() };
        for _ in 0..MOST {
            let [scale, offset] = best.1.codes;
            let scales = STEPS.iter().filter_map(|step| near(scale, *step, self.quantizer.format.scale));
            let offsets = || STEPS[..of_offset].iter().filter_map(|step| near(offset, *step, self.offset.format()));
            let all = scales.flat_map(|scale| offsets().map(move |offset| (scale, offset)));
            let least = all.map(|(scale, offset)| judged(self.of_codes(scale, offset)));
            match least.reduce(|least, other| if other.0 < least.0 { other } else { least }) {
                Some(least) if least.0 < best.0 => *best = least,
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::block;

    fn values(count: usize, shift: f32) -> Vec<f32> {
        let mut state = 9u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 2f32.powi(24) - 0.5
        };
        (0..count).map(|_| next() + next() + next() + shift).collect()
    }

    fn loss(blocks: &Blocks, values: &[f32]) -> f64 {
        let back = blocks.dequantize();
        back.iter().zip(values).map(|(y, x)| f64::from(y - x) * f64::from(y - x)).sum()
    }

    #[test]
    fn every_element_is_the_nearest_under_its_scale_and_offset() {
        for name in ["q4-1", "u4-1x128"] {
            let format = block::find(name).unwrap();
            for rule in ["nearest", "mse"] {
                let quantizer = Quantizer { rule: block::find_rule(rule).unwrap(), ..Quantizer::new(format) };
                let values = values(4 * 256, 0.3);
                let blocks = quantizer.quantize(&values, 256);
                for (at, value) in values.iter().enumerate() {
                    let mut other = blocks.clone();
                    let error = |blocks: &Blocks| (blocks.value(at).to_f64() - f64::from(*value)).abs();
                    for code in 0..16 {
                        other.elements[at] = code;
                        assert!(error(&blocks) <= error(&other), "{name} {rule} {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_search_comes_within_a_hundredth_of_every_scale_and_zero_point() {
        let format = block::find("u4-1x128").unwrap().with_blocks(1, 32);
        let quantizer = Quantizer { rule: block::find_rule("mse").unwrap(), ..Quantizer::new(format) };
        let plain = Quantizer { rule: block::find_rule("nearest").unwrap(), ..quantizer };
        let shifted = ShiftedQuantizer::new(&quantizer).unwrap();
        for shift in [0.0, 0.2, -0.7, 3.0] {
            let (values, mut sums) = (values(16 * 32, shift), [0.0; 3]);
            for block in values.chunks(32) {
                let block: Vec<f64> = block.iter().map(|value| f64::from(*value)).collect();
                let every = (0..0x7f80u32).flat_map(|scale| (0..16).map(move |zero| (scale, zero)));
                // Scales of four binades around the plain one.
                let near = shifted
                    .between(0f64.min(block.iter().copied().fold(0.0, f64::min)), 0.3 + f64::from(shift.abs()))
                    .codes[0];
                let every = every.filter(|(scale, _)| scale.abs_diff(near) < 256);
                let least = every.map(|(scale, zero)| shifted.loss(&block, &shifted.of_codes(scale, zero)));
                sums[0] += least.fold(f64::INFINITY, f64::min);
            }
            sums[1] = loss(&quantizer.quantize(&values, 32), &values);
            sums[2] = loss(&plain.quantize(&values, 32), &values);
            println!("{sums:?}");
            assert!(sums[1] <= 1.01 * sums[0] && sums[1] <= sums[2], "{shift}: {sums:?}");
        }
    }

    #[test]
    fn a_constant_block_and_a_block_with_a_nan_have_their_values() {
        for name in ["q4-1", "u4-1x128"] {
            let quantizer = Quantizer::new(block::find(name).unwrap());
            for constant in [0.0, 1.5, -2.0] {
                let blocks = quantizer.quantize(&[constant; 128], 128);
                // The scale of a zero point is rounded.
                let slack = if name == "q4-1" { 0.0 } else { constant.abs() / 256.0 };
                assert!(blocks.dequantize().iter().all(|value| (value - constant).abs() <= slack), "{name} {constant}");
            }
            let mut values = [1.0; 128];
            values[5] = f32::NAN;
            assert!(quantizer.quantize(&values, 128).dequantize()[0].is_nan());
        }
    }
}
