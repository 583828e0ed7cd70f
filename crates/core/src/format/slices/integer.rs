//! Conversion of `f32` to integers: constants and one lane.

use super::{
    constants::{INFINITY, TRAILING_BITS},
    placement::Unrounded,
};
use crate::format::Format;

const HIDDEN: u32 = 1 << TRAILING_BITS;

/// Constants that determine the codes of an integer format of at most 16 bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntegerConstants {
    /// Largest magnitudes, by sign.
    limits: [u32; 2],
    mask: u32,
}

impl IntegerConstants {
    pub(super) fn new(format: &Format, signed: bool) -> IntegerConstants {
        let mask = format.code_mask() as u32;
        let limits = if signed { [mask >> 1, (mask >> 1) + 1] } else { [mask, 0] };
        IntegerConstants { limits, mask }
    }

    /// Excludes the most negative number.
    pub(super) fn make_symmetric(&mut self) {
        self.limits[1] = self.limits[1].min(self.limits[0]);
    }

    /// Code of the `f32` with these bits whose magnitude rounds to this one: saturated; zero for NaN.
    #[inline(always)]
    pub(super) fn code(&self, bits: u32, magnitude: u32) -> u32 {
        let minus = bits >> 31 != 0;
        let limit = if minus { self.limits[1] } else { self.limits[0] };
        let magnitude = magnitude.min(limit);
        let code = if minus { magnitude.wrapping_neg() } else { magnitude } & self.mask;
        if bits & u32::MAX >> 1 > INFINITY { 0 } else { code }
    }
}

/// Exponent from which on [`lane`] is exact: the smallest numbers have no bits below.
pub(super) const SMALLEST_EXPONENT: i32 = -149;

/// Magnitude of an `f32` divided by `2^exponent`, as an integer to be rounded.
/// A magnitude of 2^23 or more, which saturates, becomes some number as great.
#[inline(always)]
pub(super) fn lane(bits: u32, exponent: i32) -> Unrounded {
    let biased = (bits >> TRAILING_BITS & 0xff) as i32;
    let hidden = if biased == 0 { 0 } else { HIDDEN };
    let significand = bits & (HIDDEN - 1) | hidden;
    // One bit more than there is, so that at least one is dropped.
    let full_shift = 1 + (127 + TRAILING_BITS as i32 + exponent - biased.max(1)).max(0) as u32;
    Unrounded { significand: significand << 1, shift: full_shift.min(31), full_shift, base: 0, parity: 0 }
}
