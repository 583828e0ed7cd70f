//! Judge of the exact dot-product-add, by MPFR (crate `rug`).
//!
//! This module shares no computation with the rest of the crate. MPFR adds, multiplies and treats NaN, infinities and
//! zeros; [`format::mpfr`] reads codes and rounds sums.

use std::cmp::Ordering;

use rug::{Assign, Float, float::Round, ops::AddAssignRound};

use crate::format::{
    self, Encoding, Format, Overflow, Rounding,
    mpfr::{self, OPERAND_BITS, Rounder},
};

/// Computes `c + sum over i of a_i * b_i` exactly and rounds it, repeatedly in the same buffers.
#[derive(Debug, Clone)]
pub struct MpfrDot {
    a: &'static Format,
    b: &'static Format,
    c: &'static Format,
    factors: [Float; 2],
    product: Float,
    sum: Float,
    rounder: Rounder,
}

impl MpfrDot {
    /// Buffers for up to `terms` products of `a` and `b` codes and one `c` code.
    /// The precision spans from the smallest quantum of a term to the largest sum, so that no addition rounds.
    pub fn new(a: &'static Format, b: &'static Format, c: &'static Format, terms: usize) -> Self {
        let ((a_low, a_high), (b_low, b_high), (c_low, c_high)) = (reach(a), reach(b), reach(c));
        let (low, high) = ((a_low + b_low).min(c_low), (a_high + b_high).max(c_high));
        let precision = high.abs_diff(low) + (terms + 1).ilog2() + 1;
        let operand = Float::new(OPERAND_BITS);
        MpfrDot {
            a,
            b,
            c,
            factors: [operand.clone(), operand],
            product: Float::new(2 * OPERAND_BITS),
            sum: Float::new(precision),
            rounder: Rounder::new(precision),
        }
    }

    /// Exact sum: infinities and NaN by IEEE 754; a sum of exactly zero is +0 unless every term is -0.
    ///
    /// # Panics
    /// If an addition is inexact, because there are more terms than the buffers were made for.
    pub fn sum(&mut self, pairs: impl IntoIterator<Item = (u64, u64)>, c: u64) -> &Float {
        let [x, y] = &mut self.factors;
        mpfr::decode_into(x, self.c, c);
        self.sum.assign(&*x);
        for (a, b) in pairs {
            mpfr::decode_into(x, self.a, a);
            mpfr::decode_into(y, self.b, b);
            self.product.assign(&*x * &*y);
            let ternary = self.sum.add_assign_round(&self.product, Round::Nearest);
            assert_eq!(ternary, Ordering::Equal, "an addition was inexact at {} bits", self.sum.prec());
        }
        &self.sum
    }

    /// The last sum rounded to a code of `format`, as by [`ExactSum::round`](super::ExactSum::round).
    pub fn round(&mut self, format: &Format, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        self.rounder.round(&self.sum, format, rounding, overflow)
    }
}

/// Exponents of a format's lowest bit and, exclusively, of its highest bit.
fn reach(format: &Format) -> (i32, i32) {
    match format.encoding {
        Encoding::Integer { .. } => (0, format.bits as i32),
        // Every number is one of binary64.
        Encoding::Table(_) => (-1074, 1024),
        // One exponent more on both sides than any format needs, whatever its codes of exponent zero and all ones mean.
        Encoding::Float(format::Float { bias, exponent_bits, trailing_bits, .. }) => {
            (-bias - trailing_bits as i32, (1 << exponent_bits) - bias)
        }
    }
}
