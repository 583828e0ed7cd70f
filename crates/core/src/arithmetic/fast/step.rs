//! Sums of terms, many elements at a time.

use super::{
    fused::{AddendValue, FusedSum, Width},
    number::{Number, TRUE, UNKNOWN, ZERO},
    pieces::Pieces,
    scale::Scales,
    stage::Stage,
    terms::{FusedTerms, GroupFactors, Stored},
    word::{LANES, Lane, PIECES, PieceLanes, SignedWord, TURNS, Turn, array, each, over, piece, set_piece},
};
use crate::{base::vectors::vectorised, format::Rounding};

/// Sum, and the making of its terms.
#[derive(Debug, Clone)]
pub(super) struct SumStep {
    pub(super) sum: FusedSum,
    pub(super) width: Width,
    /// Places of its factors in the order of the kernel.
    pub(super) group: (usize, usize),
    /// Fraction bits of exact products.
    pub(super) fraction_bits: i32,
    /// Low bits of each product that the multiplier drops.
    pub(super) dropped: i32,
    /// True if zeros have exponents that count.
    pub(super) zeros: bool,
    /// Rounding of each product.
    pub(super) product: Option<Stage>,
    /// Fraction bits of terms before normalisation, if they are normalised.
    pub(super) normalised: Option<i32>,
    /// Exponent from which on products may be infinite.
    pub(super) limit: Option<i32>,
    /// Products summed exactly before they are scaled.
    pub(super) runs: Option<Scales>,
    /// The signs of zero sums.
    pub(super) zero_rule: ZeroRule,
    /// Rounding of the sum.
    pub(super) rounding: Rounding,
}

/// The signs of zero sums, before they are rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ZeroRule {
    /// One sign for all.
    Fixed,
    /// The sign that all terms have if all are zeros, else the one of the rounding (IEEE 754).
    Ieee,
    /// Minus if all terms are negative, zero or not.
    Common,
}

impl SumStep {
    /// True if the terms are the products.
    pub(super) fn is_simple(&self) -> bool {
        self.dropped == 0 && self.product.is_none() && self.normalised.is_none() && self.runs.is_none()
    }

    /// Computes the terms; returns the special marks of their sum caused by rounding or scales.
    #[inline(always)]
    fn store(&self, factors: &GroupFactors, pieces: &Pieces, at: usize, stored: &mut Stored) -> Lane<u32> {
        stored.values.clear();
        stored.exponents.clear();
        stored.negative.clear();
        let count = factors.a.significands.len();
        if let (Some(runs), Some(scales)) = (&self.runs, pieces.scales(at)) {
            for first in (0..count).step_by(runs.run) {
                let run = factors.part(first, first + runs.run);
                // Exact sums of zero are positive.
                let (values, exponents) = scaled_sum(runs, &run, &scales, first);
                self.push(stored, values, exponents, over(&values, |value| (value >> 63) as u32));
            }
            // A sum with an infinity may be scaled by zero.
            let special = if pieces.special {
                over(&scales.specials(), |s| if s != 0 { UNKNOWN } else { 0 })
            } else {
                [0; LANES]
            };
            let marks = if pieces.special { factors.specials() } else { [0; LANES] };
            return each(|l| if special[l] | marks[l] != 0 { UNKNOWN } else { 0 });
        }
        let Some(stage) = &self.product else {
            for term in 0..count {
                let (values, mut exponents) = (kept(&factors.value(term), self.dropped), factors.exponent_sum(term));
                if self.dropped > 0 && !self.zeros {
                    exponents = each(|l| if values[l] == 0 { ZERO } else { exponents[l] });
                }
                self.push(stored, values, exponents, factors.sign(term));
            }
            return [0; LANES];
        };
        let mut special = [0; LANES];
        for first in (0..count).step_by(PIECES) {
            let terms = PIECES.min(count - first);
            let mut exact = Number::ZERO;
            for at in 0..terms {
                let value = kept(&factors.value(first + at), self.dropped);
                set_piece(&mut exact.magnitude, at, &over(&value, i64::unsigned_abs));
                set_piece(&mut exact.negative, at, &factors.sign(first + at));
                if pieces.special {
                    set_piece(&mut exact.special, at, &factors.special(first + at));
                }
                let quantum = over(&factors.exponent_sum(first + at), |e| e - self.fraction_bits);
                set_piece(&mut exact.exponent, at, &quantum);
            }
            let mut rounded = Number::ZERO;
            stage.hold(&exact, &mut rounded);
            for at in 0..terms {
                let term = AddendValue::new(&rounded, at, stage.extent.fraction_bits);
                let marks = piece(&rounded.special, at);
                special = each(|l| special[l] | marks[l]);
                self.push(stored, term.units, term.exponent, piece(&rounded.negative, at));
            }
        }
        special
    }

    /// Stores a term, normalised if terms are.
    #[inline(always)]
    fn push(&self, stored: &mut Stored, mut values: Lane<i64>, mut exponents: Lane<i32>, negative: Lane<u32>) {
        if let Some(fraction_bits) = self.normalised {
            let width = self.sum.fraction_bits + 1;
            for l in 0..LANES {
                let length = 64 - (values[l].unsigned_abs() | 1).leading_zeros() as i32;
                exponents[l] = if values[l] == 0 { ZERO } else { exponents[l] + length - 1 - fraction_bits };
                values[l] <<= (width - length).clamp(0, 63);
            }
        }
        stored.values.push(values);
        stored.exponents.push(exponents);
        stored.negative.push(negative);
    }

    /// Signs of zero sums, as masks; of stored terms, if there are any. Rare: compiled once.
    #[inline(never)]
    fn zero_signs(&self, factors: &GroupFactors, addends: &[&Number], at: usize, stored: Option<&Stored>) -> Lane<u32> {
        let mut zeros = ZeroSigns::new(self);
        for addend in addends {
            zeros.add(&over(&piece(&addend.magnitude, at), |units| units == 0), &piece(&addend.negative, at));
        }
        if let Some(stored) = stored {
            for (values, negative) in stored.values.iter().zip(&stored.negative) {
                zeros.add(&over(values, |value| value == 0), negative);
            }
        } else {
            for term in 0..factors.a.significands.len() {
                let value: Lane<i64> = factors.value(term);
                zeros.add(&over(&value, |value| value == 0), &factors.sign(term));
            }
        }
        zeros.signs()
    }
}

vectorised! {
    /// Unrounded sums of a group and its addends; arbitrary for missing pieces.
    pub(super) fn sums(step: &SumStep, pieces: &Pieces<'_>, addends: &[&Number], stored: &mut Stored, number: &mut Number) {
        let mut many: Vec<AddendValue> = Vec::new();
        for at in 0..pieces.count {
            let factors = pieces.factors(at);
            // One addend, the case of hardware, needs no allocation.
            let one: [AddendValue; 1];
            let values = match (addends, &step.sum.addends[..]) {
                ([addend], [fused]) => {
                    one = [fused.value(addend, at)];
                    &one[..]
                }
                _ => {
                    many.clear();
                    for (addend, fused) in addends.iter().zip(&step.sum.addends) {
                        many.push(fused.value(addend, at));
                    }
                    &many[..]
                }
            };
            let mut special = [0; LANES];
            let sum = if step.is_simple() {
                step.sum.of_factors(step.width, &factors, values)
            } else {
                special = step.store(&factors, pieces, at, stored);
                step.sum.of_stored(step.width, stored, values)
            };
            let mut negative = over(&sum.units, |units| (units >> 63) as u32);
            if step.zero_rule != ZeroRule::Fixed && sum.units.contains(&0) {
                let signs = step.zero_signs(&factors, addends, at, (!step.is_simple()).then_some(&*stored));
                negative = each(|l| if sum.units[l] == 0 { signs[l] } else { negative[l] });
            }
            set_piece(&mut number.magnitude, at, &over(&sum.units, i64::unsigned_abs));
            set_piece(&mut number.negative, at, &negative);
            set_piece(&mut number.exponent, at, &sum.exponent);
            set_piece(&mut number.special, at, &each(|l| special[l] | sum.unknown[l]));
        }
        for addend in addends {
            number.add_special(&addend.special);
        }
        if pieces.special && step.product.is_none() {
            add_specials(pieces, &mut number.special);
        }
    }
}

vectorised! {
    /// Adds the marks of infinities and NaN of the sums of all products of a group.
    pub(super) fn add_specials(pieces: &Pieces<'_>, special: &mut PieceLanes<u32>) {
        for at in 0..pieces.count {
            let marks = pieces.factors(at).specials();
            let all = piece(special, at);
            set_piece(special, at, &each(|l| all[l] | marks[l]));
        }
    }
}

/// Products without their `dropped` low bits.
#[inline(always)]
pub(super) fn kept(products: &Lane<i64>, dropped: i32) -> Lane<i64> {
    match dropped {
        0 => *products,
        _ => over(products, |product| product.cut(dropped, Rounding::Rz).lifted(dropped.min(63) as u32)),
    }
}

/// State of zero sums: true if all terms that count are negative, and if all are positive zeros.
pub(super) struct ZeroSigns {
    minus: Lane<bool>,
    plus: Lane<bool>,
    /// True if terms that are no zeros count.
    by_all: bool,
    /// True if the rounding makes zeros of different signs negative.
    down: bool,
}

impl ZeroSigns {
    /// The state before any term.
    pub(super) fn new(step: &SumStep) -> ZeroSigns {
        let down = step.zero_rule == ZeroRule::Ieee && step.rounding == Rounding::Rd;
        ZeroSigns { minus: [true; LANES], plus: [true; LANES], by_all: step.zero_rule == ZeroRule::Common, down }
    }

    /// Adds a term by its zero and sign flags.
    pub(super) fn add(&mut self, zero: &Lane<bool>, negative: &Lane<u32>) {
        for l in 0..LANES {
            self.minus[l] &= (zero[l] || self.by_all) && negative[l] != 0;
            self.plus[l] &= zero[l] && negative[l] == 0;
        }
    }

    /// Signs of the sums, as masks.
    pub(super) fn signs(&self) -> Lane<u32> {
        each(|l| {
            let negative = self.minus[l] || self.down && !self.plus[l];
            if negative { TRUE } else { 0 }
        })
    }
}

/// Exact sum of products times their common scales.
#[inline(always)]
fn scaled_sum(runs: &Scales, run: &GroupFactors, scales: &GroupFactors, first: usize) -> (Lane<i64>, Lane<i32>) {
    let fixed =
        |significand: i32, exponent: i32, lowest: i32| i64::from(significand) << (exponent - lowest).clamp(0, 62);
    let mut sum = [0i64; LANES];
    for term in 0..run.a.significands.len() {
        let (x, x_exponent) = (&run.a.significands[term], &run.a.exponents[term]);
        let x: Turn<i64> = array(|t| fixed(x[t], x_exponent[t], runs.lowest[0]));
        let (y, y_exponent) = (&run.b.significands[term], &run.b.exponents[term]);
        for l in 0..LANES {
            sum[l] += x[l % TURNS] * fixed(y[l], y_exponent[l], runs.lowest[1]);
        }
    }
    let scale: Lane<i64> = scales.value(first);
    let scale_exponent = scales.exponent_sum(first);
    let sum: Lane<i64> = each(|l| sum[l] * scale[l]);
    (sum, each(|l| if sum[l] == 0 { ZERO } else { scale_exponent[l] }))
}
