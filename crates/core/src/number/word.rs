//! Unsigned words that hold significands: 64 bits where they suffice, else 128.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Shl, Shr, Sub};

/// Unsigned word that holds a significand.
///
/// *Left-justified*: it is zero or its leading bit is the word's top bit. *Jammed*: its last bit also stands for
/// everything non-zero that was dropped below it.
pub(crate) trait Word:
    Copy
    + Ord
    + From<u64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Width in bits.
    const BITS: u32;
    /// Nothing.
    const ZERO: Self;
    /// The last bit.
    const ONE: Self;
    /// The top bit.
    const TOP: Self;

    /// Number of zero bits above the leading one.
    fn leading_zeros(self) -> u32;

    /// The low 64 bits.
    fn low(self) -> u64;

    /// High 64 bits, jammed: enough to round to any precision without random bits.
    fn high_jammed(self) -> u64;

    /// Number of leading zeros, and the high 64 bits after that shift, jammed. The word is not zero.
    fn normalised(self) -> (u32, u64);

    /// Number of zero bits below the lowest one.
    fn trailing_zeros(self) -> u32;

    /// `condition` as the last bit.
    fn bit(condition: bool) -> Self;

    /// `self >> places`, jammed, for any number of places.
    #[inline(always)]
    fn shift_right_jam(self, places: u32) -> Self {
        let places = places.min(Self::BITS - 1);
        let shifted = self >> places;
        shifted | Self::bit(self.trailing_zeros() < places)
    }

    /// Bits that `self >> places` drops, left-justified, and jammed beyond BITS places.
    #[inline(always)]
    fn rest(self, places: u32) -> Self {
        match places {
            0 => Self::ZERO,
            places if places <= Self::BITS => self << (Self::BITS - places),
            places => self.shift_right_jam(places - Self::BITS),
        }
    }

    /// `self >> places` for any number of places.
    #[inline(always)]
    fn shift_right(self, places: u32) -> Self {
        if places < Self::BITS { self >> places } else { Self::ZERO }
    }
}

macro_rules! word {
    ($type:ty, { $($item:item)* }) => {
        impl Word for $type {
            $($item)*

            const BITS: u32 = <$type>::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const TOP: Self = 1 << (<$type>::BITS - 1);

            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                <$type>::leading_zeros(self)
            }

            #[inline(always)]
            fn low(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn high_jammed(self) -> u64 {
                let low = Self::BITS - 64;
                let high = self >> low;
                (high | Self::from(high << low != self)) as u64
            }

            #[inline(always)]
            fn bit(condition: bool) -> Self {
                condition.into()
            }

            #[inline(always)]
            fn trailing_zeros(self) -> u32 {
                <$type>::trailing_zeros(self)
            }
        }
    };
}

word!(u64, {
    #[inline(always)]
    fn normalised(self) -> (u32, u64) {
        let zeros = self.leading_zeros();
        (zeros, self << zeros)
    }
});

word!(u128, {
    #[inline(always)]
    fn normalised(self) -> (u32, u64) {
        let (high, low) = ((self >> 64) as u64, self as u64);
        if high == 0 {
            let zeros = low.leading_zeros();
            return (64 + zeros, low << zeros);
        }
        let zeros = high.leading_zeros();
        (zeros, high << zeros | low >> 1 >> (63 - zeros) | u64::from(low << zeros != 0))
    }
});
