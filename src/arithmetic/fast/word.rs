//! Integers of three widths under one name, so that one kernel serves them all: the narrowest that holds a sum is the
//! fastest.

use crate::format::Rounding;

/// Elements of D that are computed together: one vector register of 64-bit words, or half of one of 32-bit words.
pub(super) const LANES: usize = 8;

/// One value for each of the elements that are computed together.
pub(super) type Lane<T> = [T; LANES];

/// A signed integer of some width.
pub(super) trait Word: Copy + Default {
    /// Bits that a term may have, and a sum of terms: two fewer than the width, so that the largest shift leaves less
    /// than half a unit of any term.
    const CAPACITY: u32;

    /// The value of a 64-bit integer that fits.
    fn of(value: i64) -> Self;
    /// The exact product of two significands that fits.
    fn product(x: i32, y: i32) -> Self;
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self * 2^left`; `left` below the width.
    fn lifted(self, left: u32) -> Self;
    /// `self / 2^right` under `rounding`; `right` of any size.
    fn cut(self, right: i32, rounding: Rounding) -> Self;
    /// The magnitude's bits.
    fn length(self) -> i32;
    /// The sign, and the magnitude in at most 62 bits times `2^` the third: what is beyond sets the last bit.
    fn split(self) -> (bool, u64, i32);
}

macro_rules! word {
    ($word:ty, $unsigned:ty, $split:expr) => {
        impl Word for $word {
            const CAPACITY: u32 = <$word>::BITS - 3;

            #[inline(always)]
            fn of(value: i64) -> Self {
                value as $word
            }

            #[inline(always)]
            fn product(x: i32, y: i32) -> Self {
                (x as $word).wrapping_mul(y as $word)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn lifted(self, left: u32) -> Self {
                self.wrapping_shl(left)
            }

            #[inline(always)]
            fn cut(self, right: i32, rounding: Rounding) -> Self {
                let right = right.clamp(0, <$word>::BITS as i32 - 2) as u32;
                let magnitude = self.unsigned_abs();
                let kept = magnitude >> right;
                let rest = magnitude & (((1 as $unsigned) << right) - 1);
                let half = ((1 as $unsigned) << right) >> 1;
                let up = match rounding {
                    Rounding::Rz | Rounding::Sr { .. } => false,
                    Rounding::Rne => rest > half || rest == half && half != 0 && kept & 1 == 1,
                    Rounding::Rna => rest >= half && half != 0,
                    Rounding::Ru => rest != 0 && self >= 0,
                    Rounding::Rd => rest != 0 && self < 0,
                    Rounding::Ro => rest != 0 && kept & 1 == 0,
                };
                let units = (kept + up as $unsigned) as $word;
                if self < 0 { units.wrapping_neg() } else { units }
            }

            #[inline(always)]
            fn length(self) -> i32 {
                (<$word>::BITS - self.unsigned_abs().leading_zeros()) as i32
            }

            #[inline(always)]
            fn split(self) -> (bool, u64, i32) {
                let (magnitude, exponent): (u64, i32) = $split(self.unsigned_abs());
                (self < 0, magnitude, exponent)
            }
        }
    };
}

word!(i32, u32, |magnitude: u32| (u64::from(magnitude), 0));
word!(i64, u64, |magnitude: u64| (magnitude, 0));
word!(i128, u128, |magnitude: u128| {
    let right = 66u32.saturating_sub(magnitude.leading_zeros());
    let lost = magnitude & ((1 << right) - 1) != 0;
    ((magnitude >> right) as u64 | u64::from(lost), right as i32)
});
