//! Fused sums: aligned, cut, added in integers.

use std::hint::black_box;

use super::{
    decoder::Decoder,
    number::{NONE, Number, UNKNOWN, ZERO},
    terms::{Factors, Stored, Terms},
    word::{LANES, Lane, Word, each, over, piece},
};
use crate::{
    arithmetic::{Alignment, Lanes, Late},
    format::Rounding,
};

/// The alignment of a fused step with everything that its integers depend on.
#[derive(Debug, Clone)]
pub(super) struct Sum {
    pub(super) alignment: Option<Alignment>,
    pub(super) lanes: Option<Lanes>,
    pub(super) late: Option<Late>,
    /// Bits after the binary point of the terms.
    pub(super) fraction_bits: i32,
    /// Bits by which the terms are shifted left already.
    pub(super) lifted: i32,
    /// Bits of the largest term, as it comes.
    pub(super) term_bits: u32,
    /// The most terms in a group.
    pub(super) terms: usize,
}

/// A finite part of a sum: units of `2^(exponent - bits)`; the exponent is below [`NONE`] if all terms are zero.
#[derive(Clone, Copy)]
struct Part<S> {
    units: Lane<S>,
    exponent: Lane<i32>,
    bits: i32,
}

/// c as a term, in units of `2^(exponent - fraction bits)`.
#[derive(Clone, Copy)]
pub(super) struct Addend {
    pub(super) units: Lane<i64>,
    pub(super) exponent: Lane<i32>,
    pub(super) fraction_bits: i32,
}

impl Addend {
    /// The elements of a piece of numbers that were decoded from a format with these fraction bits.
    #[inline(always)]
    pub(super) fn new(number: &Number, at: usize, fraction_bits: i32) -> Addend {
        let magnitude = piece(&number.magnitude, at);
        let (negative, exponent) = (piece(&number.negative, at), piece(&number.exponent, at));
        Addend {
            units: each(|l| {
                let flip = negative[l] as i32 as i64;
                (magnitude[l] as i64 ^ flip) - flip
            }),
            // A zero's is as far below every other with these bits as without.
            exponent: over(&exponent, |e| e + fraction_bits),
            fraction_bits,
        }
    }

    #[inline(always)]
    fn part<S: Word>(&self) -> Part<S> {
        Part { units: over(&self.units, S::of), exponent: self.exponent, bits: self.fraction_bits }
    }
}

/// A sum before it is rounded: `units * 2^exponent`.
#[derive(Clone, Copy)]
pub(super) struct Exact {
    pub(super) units: Lane<i64>,
    pub(super) exponent: Lane<i32>,
    /// Whether it is left to the reference evaluator: [`UNKNOWN`] or 0.
    pub(super) unknown: Lane<u32>,
}

/// The widths that serve: of terms and of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    /// Terms and their sum in 32 bits, the rest in 64.
    Narrow,
    /// 64 bits.
    Middle,
    /// 128 bits.
    Wide,
}

impl Sum {
    /// The narrowest width for these addends; `None` if none is wide enough.
    pub(super) fn width(&self, addends: [&Decoder; 2]) -> Option<Width> {
        let widths = addends.map(|addend| self.width_for(addend.precision, addend.fraction_bits as i32));
        Some(widths[0]?.max(widths[1]?))
    }

    fn width_for(&self, c_precision: u32, c_fraction_bits: i32) -> Option<Width> {
        let count = |terms: usize| usize::BITS - terms.leading_zeros();
        let Some(alignment) = &self.alignment else { return Some(Width::Wide) };
        let bits = alignment.bits;
        let lift = |to: i32, from: i32| (to - from).max(0) as u32;
        let term = self.term_bits + lift(bits, self.fraction_bits + self.lifted);
        let mut sum = term + count(self.terms);
        let addend = |bits: i32| c_precision + 1 + lift(bits, c_fraction_bits);
        let mut held = bits;
        if let Some(lanes) = &self.lanes {
            sum += lift(lanes.bits, held) + count(lanes.period + 1);
            held = lanes.bits;
        }
        sum = match &self.late {
            None => sum.max(addend(held)) + 1,
            Some(late) => {
                let common = late.sum_bits.max(late.c_bits);
                let sum = sum + 1 + lift(late.sum_bits, held) + lift(common, late.sum_bits);
                sum.max(addend(late.c_bits) + lift(common, late.c_bits)) + 1
            }
        };
        let narrow = term + count(self.terms - 1) < 32 && term <= i32::CAPACITY;
        match sum {
            sum if sum <= i64::CAPACITY && narrow => Some(Width::Narrow),
            sum if sum <= i64::CAPACITY => Some(Width::Middle),
            sum if sum <= i128::CAPACITY => Some(Width::Wide),
            _ => None,
        }
    }

    /// The sum of products and c, before it is rounded.
    #[inline(always)]
    pub(super) fn of_factors(&self, width: Width, terms: &Factors, c: Addend) -> Exact {
        match (width, &self.alignment) {
            (_, None) => exact(self, terms, c),
            (Width::Narrow, Some(alignment)) => self.run::<i32, i64, _>(terms, c, alignment),
            (Width::Middle, Some(alignment)) => self.run::<i64, i64, _>(terms, c, alignment),
            (Width::Wide, Some(alignment)) => wide(self, terms, c, alignment),
        }
    }

    /// The sum of stored terms and c, before it is rounded.
    #[inline(always)]
    pub(super) fn of_stored(&self, width: Width, terms: &Stored, c: Addend) -> Exact {
        match (width, &self.alignment) {
            (_, None) => exact(self, &terms, c),
            (Width::Wide, Some(alignment)) => wide(self, &terms, c, alignment),
            (_, Some(alignment)) => self.run::<i64, i64, _>(&terms, c, alignment),
        }
    }

    #[inline(always)]
    fn run<P: Word, S: Word + From<P>, T: Terms<P>>(&self, terms: &T, c: Addend, alignment: &Alignment) -> Exact {
        let c: Part<S> = c.part();
        if self.lanes.is_none() && self.late.is_none() {
            let sum = match alignment.rounding {
                Rounding::Rz => self.aligned(terms, (0, 1), Some(&c), alignment, Rounding::Rz),
                rounding => self.aligned(terms, (0, 1), Some(&c), alignment, rounding),
            };
            return narrowed(&sum);
        }
        let sum = match &self.lanes {
            None => self.aligned(terms, (0, 1), None, alignment, alignment.rounding),
            Some(lanes) => {
                let early = self.late.is_none().then_some(&c);
                let mut largest = early.map_or([ZERO; LANES], |c| c.exponent);
                for first in 0..lanes.period {
                    let lane: Part<S> = self.aligned(terms, (first, lanes.period), None, alignment, alignment.rounding);
                    largest = each(|l| largest[l].max(lane.exponent[l]));
                }
                let mut units = early.map_or([S::default(); LANES], |c| cut(c, &largest, lanes.bits, lanes.rounding));
                for first in 0..lanes.period {
                    let lane = self.aligned(terms, (first, lanes.period), None, alignment, alignment.rounding);
                    let lane = cut(&lane, &largest, lanes.bits, lanes.rounding);
                    units = each(|l| units[l].plus(lane[l]));
                }
                Part { units, exponent: largest, bits: lanes.bits }
            }
        };
        match &self.late {
            None => narrowed(&sum),
            Some(late) => narrowed(&joined(&sum, &c, late)),
        }
    }

    /// The sum of the terms `first.0`, `first.0 + first.1`, ... and c, aligned to the largest of their exponents and cut.
    #[inline(always)]
    fn aligned<P: Word, S: Word + From<P>, T: Terms<P>>(
        &self,
        terms: &T,
        (first, step): (usize, usize),
        c: Option<&Part<S>>,
        alignment: &Alignment,
        rounding: Rounding,
    ) -> Part<S> {
        let terms = &terms.trimmed();
        let count = terms.len();
        // A step that the compiler does not know: it is to make vectors of lanes, not of terms.
        let step = black_box(step);
        let mut largest = c.map_or([ZERO; LANES], |c| c.exponent);
        let mut term = first;
        while term < count {
            let exponent = terms.exponent(term);
            largest = each(|l| largest[l].max(exponent[l]));
            term += step;
        }
        if let Some(floor) = alignment.floor {
            // Without any term the sum is zero, whatever its exponent, unless that counts in a second alignment.
            let alone = c.is_some();
            largest = over(&largest, |e| if alone || e > NONE { e.max(floor) } else { e });
        }
        let excess = self.fraction_bits + self.lifted - alignment.bits;
        let (left, right) = (if P::LIFTED { 0 } else { (-excess).max(0) as u32 }, excess.max(0));
        let mut products = [P::default(); LANES];
        let mut term = first;
        while term < count {
            let (exponent, value) = (terms.exponent(term), terms.value(term));
            let units: Lane<P> = each(|l| {
                let shift = largest[l].wrapping_sub(exponent[l]).wrapping_add(right);
                value[l].lifted(left).cut(shift, rounding)
            });
            products = each(|l| products[l].plus(units[l]));
            term += step;
        }
        let mut units = over(&products, S::from);
        if let Some(c) = c {
            let cut = cut(c, &largest, alignment.bits, rounding);
            units = each(|l| units[l].plus(cut[l]));
        }
        Part { units, exponent: largest, bits: alignment.bits }
    }

    /// The exact sum; unknown where its terms lie too far apart.
    #[inline(always)]
    fn exact<T: Terms<i128>>(&self, terms: &T, c: Addend) -> Exact {
        let fraction_bits = self.fraction_bits + self.lifted;
        let c: Part<i128> = c.part();
        let low = |exponent: i32, bits: i32| if exponent > NONE { exponent - bits } else { i32::MAX };
        let mut lowest: Lane<i32> = each(|l| low(c.exponent[l], c.bits));
        let mut highest: Lane<i32> = each(|l| c.exponent[l].saturating_add(c.units[l].length() - c.bits));
        for term in 0..terms.len() {
            let exponent = terms.exponent(term);
            for l in 0..LANES {
                lowest[l] = lowest[l].min(low(exponent[l], fraction_bits));
                highest[l] = highest[l].max(exponent[l] - fraction_bits + self.term_bits as i32);
            }
        }
        let room = i128::CAPACITY as i32 - (usize::BITS - self.terms.leading_zeros()) as i32 - 1;
        let mut sum = c.units;
        for l in 0..LANES {
            sum[l] = sum[l].lifted((c.exponent[l] - c.bits).saturating_sub(lowest[l]).clamp(0, 127) as u32);
        }
        for term in 0..terms.len() {
            let (exponent, value) = (terms.exponent(term), terms.value(term));
            for l in 0..LANES {
                let left = (exponent[l] - fraction_bits).saturating_sub(lowest[l]).clamp(0, 127);
                sum[l] = sum[l].plus(value[l].lifted(left as u32));
            }
        }
        let exponent = over(&lowest, |e| if e == i32::MAX { ZERO } else { e });
        let mut sum = narrowed(&Part { units: sum, exponent, bits: 0 });
        for l in 0..LANES {
            sum.unknown[l] = if lowest[l] != i32::MAX && highest[l] - lowest[l] > room { UNKNOWN } else { 0 };
        }
        sum
    }
}

/// Sums of 128 bits, for which there are no vector instructions: compiled once.
#[inline(never)]
fn wide<T: Terms<i128>>(sum: &Sum, terms: &T, c: Addend, alignment: &Alignment) -> Exact {
    sum.run::<i128, i128, _>(terms, c, alignment)
}

/// Exact sums, the same.
#[inline(never)]
fn exact<T: Terms<i128>>(sum: &Sum, terms: &T, c: Addend) -> Exact {
    sum.exact(terms, c)
}

/// A part in units of `2^(largest - bits)`, cut.
#[inline(always)]
fn cut<S: Word>(part: &Part<S>, largest: &Lane<i32>, bits: i32, rounding: Rounding) -> Lane<S> {
    let excess = part.bits - bits;
    let (left, right) = ((-excess).max(0) as u32, excess.max(0));
    each(|l| {
        let shift = largest[l].wrapping_sub(part.exponent[l]).wrapping_add(right);
        part.units[l].lifted(left).cut(shift, rounding)
    })
}

/// The sum of the products and a late c, each cut to its own width below the larger exponent.
#[inline(always)]
fn joined<S: Word>(sum: &Part<S>, c: &Part<S>, late: &Late) -> Part<S> {
    let largest = |l: usize| sum.exponent[l].max(c.exponent[l]);
    // Without any term there is nothing to align.
    let floor = |e: i32| if e > NONE { e.max(late.floor.unwrap_or(e)) } else { e };
    let exponent: Lane<i32> = each(|l| floor(largest(l)));
    let bits = late.sum_bits.max(late.c_bits);
    let sum = cut(sum, &exponent, late.sum_bits, late.rounding);
    let kept = cut(c, &exponent, late.c_bits, late.rounding);
    let units = each(|l| {
        let dropped = late.drop.is_some_and(|drop| c.exponent[l] < exponent[l].saturating_sub(drop));
        let c = if dropped { S::default() } else { kept[l] };
        sum[l].lifted((bits - late.sum_bits) as u32).plus(c.lifted((bits - late.c_bits) as u32))
    });
    Part { units, exponent, bits }
}

#[inline(always)]
fn narrowed<S: Word>(part: &Part<S>) -> Exact {
    let units = over(&part.units, S::narrowed);
    Exact {
        units: over(&units, |(units, _)| units),
        exponent: each(|l| part.exponent[l] - part.bits + units[l].1),
        unknown: [0; LANES],
    }
}
