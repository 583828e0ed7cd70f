//! Vectorised choice of the scale of a block among several.
//!
//! Errors in f32 leave few scales; errors in f64, as the exact computation has them, decide.

use super::{
    BlockFormat, Quantizer,
    changes::{Changes, MAGIC, MOST},
    choice::{SIXTEENTHS, quotients},
    rule::{Choice, Loss, NEAREST, SECOND},
    runs::{Reach, SearchedBlock, SignedCodes, norm_of, try_runs},
    scales::{DividedScale, ScaleCodes},
    steps::number,
};
use crate::{
    base::vectors::vectorised,
    format::Encoding,
    number::{Finite, Rounding},
};

/// Scales that are tried at once.
pub(super) const LANES: usize = 16;
/// Codes below the code of `nearest` in the first try. A better scale is seldom lower.
const BELOW: u32 = 4;
/// Error of an element in f32, at most, over the largest magnitude of its block.
const ERROR: f32 = 1e-6;
const EXPONENT: u32 = 0xff << 23;
/// Largest element up to which a block has few changes.
const MANY: f32 = 16.0;
/// Factor on the lowest scale beyond which bounds exclude most scales of elements of many changes.
const HIGHER: f32 = 1.5;
/// Scales that are tried at once in f64.
const WIDE_LANES: usize = 8;
const WIDE_EXPONENT: u64 = 0x7ff << 52;

/// Search for the scale of each block.
#[derive(Debug)]
pub(super) struct Search {
    grid: Grid,
    loss: Loss,
    /// Value of each scale code that is not negative, times the factor of all elements.
    ///
    /// Listed for scales of at most 8 bits, and where every code is tried.
    factors: Vec<f64>,
    /// Codes that are all tried, with both signs.
    signed: Option<SignedCodes>,
    /// Candidates where a scale has more than 8 bits.
    candidates: Option<Candidates>,
    /// Scale codes of `nearest`, and for two candidates of the second.
    nearest: ScaleCodes,
    second: Option<ScaleCodes>,
}

/// Magnitudes of an element format: multiples of a power of two that grows with the exponent.
#[derive(Debug, Clone, Copy)]
struct Grid {
    /// Smallest normal magnitude. Smaller magnitudes have the multiples of its binade.
    normal: f32,
    /// `2^23` multiples over the binade, as a difference of exponent bits.
    shift: u32,
    /// Largest magnitudes of positive and of negative numbers.
    largest: [f32; 2],
    smallest: f32,
    are_integers: bool,
}

impl Grid {
    fn new(quantizer: &Quantizer) -> Option<Grid> {
        let format = quantizer.format.element.format;
        let (normal, trailing) = match format.encoding {
            // Without trailing bits, the exponent decides ties.
            Encoding::Float(float) if float.trailing_bits == 0 => return None,
            Encoding::Float(float) => ((float.emin() as f32).exp2(), float.trailing_bits),
            Encoding::Integer { .. } => ((format.bits as f32).exp2(), format.bits),
            #[allow(unreachable_patterns)]
            _ => return None,
        };
        let magnitude = |code: u64| format.to_f64(code).abs() as f32;
        let (positive, negative) = (magnitude(format.largest(false)), magnitude(format.largest(true)));
        // Every magnitude is one of the multiples: formats without subnormals and lone codes have others.
        let smallest = normal * (-(trailing as f32)).exp2();
        let regular = quantizer.format.element.smallest().to_f64() == f64::from(smallest) * scale_of(quantizer);
        let element = &quantizer.format.element;
        let largest = if element.symmetric { [positive; 2] } else { [positive, negative] };
        let both = largest[0] == largest[1] || element.is_lopsided();
        (regular && both && format.zero(false).is_some()).then_some(Grid {
            normal,
            shift: (23 - trailing) << 23,
            largest,
            smallest,
            are_integers: format.is_integer(),
        })
    }

    /// Largest magnitude of either sign.
    fn most(&self) -> f32 {
        self.largest[0].max(self.largest[1])
    }

    /// Largest magnitudes of elements of positive and of negative values, under a scale of this sign.
    fn limits(&self, negative: bool) -> [f32; 2] {
        let [positive, other] = self.largest;
        if negative { [other, positive] } else { self.largest }
    }
}

/// Power of two that multiplies all elements.
fn scale_of(quantizer: &Quantizer) -> f64 {
    f64::from(quantizer.format.element.exponent).exp2()
}

impl Search {
    /// Search by the rule of a quantizer; `None` where only the exact computation finds scales.
    pub(super) fn new(quantizer: &Quantizer, tensor_scale: &Finite) -> Option<Search> {
        let BlockFormat { scale, .. } = quantizer.format;
        let wide_twice = scale.bits > 8 && quantizer.format.tensor_scale.is_some();
        if quantizer.rounding != Rounding::Rne || wide_twice {
            return None;
        }
        let (loss, second) = match quantizer.rule.choice {
            Choice::Least(loss) => (loss, None),
            Choice::TwoTops(_) => (Loss::Squares, Some(ScaleCodes::new(quantizer, &SECOND, tensor_scale))),
            _ => return None,
        };
        let factor = |code: u64| scale.to_f64(code) * tensor_scale.to_f64() * scale_of(quantizer);
        let signed = quantizer.searched_codes().filter(|_| second.is_none());
        let listed = if scale.bits <= 8 || signed.is_some() { scale.largest(false) + 1 } else { 0 };
        Some(Search {
            grid: Grid::new(quantizer)?,
            loss,
            factors: (0..listed).map(factor).collect(),
            signed,
            candidates: if scale.bits > 8 { Candidates::new(quantizer) } else { None },
            nearest: ScaleCodes::new(quantizer, &NEAREST, tensor_scale),
            second,
        })
    }

    /// Scale code of a block of finite values, the largest of which has the bits `amax`.
    pub(super) fn code(
        &self,
        quantizer: &Quantizer,
        tensor_scale: &Finite,
        values: &[f32],
        amax: u32,
        scratch: &mut SearchScratch,
    ) -> u32 {
        if let Some(codes) = self.signed {
            let largest = self.factors[codes.count as usize - 1];
            let elements = self.grid.largest.map(f64::from);
            match Reach::of(self.loss, f32::from_bits(amax).into(), values.len(), largest, elements) {
                Reach::LargestScales => return self.first_of_least(quantizer, values, &codes.largest()),
                Reach::Limited(most) if f32::from_bits(amax) > most as f32 => {
                    let most = most as f32;
                    let values: Vec<f32> = values.iter().map(|value| value.clamp(-most, most)).collect();
                    return self.code(quantizer, tensor_scale, &values, most.to_bits(), scratch);
                }
                Reach::Limited(_) | Reach::Whole => {}
            }
        }
        // The exponent of a number of f32 in f64, which holds it as a normal one; that of zero is of no effect.
        let exponent = (f64::from(f32::from_bits(amax)).to_bits() >> 52).max(1);
        let block = &mut Block { unit: f64::from_bits((2046 - exponent).max(1) << 52), values, scratch };
        let SearchScratch { values: numbers, codes, losses, least, .. } = &mut *block.scratch;
        numbers.resize(values.len(), 0.0);
        scale_values(values, block.unit, numbers);
        codes.clear();
        losses.clear();
        *least = f32::INFINITY;
        match &self.second {
            Some(second) => {
                let codes = [self.nearest.code(quantizer, amax), second.code(quantizer, amax)];
                self.try_scales(quantizer, &codes, f32::INFINITY, block);
            }
            None if self.signed.is_some() => self.try_searched(quantizer, amax, block),
            None if self.factors.is_empty() => {
                let codes = match &self.candidates {
                    Some(candidates) => candidates.codes(amax),
                    None => quantizer.candidates(&number(amax), tensor_scale),
                };
                self.try_outward(quantizer, &codes, self.nearest.code(quantizer, amax), block);
            }
            None => self.try_all(quantizer, amax, block),
        }
        let SearchScratch { codes, losses, least, left, .. } = &mut *block.scratch;
        let most = self.indistinct(*least, values.len());
        left.clear();
        for (code, loss) in codes.iter().zip(losses.iter()) {
            if *loss <= most {
                left.push(*code);
            }
        }
        // The order of two candidates decides ties; else the smallest does.
        if self.second.is_none() {
            left.sort_unstable();
            left.dedup();
        }
        match left[..] {
            [code] => code,
            _ => self.first_of_least(quantizer, values, left),
        }
    }

    /// The first of some scale codes with the least loss, in f64: each error, summed in order.
    fn first_of_least(&self, quantizer: &Quantizer, values: &[f32], codes: &[u32]) -> u32 {
        let mut best = (f64::INFINITY, codes[0]);
        for codes in codes.chunks(WIDE_LANES) {
            let mut scales = [f64::INFINITY; WIDE_LANES];
            for (lane, code) in codes.iter().enumerate() {
                let factor = self.factor(quantizer, *code);
                // Under a scale of zero, as under a huge one, elements are zeros.
                scales[lane] = if factor == 0.0 { f64::INFINITY } else { factor };
            }
            let mut losses = [0.0; WIDE_LANES];
            let (grid, squares) = (self.grid, self.loss == Loss::Squares);
            exact_losses_of_scales(values, grid, &scales, &self.limits(codes.iter().copied()), squares, &mut losses);
            for (code, loss) in codes.iter().zip(losses) {
                if loss < best.0 {
                    best = (loss, *code);
                }
            }
        }
        best.1
    }

    /// Largest loss in f32 of a scale that may be as good as one with the loss `least`.
    fn indistinct(&self, least: f32, count: usize) -> f32 {
        let relative = 1.0 + (count as f32 + 8.0) * f32::EPSILON;
        match self.loss {
            Loss::Squares => (least.sqrt() * relative + 2.0 * (count as f32).sqrt() * ERROR).powi(2),
            Loss::Magnitudes => least * relative + 2.0 * count as f32 * ERROR,
        }
    }

    /// Adds the losses of scales; sums end where all are above `limit`.
    fn try_scales(&self, quantizer: &Quantizer, codes: &[u32], limit: f32, block: &mut Block) {
        for codes in codes.chunks(LANES) {
            let mut scales = [f32::MAX; LANES];
            for (scale, code) in scales.iter_mut().zip(codes) {
                *scale = within(self.factor(quantizer, *code) * block.unit);
            }
            self.add_losses(codes.iter().copied(), &scales, limit, block);
        }
    }

    /// Largest magnitudes of elements of positive and of negative values, under the scales with some codes.
    fn limits(&self, codes: impl Iterator<Item = u32>) -> [[f32; LANES]; 2] {
        let mut limits = self.grid.limits(false).map(|limit| [limit; LANES]);
        let Some(signed) = self.signed.filter(|signed| signed.sign != 0) else { return limits };
        for (lane, _) in codes.enumerate().filter(|(_, code)| signed.magnitude(*code) != *code) {
            [limits[0][lane], limits[1][lane]] = self.grid.limits(true);
        }
        limits
    }

    /// Adds the losses of all codes of either sign that can be the best.
    fn try_searched(&self, quantizer: &Quantizer, amax: u32, block: &mut Block) {
        let Some(codes) = self.signed else { return };
        let count = block.values.len();
        let usual = self.nearest.code(quantizer, amax);
        self.try_scales(quantizer, &[usual, codes.negated(usual)], f32::INFINITY, block);
        let norm = |sum: f64| norm_of(self.loss, sum);
        let all = loss_of_zeros(&block.scratch.values, f32::INFINITY, self.loss == Loss::Squares);
        let amax = f64::from(f32::from_bits(amax)) * block.unit;
        let above = self.try_changes(quantizer, codes, all, amax as f32, block);
        if above == Some(f32::INFINITY) {
            return;
        }
        let searched = SearchedBlock {
            amax,
            above: above.map_or(0.0, f64::from),
            norm: norm(all.into()),
            elements: [self.grid.smallest.into(), self.grid.most().into()],
            // Twice what the losses in f32 of two scales that are as good may differ by.
            slack: 2.0 * (norm(self.indistinct(all, count).into()) - norm(all.into())),
        };
        let least = norm(block.scratch.least.into());
        let unit = block.unit;
        try_runs(
            codes,
            searched,
            least,
            |code| self.factors[code as usize] * unit,
            |codes, norms| {
                let before = block.scratch.losses.len();
                self.try_scales(quantizer, codes, f32::INFINITY, block);
                norms.extend(block.scratch.losses[before..].iter().map(|loss| norm((*loss).into())));
                norm(block.scratch.least.into())
            },
        );
    }

    /// Adds the losses of the codes that can be the best by [`Changes`].
    ///
    /// Returns the scale up to which these are all; `None` for a block that needs another search.
    fn try_changes(
        &self,
        quantizer: &Quantizer,
        codes: SignedCodes,
        all: f32,
        amax: f32,
        block: &mut Block,
    ) -> Option<f32> {
        let most = self.grid.most();
        let is_able = self.grid.are_integers && most <= MOST as f32 && self.loss == Loss::Squares;
        let scale = quantizer.format.scale.float().filter(|scale| is_able && scale.padding_bits == 0)?;
        let SearchScratch { values, least, changes, left, .. } = &mut *block.scratch;
        let (count, unit, first_normal) = (values.len(), block.unit, quantizer.format.scale.smallest_normal() as u32);
        let low = (amax - self.indistinct(*least, count).sqrt()) / most;
        let [normal, largest] = [first_normal, codes.count - 1].map(|code| self.factors[code as usize] * unit);
        // The search needs a best scale that leaves some element nonzero, and normal numbers for the scales next to it: those lie from
        // half of `low` up to `amax`.
        if *least > 0.5 * all || f64::from(low) < 2.0 * normal || f64::from(amax) > largest {
            return None;
        }
        // Large scales change many elements, and are seldom the best.
        let high = if most > MANY { HIGHER * low } else { f32::INFINITY };
        let mut bound = changes[0].find(values, [low, high], self.grid.limits(false));
        if codes.sign != 0 {
            // Signs differ where one of them saturates.
            let saturated = amax / (smaller(self.grid.largest[0], self.grid.largest[1]) + 0.25);
            bound = smaller(bound, changes[1].find(values, [low, saturated], self.grid.limits(true)));
        }
        bound = smaller(bound + all * (-2.0 * scale.precision() as f32).exp2(), *least);
        let apart = 32.0 * count as f32 * f32::EPSILON * smaller(high, 2.0 * amax);
        let limit = self.indistinct(self.indistinct(bound, count), count) + apart;
        // The codes of normal numbers are consecutive, as the upper bits of their f64 are.
        let shift = 53 - scale.precision();
        let below = |scale: f32| {
            let above_normal = (f64::from(scale) / normal).to_bits().saturating_sub(1f64.to_bits()) >> shift;
            codes.count.min(first_normal + 1 + above_normal as u32) - 1
        };
        left.clear();
        for (changes, sign) in changes.iter().zip([0, codes.sign]).take(if codes.sign == 0 { 1 } else { 2 }) {
            for code in changes.next_to(limit).map(below) {
                left.extend([code, (code + 1).min(codes.count - 1)].map(|code| code | sign));
            }
        }
        left.sort_unstable();
        left.dedup();
        let left = std::mem::take(left);
        self.try_scales(quantizer, &left, f32::INFINITY, block);
        block.scratch.left = left;
        Some(high)
    }

    /// Adds the losses of ascending codes, from `middle` outward.
    ///
    /// The first ones end the sums of most others early.
    fn try_outward(&self, quantizer: &Quantizer, codes: &[u32], middle: u32, block: &mut Block) {
        let at = codes.partition_point(|code| *code < middle);
        let low = at.saturating_sub(LANES / 2).min(codes.len().saturating_sub(LANES));
        let high = (low + LANES).min(codes.len());
        self.try_scales(quantizer, &codes[low..high], f32::INFINITY, block);
        for codes in [&codes[..low], &codes[high..]] {
            let limit = self.indistinct(block.scratch.least, block.values.len());
            self.try_scales(quantizer, codes, limit, block);
        }
    }

    /// Adds the losses of consecutive codes, at most as many as lanes.
    fn try_range(&self, codes: std::ops::Range<u32>, limit: f32, block: &mut Block) {
        let mut scales = [f32::MAX; LANES];
        let factors = &self.factors[codes.start as usize..codes.end as usize];
        for (scale, factor) in scales.iter_mut().zip(factors) {
            *scale = within(factor * block.unit);
        }
        self.add_losses(codes, &scales, limit, block);
    }

    fn add_losses(
        &self,
        codes: impl Iterator<Item = u32> + Clone,
        scales: &[f32; LANES],
        limit: f32,
        block: &mut Block,
    ) {
        let mut new_losses = [0.0; LANES];
        let SearchScratch { values, codes: all, losses, least, .. } = &mut *block.scratch;
        let (grid, squares) = (self.grid, self.loss == Loss::Squares);
        let limits = self.limits(codes.clone());
        let new_least = losses_of_scales(values, grid, scales, &limits, squares, limit, &mut new_losses);
        let before = all.len();
        all.extend(codes);
        losses.extend_from_slice(&new_losses[..all.len() - before]);
        *least = least.min(new_least);
    }

    /// Magnitude of a scale, times the factor of all elements.
    fn factor(&self, quantizer: &Quantizer, code: u32) -> f64 {
        let magnitude = self.signed.map_or(code, |codes| codes.magnitude(code));
        match self.factors.get(magnitude as usize) {
            Some(factor) => *factor,
            None => quantizer.format.scale.to_f64(code.into()) * scale_of(quantizer),
        }
    }

    /// Adds the losses of all scales that can be the best.
    fn try_all(&self, quantizer: &Quantizer, amax: u32, block: &mut Block) {
        let end = self.factors.len() as u32;
        let mut low = self.nearest.code(quantizer, amax).saturating_sub(BELOW);
        let mut high = (low + LANES as u32).min(end);
        self.try_range(low..high, f32::INFINITY, block);
        let (count, largest) = (block.values.len(), (f64::from(f32::from_bits(amax)) * block.unit) as f32);
        let lost = |error: f32| if self.loss == Loss::Squares { error * error } else { error };
        // Lower scales saturate the largest value more and more.
        while low > 0 {
            let limit = self.indistinct(block.scratch.least, count);
            let scale = within(self.factors[low as usize - 1] * block.unit);
            if lost((largest - scale * self.grid.most()).max(0.0) * (1.0 - ERROR)) > limit {
                break;
            }
            let next = low.saturating_sub(LANES as u32);
            self.try_range(next..low, limit, block);
            low = next;
        }
        // Higher scales make more and more values zero.
        while high < end {
            let limit = self.indistinct(block.scratch.least, count);
            let scale = within(self.factors[high as usize] * block.unit);
            let edge = scale * self.grid.smallest / 2.0 * (1.0 - ERROR);
            let zeros = loss_of_zeros(&block.scratch.values, edge, self.loss == Loss::Squares);
            if zeros * (1.0 - ERROR * count as f32) > limit {
                break;
            }
            let next = (high + LANES as u32).min(end);
            self.try_range(high..next, limit, block);
            high = next;
        }
    }
}

/// Candidate scales of more than 8 bits, as `Quantizer::candidates` lists them.
#[derive(Debug)]
struct Candidates {
    nearest: DividedScale,
    by_rules: Vec<DividedScale>,
}

impl Candidates {
    /// `None` where only the exact computation finds the scales.
    fn new(quantizer: &Quantizer) -> Option<Candidates> {
        let by_rules: Option<Vec<DividedScale>> =
            quotients().map(|quotient| DividedScale::new(quantizer, &quotient)).collect();
        Some(Candidates { nearest: DividedScale::new(quantizer, &NEAREST)?, by_rules: by_rules? })
    }

    /// Codes for a block whose largest magnitude has the bits `amax`, in ascending order.
    fn codes(&self, amax: u32) -> Vec<u32> {
        let amax = f64::from(f32::from_bits(amax));
        let sixteenths = SIXTEENTHS.map(|sixteenths| self.nearest.code(amax * f64::from(sixteenths) / 16.0));
        let mut codes: Vec<u32> = sixteenths.chain(self.by_rules.iter().map(|rule| rule.code(amax))).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}

/// Memory of a search.
#[derive(Debug, Default)]
pub(super) struct SearchScratch {
    /// Values of the block, the largest magnitude in [1, 2).
    pub(super) values: Vec<f32>,
    /// Scale codes that were tried.
    codes: Vec<u32>,
    /// Their losses.
    losses: Vec<f32>,
    /// Least loss.
    least: f32,
    /// Codes that may be the best.
    left: Vec<u32>,
    /// Scales at which an element of integers changes, for either sign of the scale.
    changes: [Changes; 2],
    /// Reciprocal of each block's scale, under the rule that computes elements with it.
    pub(super) reciprocals: Vec<f32>,
}

struct Block<'a> {
    values: &'a [f32],
    /// Power of two that brings the largest magnitude to [1, 2).
    unit: f64,
    scratch: &'a mut SearchScratch,
}

/// Scale as f32, within the range that the search can divide by.
///
/// Under a scale of zero, as under a huge one, elements are zeros.
fn within(scale: f64) -> f32 {
    if scale == 0.0 { 1e30 } else { scale.clamp(1e-30, 1e30) as f32 }
}

/// The larger of two numbers, in one instruction: `max` takes four, as it asks for NaN.
#[inline(always)]
pub(super) fn larger<T: PartialOrd>(x: T, y: T) -> T {
    if x > y { x } else { y }
}

/// The smaller of two numbers, in one instruction.
#[inline(always)]
pub(super) fn smaller<T: PartialOrd>(x: T, y: T) -> T {
    if x < y { x } else { y }
}

/// The least of the lanes, by halves: one after the other they would wait for each other.
#[inline(always)]
pub(super) fn least_of(lanes: &[f32; LANES]) -> f32 {
    let (mut least, mut half) = (*lanes, LANES / 2);
    while half > 0 {
        for lane in 0..half {
            least[lane] = smaller(least[lane], least[lane + half]);
        }
        half /= 2;
    }
    least[0]
}

vectorised! {
    /// Losses of `values`, rounded to the grid under each of some scales.
    ///
    /// Sums end early where all are above `limit`.
    fn losses_of_scales(
        values: &[f32], grid: Grid, scales: &[f32; LANES], limits: &[[f32; LANES]; 2], squares: bool, limit: f32,
        losses: &mut [f32; LANES],
    ) -> f32 {
        let mut inverse = [0.0; LANES];
        for lane in 0..LANES {
            inverse[lane] = 1.0 / scales[lane];
        }
        let mut sums = [0.0f32; LANES];
        let mut least = 0.0;
        for values in values.chunks(8) {
            for value in values {
                let (limits, value) = (&limits[usize::from(value.is_sign_negative())], value.abs());
                for lane in 0..LANES {
                    let quotient = value * inverse[lane];
                    let rounded = if grid.are_integers {
                        smaller(quotient, limits[lane]) + MAGIC - MAGIC
                    } else {
                        let binade = larger(quotient, grid.normal).to_bits() & EXPONENT;
                        let magic = f32::from_bits(binade + grid.shift);
                        smaller((quotient + magic) - magic, limits[lane])
                    };
                    let error = value - rounded * scales[lane];
                    sums[lane] += if squares { error * error } else { error.abs() };
                }
            }
            least = least_of(&sums);
            if least > limit {
                break;
            }
        }
        *losses = sums;
        least
    }
}

vectorised! {
    /// Loss of the values whose magnitudes are below `edge`, if they become zero.
    fn loss_of_zeros(values: &[f32], edge: f32, squares: bool) -> f32 {
        let mut sums = [0.0f32; LANES];
        for values in values.chunks(LANES) {
            for (sum, value) in sums.iter_mut().zip(values) {
                let magnitude = if value.abs() < edge { value.abs() } else { 0.0 };
                *sum += if squares { magnitude * magnitude } else { magnitude };
            }
        }
        sums.iter().sum()
    }
}

vectorised! {
    /// `values` times a power of two.
    fn scale_values(values: &[f32], unit: f64, numbers: &mut [f32]) {
        let values = &values[..numbers.len()];
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = (f64::from(values[at]) * unit) as f32;
        }
    }
}

vectorised! {
    /// Losses of `values` under each of some scales, equal to those of the exact computation.
    ///
    /// Quotients in f64 are on the right side of every boundary, and products are exact.
    fn exact_losses_of_scales(
        values: &[f32], grid: Grid, scales: &[f64; WIDE_LANES], limits: &[[f32; LANES]; 2], squares: bool,
        losses: &mut [f64; WIDE_LANES],
    ) {
        let shift = u64::from(grid.shift) << 29;
        let mut sums = [0.0f64; WIDE_LANES];
        for value in values {
            let (limits, value) = (&limits[usize::from(value.is_sign_negative())], f64::from(value.abs()));
            for lane in 0..WIDE_LANES {
                let quotient = value / scales[lane];
                let binade = larger(quotient, f64::from(grid.normal)).to_bits() & WIDE_EXPONENT;
                // 2^52 multiples over the binade.
                let magic = f64::from_bits(binade + shift + (29 << 52));
                let rounded = smaller((quotient + magic) - magic, f64::from(limits[lane]));
                let product = if rounded == 0.0 { 0.0 } else { rounded * scales[lane] };
                let error = product - value;
                sums[lane] += if squares { error * error } else { error.abs() };
            }
        }
        *losses = sums;
    }
}
