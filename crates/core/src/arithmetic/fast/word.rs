//! Lanes of elements of D, and integers of two widths under one name, so that one kernel serves both.

use crate::format::Rounding;

/// Elements of D whose products are formed together: one vector register of 32-bit words.
pub(super) const LANES: usize = 16;

/// Rows of A between which lanes alternate: two neighbouring rows of D, or one of them twice.
pub(super) const TURNS: usize = 2;

/// One value for each of those elements.
pub(super) type Lane<T> = [T; LANES];

/// One value for each alternating row.
pub(super) type Turn<T> = [T; TURNS];

/// Array of values, by a plain loop: its callees are compiled for the caller's instruction set.
#[inline(always)]
pub(super) fn array<T: Copy + Default, const N: usize>(mut value: impl FnMut(usize) -> T) -> [T; N] {
    let mut all = [T::default(); N];
    for (at, slot) in all.iter_mut().enumerate() {
        *slot = value(at);
    }
    all
}

/// Value of each lane.
#[inline(always)]
pub(super) fn each<T: Copy + Default>(value: impl FnMut(usize) -> T) -> Lane<T> {
    array(value)
}

/// Function of each lane.
#[inline(always)]
pub(super) fn over<T: Copy, U: Copy + Default>(lanes: &Lane<T>, mut value: impl FnMut(T) -> U) -> Lane<U> {
    each(|lane| value(lanes[lane]))
}

/// Pieces of D, of [`LANES`] elements each, that are rounded together: compilers vectorise long loops.
pub(super) const PIECES: usize = 8;

/// One value for each element of those pieces.
pub(super) type PieceLanes<T> = [T; PIECES * LANES];

/// Lanes of one piece.
#[inline(always)]
pub(super) fn piece<T: Copy>(batch: &PieceLanes<T>, piece: usize) -> Lane<T> {
    batch.as_chunks().0[piece]
}

#[inline(always)]
pub(super) fn set_piece<T: Copy>(batch: &mut PieceLanes<T>, piece: usize, lanes: &Lane<T>) {
    batch.as_chunks_mut::<LANES>().0[piece] = *lanes;
}

/// Signed integer of some width.
pub(super) trait SignedWord: Copy + Default {
    /// Most bits of a term, and of a sum of terms: two fewer than the width.
    /// So the largest shift leaves less than half a unit of any term.
    const CAPACITY: u32;

    /// Value of a 64-bit integer that fits.
    fn of(value: i64) -> Self;
    /// Exact product of two significands that fits.
    fn product(x: i32, y: i32) -> Self;
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self * 2^left`; `left` below the width.
    fn lifted(self, left: u32) -> Self;
    /// `self / 2^right` under `rounding`; `right` is any number from 0 on.
    fn cut(self, right: i32, rounding: Rounding) -> Self;
    /// The number in a register of `width` bits in two's complement.
    /// Beyond its range it is the nearest number of the register, or the number modulo their count.
    fn in_register(self, width: u32, saturates: bool) -> Self;
    /// True if that shift loses bits.
    fn loses(self, right: i32) -> bool;
    fn is_zero(self) -> bool;
    /// Bits of the magnitude.
    fn length(self) -> i32;
    /// Number of at most 62 bits, jammed, and the exponent of its unit.
    fn narrowed(self) -> (i64, i32);
}

macro_rules! word {
    ($word:ty, $unsigned:ty, $narrowed:expr) => {
        impl SignedWord for $word {
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
                let magnitude = self.unsigned_abs();
                if rounding == Rounding::Rz {
                    let units = magnitude.checked_shr(right as u32).unwrap_or(0) as $word;
                    return if self < 0 { units.wrapping_neg() } else { units };
                }
                if rounding == Rounding::Rd {
                    return self >> right.clamp(0, <$word>::BITS as i32 - 1);
                }
                let right = right.clamp(0, <$word>::BITS as i32 - 2) as u32;
                let kept = magnitude >> right;
                let rest = magnitude & (((1 as $unsigned) << right) - 1);
                let half = ((1 as $unsigned) << right) >> 1;
                let up = match rounding {
                    Rounding::Rz | Rounding::Rd | Rounding::Sr { .. } => false,
                    Rounding::Rne => rest > half || rest == half && half != 0 && kept & 1 == 1,
                    Rounding::Rna => rest >= half && half != 0,
                    Rounding::Ru => rest != 0 && self >= 0,
                    Rounding::Ro => rest != 0 && kept & 1 == 0,
                };
                let units = (kept + up as $unsigned) as $word;
                if self < 0 { units.wrapping_neg() } else { units }
            }

            #[inline(always)]
            fn in_register(self, width: u32, saturates: bool) -> Self {
                let beyond = <$word>::BITS.saturating_sub(width);
                match saturates {
                    true => self.clamp(<$word>::MIN >> beyond, <$word>::MAX >> beyond),
                    false => self << beyond >> beyond,
                }
            }

            #[inline(always)]
            fn loses(self, right: i32) -> bool {
                self != 0 && self.trailing_zeros() < right.max(0) as u32
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }

            #[inline(always)]
            fn length(self) -> i32 {
                (<$word>::BITS - self.unsigned_abs().leading_zeros()) as i32
            }

            #[inline(always)]
            fn narrowed(self) -> (i64, i32) {
                $narrowed(self)
            }
        }
    };
}

word!(i64, u64, |value: i64| (value, 0));
word!(i128, u128, |value: i128| {
    let magnitude = value.unsigned_abs();
    let right = 66u32.saturating_sub(magnitude.leading_zeros());
    let lost = magnitude & ((1 << right) - 1) != 0;
    let kept = (magnitude >> right) as i64 | i64::from(lost);
    (if value < 0 { -kept } else { kept }, right as i32)
});
