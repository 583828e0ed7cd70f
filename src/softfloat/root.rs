//! Square roots.

use rug::Integer;

use super::{
    Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::OperandClass,
};
use crate::number::Word;

impl<F: FormatFields> Datapath<'_, F> {
    #[inline]
    pub(super) fn sqrt(&self, x: u64) -> Outcome {
        let a = self.operand::<u64>(x);
        match a.kind {
            OperandClass::Nan => self.untyped().nan_of(&[x]),
            OperandClass::Zero => self.zero(a.negative),
            _ if a.negative => self.invalid(),
            OperandClass::Infinite => self.infinity(false),
            OperandClass::Finite => {
                // The significand as m in [1, 4) times an even power of two: its root has its leading bit at 1.
                let odd = a.leading & 1;
                let leading = (a.leading - odd) / 2;
                match (self.random, self.wide) {
                    (true, _) => self.round(false, leading, long_root(a.significand, odd)),
                    (false, true) if self.layout().precision <= f64::MANTISSA_DIGITS => {
                        self.round(false, leading, root_as_double(a.significand, odd))
                    }
                    (false, true) => self.round(false, leading, root128(u128::from(a.significand) << 64 >> (1 - odd))),
                    (false, false) => self.round(false, leading, root64(a.significand >> (1 - odd))),
                }
            }
        }
    }
}

/// The root of `m / 2^62`, left-justified and jammed, for m of 63 or 64 bits: 32 bits, enough for a precision of 30, and of 31
/// since a root is never half-way between two numbers of the precision of its operand.
#[inline]
fn root64(m: u64) -> u64 {
    let root = floor_root64(m);
    root << 32 | u64::bit(root * root != m)
}

/// The root of `significand * 2^odd / 2^63`, left-justified and jammed, for a significand of 53 bits or fewer. The host's root is the
/// nearest double: the remainder tells on which side of it the root lies, nearer than half-way to the next.
#[inline]
fn root_as_double(significand: u64, odd: i32) -> u64 {
    /// Bits of a word below a double's significand.
    const BELOW: u32 = 64 - f64::MANTISSA_DIGITS;
    /// Makes the root of a number from 2^52 on an integer of 53 bits.
    const TWO_26: f64 = 67_108_864.0;
    let m = significand >> BELOW << odd;
    let root = ((m as f64).sqrt() * TWO_26) as u64;
    let (of_root, of_m) = (square(root), u128::from(m) << 52);
    let above = u64::bit(of_root < of_m);
    let below = u64::bit(of_root > of_m);
    (root << BELOW | above) - below
}

/// The root of `m / 2^126`, left-justified and jammed, for m of 127 or 128 bits: 64 bits.
#[inline]
fn root128(m: u128) -> u64 {
    let root = floor_root128(m);
    root | u64::bit(square(root) != m)
}

/// The integer part of the root of an m of 63 or 64 bits: that of the host's root, or one less.
#[inline]
fn floor_root64(m: u64) -> u64 {
    let guess = ((m as f64).sqrt() as u64).min(u64::from(u32::MAX));
    guess - u64::from(guess * guess > m)
}

/// The integer part of the root of an m of 127 or 128 bits. The host's root is off by less than 2^12, a step of Newton's method
/// from there by less than 1, and one more for the integer part; the remainder tells.
#[inline]
fn floor_root128(m: u128) -> u64 {
    const TWO_64: f64 = 18_446_744_073_709_551_616.0;
    /// Makes every step positive, so that its integer part is rounded down.
    const OFFSET: f64 = 1_048_576.0;
    let guess = ((m >> 64) as f64 * TWO_64).sqrt() as u64;
    // The difference has fewer than 80 bits.
    let difference = (m.wrapping_sub(square(guess)) as i128 >> 16) as i64;
    let step = difference as f64 * 32768.0 / guess as f64;
    let near = guess.saturating_add_signed((step + OFFSET) as i64 - OFFSET as i64);
    match m.checked_sub(square(near)) {
        None => near - 1,
        Some(rest) => near + u64::from(rest > 2 * u128::from(near)),
    }
}

#[inline]
fn square(root: u64) -> u128 {
    u128::from(root) * u128::from(root)
}

/// The root of `significand * 2^odd / 2^63`, left-justified and jammed, to 128 bits.
fn long_root(significand: u64, odd: i32) -> u128 {
    let (root, rest) = (Integer::from(significand) << (191 + odd) as u32).sqrt_rem(Integer::new());
    root.to_u128_wrapping() | u128::bit(!rest.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Near squares is where the integer part is hard to tell.
    fn near_square(root: u64, offset: i64) -> u128 {
        square(root).saturating_add_signed(offset.into())
    }

    proptest! {
        /// The same half-way bit, and the same of what lies below it, as of the root in 64 bits.
        #[test]
        fn roots_of_doubles_are_those_of_integers(m in 1u64 << 52..1 << 53, near in 1u64 << 26..1 << 27, offset in -3i64..=3) {
            // Squares of 27 bits in 53 or 54, and their neighbours.
            let near = (near * near).saturating_add_signed(offset);
            let near = near >> (11 - near.leading_zeros().min(11));
            for m in [m, near, (1 << 53) - 1, 1 << 52, (1 << 52) + 1] {
                for odd in [0, 1] {
                    let significand = m << m.leading_zeros();
                    let (double, integer) =
                        (root_as_double(significand, odd), root128(u128::from(significand) << 64 >> (1 - odd)));
                    let told = |root: u64| (root >> 10, root & 0x3ff != 0);
                    prop_assert_eq!(told(double), told(integer), "{} {}", m, odd);
                }
            }
        }

        #[test]
        fn integer_roots_are_the_standard_librarys(root in 1u64 << 63.., offset in -3i64..=3, m in 1u128 << 126..) {
            for m in [m, near_square(root, offset), near_square(u64::MAX, offset), near_square(1 << 63, offset.abs())] {
                prop_assert_eq!(u128::from(floor_root128(m)), m.isqrt());
            }
            let (root, m) = (root >> 32, (m >> 64) as u64);
            for m in [m, near_square(root, offset) as u64, near_square(u32::MAX.into(), offset) as u64, u64::MAX] {
                // Of 63 bits at least.
                let m = m.max(1 << 62);
                prop_assert_eq!(floor_root64(m), m.isqrt());
            }
        }
    }
}
