//! Unsigned integers that hold a code: 32 bits where they suffice, so that a vector holds more of them.

use std::ops::{Add, BitAnd, BitOr, BitXor, Not};

use super::bits::GOLDEN;

/// A 32-bit or 64-bit word.
pub(super) trait CodeWord:
    Copy
    + Ord
    + Add<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + From<u32>
    + Into<u64>
{
    /// `value` cut to the word.
    fn of(value: u64) -> Self;
    /// The word shifted left, without overflowing bits.
    fn left(self, by: u32) -> Self;
    /// The word shifted right.
    fn right(self, by: u32) -> Self;
    /// Random bits of a hash for a format of `bits` bits: 32, or 64 if it needs them.
    fn random(hash: u32, bits: u32) -> Self;
}

impl CodeWord for u32 {
    #[inline(always)]
    fn of(value: u64) -> u32 {
        value as u32
    }

    #[inline(always)]
    fn left(self, by: u32) -> u32 {
        self.wrapping_shl(by)
    }

    #[inline(always)]
    fn right(self, by: u32) -> u32 {
        self.wrapping_shr(by)
    }

    #[inline(always)]
    fn random(hash: u32, _: u32) -> u32 {
        hash
    }
}

impl CodeWord for u64 {
    #[inline(always)]
    fn of(value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn left(self, by: u32) -> u64 {
        self.wrapping_shl(by)
    }

    #[inline(always)]
    fn right(self, by: u32) -> u64 {
        self.wrapping_shr(by)
    }

    #[inline(always)]
    fn random(hash: u32, bits: u32) -> u64 {
        let high = if bits <= 32 { 0 } else { hash.rotate_left(16).wrapping_mul(GOLDEN) };
        u64::from(high) << 32 | u64::from(hash)
    }
}
