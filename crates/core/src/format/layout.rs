//! Positions of a code's fields, and the only rounding of a significand to a code.
//!
//! The *magnitude* of a code is its bits without sign and padding: biased exponent and trailing significand. Magnitudes
//! ascend by one from each number to the next, so that a carry of the significand moves into the exponent.

use super::{Float, Zeros};
use crate::number::{Rounding, Word};

/// Constants of decoding and rounding, computed once from a format's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Significand bits, the leading bit included.
    pub precision: u32,
    /// Width of the trailing significand.
    pub trailing_bits: u32,
    /// Position of the magnitude in a code.
    pub padding_bits: u32,
    /// Position of the sign in a code (if there is one).
    pub sign_shift: u32,
    /// 1 with a sign, else 0.
    pub sign_mask: u64,
    /// The magnitude's bits, right-aligned.
    pub magnitude_mask: u64,
    /// The bias of the exponent.
    pub bias: i32,
    /// Exponent of the smallest normal number.
    pub emin: i32,
    /// Exponent of the largest number.
    pub emax: i32,
    /// Magnitude of the smallest normal number.
    pub smallest_normal: u64,
    /// Magnitude of the largest number. Infinity, where there is one, comes next.
    pub largest: u64,
    /// True if there is a zero; else magnitude 0 is the smallest number.
    pub has_zero: bool,
    /// 1 if the last bit of every significand counts as odd, else 0.
    ///
    /// Without trailing bits, the last bit of a code decides ties (P3109). In a format without zero (e8m0) it is the
    /// significand's, which is always 1: ties go to the larger number.
    always_odd: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundedMagnitude {
    /// The magnitude; above [`Layout::largest`] if the value overflows.
    pub magnitude: u64,
    /// True if the rounded number differs from the value.
    pub inexact: bool,
    /// True if the value lies strictly below the smallest normal number.
    pub tiny_before: bool,
    /// True if it does so after rounding to the precision with an unbounded exponent.
    pub tiny_after: bool,
}

impl Layout {
    pub(crate) const fn of(float: &Float) -> Layout {
        let magnitude_bits = float.exponent_bits + float.trailing_bits;
        let has_zero = !matches!(float.zeros, Zeros::None);
        Layout {
            precision: float.precision(),
            trailing_bits: float.trailing_bits,
            padding_bits: float.padding_bits,
            sign_shift: (magnitude_bits + float.padding_bits) & 63,
            sign_mask: float.signed as u64,
            magnitude_mask: (1 << magnitude_bits) - 1,
            bias: float.bias,
            emin: float.emin(),
            emax: float.emax(),
            smallest_normal: (has_zero as u64) << float.trailing_bits,
            largest: float.largest_magnitude(),
            has_zero,
            always_odd: (float.trailing_bits == 0 && !has_zero) as u64,
        }
    }

    #[inline(always)]
    pub(crate) fn signed(&self) -> bool {
        self.sign_mask != 0
    }

    /// Code of a sign and a magnitude; an unsigned format drops the sign.
    #[inline(always)]
    pub(crate) fn assemble(&self, negative: bool, magnitude: u64) -> u64 {
        (u64::from(negative) & self.sign_mask) << self.sign_shift | magnitude << self.padding_bits
    }

    #[inline(always)]
    pub(crate) fn negative(&self, code: u64) -> bool {
        code >> self.sign_shift & self.sign_mask != 0
    }

    #[inline(always)]
    pub(crate) fn magnitude(&self, code: u64) -> u64 {
        code >> self.padding_bits & self.magnitude_mask
    }

    /// True for the magnitude of a normal number.
    #[inline(always)]
    pub(crate) fn is_normal(&self, magnitude: u64) -> bool {
        magnitude.wrapping_sub(self.smallest_normal) <= self.largest - self.smallest_normal
    }

    /// Significand with its leading bit, and that bit's exponent, of a normal number's magnitude.
    #[inline(always)]
    pub(crate) fn normal(&self, magnitude: u64) -> (u64, i32) {
        let hidden = 1 << self.trailing_bits;
        (magnitude & (hidden - 1) | hidden, (magnitude >> self.trailing_bits) as i32 - self.bias)
    }

    /// Rounds `significand * 2^(leading + 1 - BITS)` once.
    ///
    /// The significand is left-justified, not zero and may be jammed; its leading bit weighs `2^leading`. The word must
    /// be at least 2 bits wider than the precision; for stochastic rounding, wider by one more than the random bits.
    #[inline]
    pub(crate) fn round<W: Word>(
        &self,
        negative: bool,
        leading: i32,
        significand: W,
        rounding: Rounding,
    ) -> RoundedMagnitude {
        match self.is_inside(leading) {
            true => {
                let (magnitude, inexact) = self.round_inside(negative, leading, significand, rounding);
                RoundedMagnitude { magnitude, inexact, tiny_before: false, tiny_after: false }
            }
            false => self.round_outside(negative, leading, significand, rounding),
        }
    }

    /// True if numbers with this leading exponent are normal; the largest may still overflow.
    #[inline(always)]
    pub(crate) fn is_inside(&self, leading: i32) -> bool {
        (self.emin..=self.emax).contains(&leading)
    }

    /// [`Layout::round`] for leading exponents that [are inside](Layout::is_inside).
    /// Returns the magnitude, and true if inexact.
    #[inline(always)]
    pub(crate) fn round_inside<W: Word>(
        &self,
        negative: bool,
        leading: i32,
        significand: W,
        rounding: Rounding,
    ) -> (u64, bool) {
        let (kept, rest) = (significand >> (W::BITS - self.precision), significand << self.precision);
        // The leading bit adds one to the biased exponent.
        let below = ((leading + self.bias - 1) as u64) << self.trailing_bits;
        let truncated = below.wrapping_add(kept.low());
        let up = rounding.rounds_up(negative, (truncated | self.always_odd) & 1 != 0, rest);
        (truncated.wrapping_add(up.into()), rest != W::ZERO)
    }

    /// [`Layout::round`] of a value outside the range of normal numbers, or at its ends.
    #[cold]
    fn round_outside<W: Word>(
        &self,
        negative: bool,
        leading: i32,
        significand: W,
        rounding: Rounding,
    ) -> RoundedMagnitude {
        if leading > self.emax {
            return RoundedMagnitude { magnitude: u64::MAX, inexact: true, tiny_before: false, tiny_after: false };
        }
        let round = |places: u32| {
            let (kept, rest) = (significand.shift_right(places), significand.rest(places));
            let up = rounding.rounds_up(negative, kept & W::ONE != W::ZERO, rest);
            (kept.low() + u64::from(up), rest != W::ZERO)
        };
        let normal_places = W::BITS - self.precision;
        let (units, inexact) = round(normal_places.saturating_add(self.emin.abs_diff(leading)));
        let carries = leading == self.emin - 1 && round(normal_places).0 >> self.precision != 0;
        // Without a zero, everything below the smallest number rounds to it.
        let (magnitude, inexact) = match self.has_zero {
            true => (units, inexact),
            false => (units.saturating_sub(1 << self.trailing_bits), true),
        };
        RoundedMagnitude { magnitude, inexact, tiny_before: true, tiny_after: !carries }
    }
}
