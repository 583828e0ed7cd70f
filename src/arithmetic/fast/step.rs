//! A fused step: its terms, and their sum.

use super::{
    fused::{Addend, Sum, Width},
    number::{Number, ZERO},
    scale::{Scales, Scaling},
    stage::{Stage, either},
    terms::{Factors, Stored},
    word::{LANES, Lane},
};
use crate::format::Rounding;

/// A fused step.
#[derive(Debug, Clone)]
pub(super) struct FusedStep {
    pub(super) sum: Sum,
    pub(super) width: Width,
    /// Bits after the binary point of exact products.
    pub(super) fraction_bits: i32,
    /// The rounding of each product.
    pub(super) product: Option<Stage>,
    /// Of normalised terms, the bits after the binary point before.
    pub(super) normalised: Option<i32>,
    /// Products summed exactly before they are scaled.
    pub(super) runs: Option<Scales>,
    /// Whether the sign of zero sums is that of IEEE 754.
    pub(super) ieee: bool,
}

impl FusedStep {
    /// The sum of a group, not yet rounded.
    #[inline(always)]
    pub(super) fn run(
        &self,
        factors: &Factors,
        scaling: &Scaling,
        from: Addend,
        rounding: Rounding,
        stored: &mut Stored,
    ) -> Number {
        let mut sum = if self.is_simple() {
            self.sum.of_factors(self.width, factors, from)
        } else {
            let void = self.store(factors, scaling, stored);
            let mut sum = self.sum.of_stored(self.width, stored, from);
            sum.void = either(&sum.void, &void);
            sum
        };
        if self.ieee {
            self.sign_zeros(&mut sum, factors, from.number, rounding, stored);
        }
        sum.void = either(&sum.void, &from.number.void);
        sum
    }

    /// Whether the terms are the products.
    pub(super) fn is_simple(&self) -> bool {
        self.product.is_none() && self.normalised.is_none() && self.runs.is_none()
    }

    /// Computes the terms; which lanes are void.
    #[inline(always)]
    fn store(&self, factors: &Factors, scaling: &Scaling, stored: &mut Stored) -> Lane<bool> {
        stored.values.clear();
        stored.exponents.clear();
        let mut void = [false; LANES];
        let each = self.runs.as_ref().map_or(1, |scales| scales.run);
        for first in (0..factors.rows.len()).step_by(each) {
            let (mut values, mut exponents) = match (&self.runs, &self.product) {
                (Some(scales), _) => scaled_sum(scales, &factors.part(first, first + each), scaling, first),
                (None, None) => product(factors, first),
                (None, Some(stage)) => {
                    let number = stage.hold(&factors.number(first, self.fraction_bits));
                    void = either(&void, &number.void);
                    term(&number, stage.decoder.fraction_bits as i32)
                }
            };
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
        }
        void
    }

    /// Gives zero sums the sign of IEEE 754.
    #[inline(always)]
    fn sign_zeros(&self, sum: &mut Number, factors: &Factors, c: &Number, rounding: Rounding, stored: &Stored) {
        if sum.magnitude.iter().all(|m| *m != 0) {
            return;
        }
        let (mut minus, mut plus) = ([true; LANES], [true; LANES]);
        let mut zero = |zero: Lane<bool>, negative: Lane<bool>| {
            for l in 0..LANES {
                minus[l] &= zero[l] && negative[l];
                plus[l] &= zero[l] && !negative[l];
            }
        };
        zero(c.magnitude.map(|m| m == 0), c.negative);
        if self.runs.is_some() {
            stored.values.iter().for_each(|values| zero(values.map(|v| v == 0), [false; LANES]));
        } else {
            for term in 0..factors.rows.len() {
                let is_zero = match self.is_simple() {
                    true => {
                        let none = factors.significands[term] == 0;
                        factors.rows[term].significand.map(|s| none || s == 0)
                    }
                    false => stored.values[term].map(|v| v == 0),
                };
                zero(is_zero, factors.rows_negative[term].map(|sign| sign != factors.negative[term]));
            }
        }
        for l in 0..LANES {
            if sum.magnitude[l] == 0 {
                sum.negative[l] = minus[l] || rounding == Rounding::Rd && !plus[l];
            }
        }
    }
}

/// An exact product as a term.
#[inline(always)]
fn product(factors: &Factors, term: usize) -> (Lane<i64>, Lane<i32>) {
    let (x, e, row) = (factors.significands[term], factors.exponents[term], &factors.rows[term]);
    (row.significand.map(|y| i64::from(x) * i64::from(y)), row.exponent.map(|f| e + f))
}

/// A number as a term with these bits after the binary point.
#[inline(always)]
fn term(number: &Number, fraction_bits: i32) -> (Lane<i64>, Lane<i32>) {
    let value = |l: usize| {
        let magnitude = number.magnitude[l] as i64;
        if number.negative[l] { -magnitude } else { magnitude }
    };
    let exponent = |l: usize| if number.magnitude[l] == 0 { ZERO } else { number.exponent[l] + fraction_bits };
    (std::array::from_fn(value), std::array::from_fn(exponent))
}

/// The exact sum of products times their common scales.
#[inline(always)]
fn scaled_sum(scales: &Scales, run: &Factors, scaling: &Scaling, first: usize) -> (Lane<i64>, Lane<i32>) {
    let fixed =
        |significand: i32, exponent: i32, lowest: i32| i64::from(significand) << (exponent - lowest).clamp(0, 62);
    let mut sum = [0i64; LANES];
    for (term, row) in run.rows.iter().enumerate() {
        let x = fixed(run.significands[term], run.exponents[term], scales.lowest[0]);
        for l in 0..LANES {
            sum[l] += x * fixed(row.significand[l], row.exponent[l], scales.lowest[1]);
        }
    }
    let (x, row) = (scaling.factors[first], &scaling.rows[first]);
    let mut exponents = [ZERO; LANES];
    for l in 0..LANES {
        sum[l] *= i64::from(x.significand) * i64::from(row.significand[l]);
        if sum[l] != 0 {
            exponents[l] = x.exponent + row.exponent[l];
        }
    }
    (sum, exponents)
}
