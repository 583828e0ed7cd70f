//! Square roots.

use super::{
    Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::{OperandClass, Unpacked},
};
use crate::number::Word;

/// Bits of a word below a double's significand.
const BELOW: u32 = u64::BITS - f64::MANTISSA_DIGITS;

impl<F: FormatFields> Datapath<'_, F> {
    #[inline]
    pub(super) fn sqrt(&self, x: u64) -> Outcome {
        if self.is_normal(x) & !self.layout().negative(x) {
            return self.rounded_root(&self.normal(x));
        }
        self.sqrt_unusual(x)
    }

    #[inline(always)]
    fn rounded_root(&self, a: &Unpacked<u64>) -> Outcome {
        // The significand as m in [1, 4) times an even power of two: the root's leading bit is at 1.
        let (odd, leading) = (a.leading & 1, a.leading >> 1);
        match self.layout().precision {
            _ if self.random => self.round(false, leading, long_root(a.significand, odd)),
            0..=25 => self.round(false, leading, nearest_root(a.significand, odd)),
            26..=f64::MANTISSA_DIGITS => self.round(false, leading, jammed_root(a.significand, odd)),
            _ => self.round(false, leading, long_root(a.significand, odd)),
        }
    }

    #[cold]
    #[inline(never)]
    fn sqrt_unusual(&self, x: u64) -> Outcome {
        let a = self.operand::<u64>(x);
        match a.kind {
            OperandClass::Nan => self.untyped().nan_of(&[x]),
            OperandClass::Zero => self.zero(a.negative),
            _ if a.negative => self.invalid(),
            OperandClass::Infinite => self.infinity(false),
            OperandClass::Finite => self.rounded_root(&a),
        }
    }
}

/// Double nearest to the root of `significand * 2^odd / 2^63`, left-justified, for 53 bits or fewer.
///
/// It is the host's root, which IEEE 754 rounds correctly. For a significand of p bits, p at most 25, it rounds like
/// the jammed root. Let t be a number of p + 1 bits from 1 to 2, where the rounding to p bits or its exactness changes.
/// Its square and the operand m are multiples of 2^-2p, so that a root r other than t is at least 2^-2p / (r + t) >
/// 2^-(2p + 2) away from it: by more than half a double's last place there, 2^-53.
#[inline(always)]
fn nearest_root(significand: u64, odd: i32) -> u64 {
    // The leading bit of the significand adds one to the exponent.
    let exponent = (f64::MAX_EXP as u64 - 2) + odd as u64;
    let operand = f64::from_bits((exponent << (f64::MANTISSA_DIGITS - 1)) + (significand >> BELOW));
    operand.sqrt().to_bits() << BELOW | 1 << 63
}

/// The same root, left-justified and jammed, from the sign of the remainder.
/// The nearest double is nearer than half-way to the next, so the remainder decides the side.
#[inline(always)]
fn jammed_root(significand: u64, odd: i32) -> u64 {
    let root = nearest_root(significand, odd);
    let (integer, m) = (root >> BELOW, significand >> BELOW << odd);
    // The remainder of the integers has at most 54 bits, so low words suffice.
    let rest = (m << (f64::MANTISSA_DIGITS - 1)).wrapping_sub(integer.wrapping_mul(integer)) as i64;
    root.wrapping_add_signed(rest.signum())
}

/// Root of `significand * 2^odd / 2^63`, left-justified and jammed, to 128 bits.
///
/// Let M = `significand * 2^(63 + odd)`, N = M * 2^128, and r the root of M. With q = (m - r^2) * 2^128 / (2 * r *
/// 2^64), truncated, r * 2^64 + q is the root of N or one more than it (Zimmermann, Karatsuba Square Root).
fn long_root(significand: u64, odd: i32) -> u128 {
    let high = u128::from(significand) << (63 + odd);
    let root = high.isqrt();
    // At most 2 * root, which is less than 2^65.
    let rest = high - root * root;
    let (quotient, remainder) = ((rest << 63) / root, (rest << 63) % root);
    // The remainder of N is remainder * 2^65 - quotient^2.
    let too_large = quotient.checked_mul(quotient).is_none_or(|square| square.div_ceil(1 << 65) > remainder);
    let lower = (root << 64).wrapping_add(quotient).wrapping_sub(u128::from(too_large));
    // A number of 64 bits and even powers of two is a square only if its leading half is one.
    lower | u128::bit(rest != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    /// Root of a significand and an odd power of two, left-justified and jammed, by integers alone.
    fn integer_root(significand: u64, odd: i32) -> u64 {
        let m = u128::from(significand) << 64 >> (1 - odd);
        let root = m.isqrt();
        root as u64 | u64::bit(root * root != m)
    }

    /// Checks the root of the integer m against the root by integers.
    /// Both have the same bits up to the precision and the half-way bit, and the same zero or non-zero rest.
    fn agrees(m: u64, precision: u32, root: fn(u64, i32) -> u64) -> Result<(), TestCaseError> {
        let significand = m << m.leading_zeros();
        for odd in [0, 1] {
            let below = u64::BITS - precision - 1;
            let told = |root: u64| (root >> below, root << (precision + 1) != 0);
            prop_assert_eq!(told(root(significand, odd)), told(integer_root(significand, odd)), "{} {}", m, odd);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Near squares the sides are hard to distinguish.
        #[test]
        fn roots_of_doubles_are_those_of_integers(m in 1u64 << 52..1 << 53, near in 1u64 << 26..1 << 27, offset in -3i64..=3) {
            // Squares of 27 bits in 53 or 54, and their neighbours.
            let near = (near * near).saturating_add_signed(offset);
            let near = near >> (11 - near.leading_zeros().min(11));
            for m in [m, near, (1 << 53) - 1, 1 << 52, (1 << 52) + 1] {
                agrees(m, 53, jammed_root)?;
            }
        }

        #[test]
        fn long_roots_are_those_of_large_integers(random: u64, root: u32, offset in -3i64..=3) {
            let square = (u64::from(root) * u64::from(root)).saturating_add_signed(offset);
            for m in [random, square, (1 << 63) + 2, u64::MAX, 1 << 63] {
                let significand = m.max(1) << m.max(1).leading_zeros();
                for odd in [0, 1] {
                    let integer = BigUint::from(significand) << (191 + odd) as u32;
                    let root = integer.sqrt();
                    let jammed = u128::try_from(&root).unwrap() | u128::bit(&root * &root != integer);
                    prop_assert_eq!(long_root(significand, odd), jammed, "{} {}", significand, odd);
                }
            }
        }

        #[test]
        fn nearest_doubles_tell_the_roots_of_narrow_formats(
            precision in 1u32..=25, random: u64, near in 1u64 << 25..1 << 26, offset in -3i64..=3
        ) {
            // The square of a half-way number has a root nearest to a rounding boundary.
            let half_way = near >> (25 - precision);
            let square = (half_way * half_way) as i64;
            let width = u64::BITS - square.leading_zeros();
            let near = ((square >> (width.saturating_sub(precision))) + offset).max(1) as u64;
            for m in [random, near, u64::MAX, 1 << 63] {
                let significand = m << m.leading_zeros();
                agrees(significand >> (u64::BITS - precision), precision, nearest_root)?;
            }
        }
    }
}
