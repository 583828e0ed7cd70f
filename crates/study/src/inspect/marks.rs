//! Marks of faults that values prove: rounded scales, exponents as numbers, biased zero points.

use std::collections::BTreeMap;

use super::table::WEIGHTS;
use crate::{
    Result,
    checkpoint::{Quantised, TensorReader},
    report::three_digits,
    tensor::{Matrices, Sharing, TensorPiece},
};

/// First values of a tensor whose blocks are searched for their largest code.
const SEARCHED: usize = 1 << 22;
/// Blocks and scales below which nothing is said.
const FEWEST: u64 = 64;
/// Share of blocks with the largest code that scales of powers of two do not leave by themselves.
const FULL: f64 = 0.98;
/// Codes of e8m0 that scales of weights have.
const EXPONENTS: std::ops::RangeInclusive<f64> = 64.0..=160.0;
/// Mean of codes less zero points, in steps: at most by the right ones, at least by those one off.
const UNBIASED: f64 = 0.4;
const BIASED: f64 = 0.6;
/// Largest scale of blocks that is doubted next to a scale of the tensor, chosen for 448 or 256.
const LEAST_LARGEST: f64 = 1.0;
/// Most bits of codes whose step is large enough for a bias.
const COARSE: u32 = 4;
/// Share of a binade that is rounded to the largest code of a format whose blocks are doubted.
const SELDOM: f64 = 0.4;

/// Counts over pieces.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Marks {
    /// Scales; those that are powers of two, and those that are whole numbers among the exponents.
    scales: u64,
    powers: u64,
    exponents: u64,
    largest_scale: f64,
    /// Blocks that were searched, and those with the largest code; blocks of several rows by their numbers.
    blocks: u64,
    peaks: u64,
    tall_blocks: BTreeMap<(usize, usize), bool>,
    /// Sum of codes less zero points, and their number.
    steps: f64,
    stepped: u64,
    /// Least and largest zero point of layouts that another version shares its names with.
    zeros: Option<(f64, f64)>,
}

/// The largest two magnitudes of codes; of two signs, up to the largest of both.
pub(super) fn largest_two(values: &[f64]) -> Option<[f64; 2]> {
    let largest =
        |sign: f64| values.iter().map(|value| sign * value).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let (positive, negative) = (largest(1.0), largest(-1.0));
    let most = if negative > 0.0 { positive.min(negative) } else { positive };
    let mut values: Vec<f64> = values.iter().map(|value| value.abs()).filter(|value| *value <= most).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values.last_chunk().copied()
}

/// True if few numbers of a binade are rounded to the largest code, as 432 to 512 to the 448 of e4m3.
/// Right blocks of e2m1, whose 6 takes what is above 5, may all hold it.
fn is_seldom_largest(values: &[f64]) -> bool {
    let Some([second, largest]) = largest_two(values) else { return false };
    let top = 2f64.powi(largest.log2().floor() as i32 + 1);
    (2.0 * top / (second + largest)).log2() < SELDOM
}

impl Marks {
    pub(super) fn plus(mut self, other: &Marks) -> Marks {
        for (block, peaks) in &other.tall_blocks {
            *self.tall_blocks.entry(*block).or_default() |= peaks;
        }
        Marks {
            scales: self.scales + other.scales,
            powers: self.powers + other.powers,
            exponents: self.exponents + other.exponents,
            largest_scale: self.largest_scale.max(other.largest_scale),
            blocks: self.blocks + other.blocks,
            peaks: self.peaks + other.peaks,
            steps: self.steps + other.steps,
            stepped: self.stepped + other.stepped,
            zeros: match (self.zeros, other.zeros) {
                (Some((least, most)), Some((less, more))) => Some((least.min(less), most.max(more))),
                (one, other) => one.or(other),
            },
            tall_blocks: self.tall_blocks,
        }
    }

    /// Counts of a piece with these scales.
    ///
    /// # Errors
    /// As [`TensorReader::codes`].
    pub(super) fn of(
        reader: &TensorReader,
        quantised: &Quantised,
        of: Matrices,
        piece: &TensorPiece,
        scales: &[f64],
    ) -> Result<Marks> {
        let is_power = |scale: &&f64| scale.to_bits() << 12 == 0 && **scale > 0.0;
        let is_exponent = |scale: &&f64| scale.fract() == 0.0 && EXPONENTS.contains(*scale);
        let mut marks = Marks {
            scales: scales.len() as u64,
            powers: scales.iter().filter(is_power).count() as u64,
            exponents: scales.iter().filter(is_exponent).count() as u64,
            largest_scale: scales.iter().copied().fold(0.0, f64::max),
            ..Marks::default()
        };
        let (high, wide) = quantised.sharing.extents(of);
        // Pieces inside tall blocks have no scales of their own.
        let rounded = marks.powers == marks.scales && !quantised.has_zero_points();
        let in_blocks = quantised.sharing != Sharing::Tensor && piece.columns.start.is_multiple_of(wide);
        let zeros = if quantised.other_zero_points().is_some() { reader.zeros(piece)? } else { None };
        if let Some(zeros) = &zeros {
            let least = zeros.values.iter().copied().fold(f64::INFINITY, f64::min);
            marks.zeros = Some((least, zeros.values.iter().copied().fold(least, f64::max)));
        }
        let biased = zeros.is_some() && quantised.format.bits <= COARSE;
        if !(biased || rounded && in_blocks && piece.start(Sharing::Row.extents(of).1) < SEARCHED) {
            return Ok(marks);
        }
        let mut codes = reader.codes(piece, quantised.reading.packing)?;
        if rounded {
            let largest = largest_two(&quantised.code_values()).map_or(f64::INFINITY, |[_, largest]| largest);
            for (row, codes) in piece.rows.clone().zip(codes.chunks(piece.columns.len().max(1))) {
                let first = piece.columns.start / wide;
                for (column, block) in (first..).zip(codes.chunks(wide)) {
                    let peak = block.iter().map(|code| code.abs()).fold(0.0, f64::max);
                    if high > 1 && peak > 0.0 {
                        let rows = Sharing::Tensor.extents(of).0.max(1);
                        let band = row / rows * rows + row % rows / high;
                        *marks.tall_blocks.entry((band, column)).or_default() |= peak >= largest;
                    } else {
                        marks.blocks += u64::from(peak > 0.0);
                        marks.peaks += u64::from(peak >= largest);
                    }
                }
            }
        }
        if let Some(zeros) = zeros.filter(|_| biased) {
            reader.of_each(piece, &zeros, &mut codes, |code, zero| code - zero);
            marks.steps = codes.iter().sum();
            marks.stepped = codes.len() as u64;
        }
        Ok(marks)
    }

    /// True if values decide for the zero points of the layout; false if for those of its other version.
    pub(super) fn zero_points(&self, quantised: &Quantised) -> Option<bool> {
        let other = quantised.other_zero_points()?;
        // Symmetric codes have their zero in the middle.
        if self.scales >= FEWEST && (self.is_middle(quantised, 0.0) || self.is_middle(quantised, other)) {
            return Some(self.is_middle(quantised, 0.0));
        }
        if self.stepped < FEWEST {
            return None;
        }
        let mean = self.steps / self.stepped as f64;
        match (mean.abs(), (mean - other).abs()) {
            (mean, other) if mean <= UNBIASED && other >= BIASED => Some(true),
            (mean, other) if mean >= BIASED && other <= UNBIASED => Some(false),
            _ => None,
        }
    }

    /// True if all zero points and this number are the middle of the codes.
    fn is_middle(&self, quantised: &Quantised, more: f64) -> bool {
        let middle = 2f64.powi(quantised.format.bits as i32 - 1);
        self.zeros.is_some_and(|(least, most)| least + more == middle && most + more == middle)
    }

    /// Doubts that the counts prove; `largest` is the largest value.
    pub(super) fn doubts(&self, quantised: &Quantised, largest: Option<f64>) -> Vec<String> {
        let mut doubts = Vec::new();
        let blocks = self.blocks + self.tall_blocks.len() as u64;
        let peaks = self.peaks + self.tall_blocks.values().filter(|peaks| **peaks).count() as u64;
        if self.scales >= FEWEST
            && self.powers == self.scales
            && blocks >= FEWEST
            && peaks as f64 >= FULL * blocks as f64
            && is_seldom_largest(&quantised.code_values())
        {
            doubts.push(format!(
                "values contradict the scales: all are powers of two, and {peaks} of {blocks} blocks hold the largest code: \
                 scales were rounded after quantising, or they cut values off"
            ));
        }
        if self.scales > 0 && self.largest_scale == 0.0 && largest == Some(0.0) {
            doubts.push("all scales are 0, and so are all values".into());
        }
        if self.has_small_scales(quantised) {
            doubts.push(format!(
                "values contradict the scales: the largest of the blocks is {}, and the scale of a tensor is chosen to make it near 448: \
                 scales of blocks may be reciprocals",
                three_digits(self.largest_scale)
            ));
        }
        if self.has_exponents(quantised, largest)
            && let Some(largest) = largest
        {
            let right = largest / self.largest_scale * 2f64.powf(self.largest_scale - 127.0);
            doubts.push(format!(
                "values contradict the scales: all are whole numbers, as exponents of e8m0 are: as powers of two, the largest value is {} and not {}",
                three_digits(right),
                three_digits(largest)
            ));
        }
        if let (Some(false), Some(other)) = (self.zero_points(quantised), quantised.other_zero_points()) {
            let mean = self.steps / self.stepped as f64;
            let what = match self.is_middle(quantised, other) {
                true => "all are one from the middle of the codes, and in the middle".to_string(),
                false => {
                    let (by_this, by_other) = (three_digits(mean.abs()), three_digits((mean - other).abs()));
                    format!("the mean is {by_this} steps from 0, and {by_other}")
                }
            };
            let stored = if other > 0.0 { "less 1" } else { "as they are" };
            doubts.push(format!("values contradict the zero points: {what} by zero points that are stored {stored}"));
        }
        doubts
    }

    /// True if scales are numbers that the exponents of e8m0 are.
    ///
    /// A single scale is one only if the largest value is not what weights have.
    pub(super) fn has_exponents(&self, quantised: &Quantised, largest: Option<f64>) -> bool {
        let few = self.scales < 2 && largest.is_none_or(|largest| WEIGHTS.contains(&largest));
        let all = self.scales > 0 && self.exponents == self.scales;
        !few && all && quantised.scale_format.name != "e8m0" && !quantised.has_zero_points()
    }

    /// True if the scales of blocks are smaller than a scale of the tensor leaves them.
    pub(super) fn has_small_scales(&self, quantised: &Quantised) -> bool {
        let of_tensor = !quantised.global.is_empty() && quantised.global.iter().all(|scale| *scale != 1.0);
        let small = (f64::MIN_POSITIVE..LEAST_LARGEST).contains(&self.largest_scale);
        of_tensor && small && self.scales >= FEWEST && quantised.scale_format.name == "e4m3"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::find;

    /// Counterexample: all right blocks of an MXFP4 file held a 6.
    #[test]
    fn the_largest_code_is_seldom_where_the_grid_is_fine() {
        for (name, seldom) in [
            ("e2m1", false),
            ("e2m3", true),
            ("e3m2", true),
            ("e4m3", true),
            ("e5m2", true),
            ("s4", true),
            ("s8", true),
        ] {
            let format = find(name).unwrap();
            let values: Vec<f64> = (0..=format.code_mask()).map(|code| format.to_f64(code)).collect();
            assert_eq!(is_seldom_largest(&values), seldom, "{name}");
        }
    }
}
