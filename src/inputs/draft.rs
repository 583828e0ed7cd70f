//! One case under construction, and the strokes that regimes draw it with.

use rand::{Rng, RngExt};

use super::values::{Bits, any_nan, code_at, exponents, special_codes, with_random_padding};
use crate::{
    format::{Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Instruction},
};

/// A case under construction: at most `terms` products are not zero, and c is zero unless `has_c`.
pub(super) struct Draft<'a, R> {
    pub(super) case: Case,
    pub(super) instruction: &'a Instruction,
    pub(super) terms: usize,
    pub(super) has_c: bool,
    pub(super) rng: &'a mut R,
}

impl<R: Rng> Draft<'_, R> {
    /// Sets c, unless it is to stay zero.
    pub(super) fn c(&mut self, code: impl FnOnce(&mut Self) -> u64) {
        if self.has_c {
            self.case.c = code(self);
        }
    }

    /// Moves the products to random positions among the k (when all may be used), and fills ignored bits.
    pub(super) fn scatter(&mut self) {
        let k = self.instruction.k;
        if self.terms == k {
            for last in (1..k).rev() {
                let other = self.rng.random_range(0..=last as u32) as usize;
                self.case.a.swap(last, other);
                self.case.b.swap(last, other);
            }
        }
        if self.rng.random_bool(0.3) {
            for at in 0..k {
                self.case.a[at] = with_random_padding(self.rng, self.instruction.a, self.case.a[at]);
                self.case.b[at] = with_random_padding(self.rng, self.instruction.b, self.case.b[at]);
            }
        }
    }

    /// A product whose exponents sum to `e` (brought into range) at position `k`.
    pub(super) fn product(&mut self, k: usize, e: i32, bits: Bits) {
        let (a, b) = (self.instruction.a, self.instruction.b);
        let ((a_low, a_high), (b_low, b_high)) = (exponents(a), exponents(b));
        let low = a_low.max(e.saturating_sub(b_high)).min(a_high);
        let high = a_high.min(e.saturating_sub(b_low)).max(low);
        let first = self.rng.random_range(low..=high);
        self.case.a[k] = code_at(self.rng, a, first, bits);
        let bits = if bits == Bits::Sparse { Bits::Zeros } else { bits };
        self.case.b[k] = code_at(self.rng, b, e - first, bits);
    }

    /// An exponent that products can have: mostly moderate, sometimes anywhere.
    pub(super) fn product_exponent(&mut self) -> i32 {
        let ((a_low, a_high), (b_low, b_high)) = (exponents(self.instruction.a), exponents(self.instruction.b));
        let (low, high) = (a_low + b_low, a_high + b_high);
        if self.rng.random_bool(0.5) {
            self.rng.random_range(low..=high)
        } else {
            self.rng.random_range(-8i32..8).clamp(low, high)
        }
    }

    /// A product exponent that is also the exponent of a normal result.
    pub(super) fn result_exponent(&mut self) -> i32 {
        let (low, high) = exponents(self.instruction.d);
        self.product_exponent().clamp(low, high)
    }

    pub(super) fn precision(&self) -> i32 {
        self.instruction.d.fraction_bits() as i32 + 1
    }

    pub(super) fn padding(&self, format: &Format) -> u32 {
        format.float().map_or(0, |f| f.padding_bits)
    }

    pub(super) fn anywhere(&mut self, format: &Format) -> u64 {
        let (low, high) = exponents(format);
        let exponent = self.rng.random_range(low..=high);
        let bits = Bits::draw(self.rng);
        code_at(self.rng, format, exponent, bits)
    }

    pub(super) fn special(&mut self, format: &Format) -> u64 {
        if self.rng.random_bool(0.4)
            && let Some(nan) = any_nan(self.rng, format)
        {
            return nan;
        }
        let codes = special_codes(format);
        codes[self.rng.random_range(0..codes.len() as u32) as usize]
    }

    /// The sum of the products, about.
    pub(super) fn sum(&self) -> f64 {
        let (a, b) = (self.instruction.a, self.instruction.b);
        self.case.a.iter().zip(&self.case.b).map(|(x, y)| a.to_f64(*x) * b.to_f64(*y)).sum()
    }
}

/// The code of the opposite sign.
pub(super) fn negated(format: &Format, code: u64) -> u64 {
    let decoded = format.decode(code);
    let value = Finite::exact(!decoded.negative, decoded.significand.into(), decoded.exponent);
    format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate).unwrap_or(code)
}
