//! The exact dot-product-add on codes.

use crate::{
    format::{Class, Finite, Format, Overflow, Real, Rounding},
    number::Accumulator,
};

/// Computes `c + sum over i of a_i * b_i` exactly, again and again in one buffer.
///
/// ```
/// use tcnum_core::{exact::Dot, format::{self, Overflow, Rounding}};
/// let [e4m3, f32] = ["e4m3", "f32"].map(|name| format::find(name).unwrap());
/// let mut dot = Dot::new(e4m3, e4m3, f32, f32, 2);
/// // 1 * 1 + 2 * 2 + 0.5
/// let sum = dot.sum([(0x38, 0x38), (0x40, 0x40)], 0x3f00_0000);
/// assert_eq!(sum.round(f32, Rounding::Rne, Overflow::Standard), Some(5.5f32.to_bits().into()));
/// ```
#[derive(Debug, Clone)]
pub struct Dot {
    a: &'static Format,
    b: &'static Format,
    c: &'static Format,
    accumulator: Accumulator,
}

/// Exact value of a dot-product-add, with NaN, infinities and zeros as in IEEE 754.
#[derive(Debug)]
pub struct ExactSum<'a> {
    /// The sum of the finite terms; mutable because a measurement subtracts the result and adds it back.
    pub(super) accumulator: &'a mut Accumulator,
    /// NaN or an infinity, if a term makes the sum one.
    pub(super) special: Option<Real>,
    /// True if every term, c included, is -0, so that the sum is -0; every other zero sum is +0.
    negative_zero: bool,
}

impl Dot {
    /// Buffer for `terms` products of `a` and `b` codes and one `c` code, for comparison with codes of `d`.
    pub fn new(a: &'static Format, b: &'static Format, c: &'static Format, d: &Format, terms: usize) -> Self {
        Dot { a, b, c, accumulator: Accumulator::for_dot(a, b, c, d, terms) }
    }

    /// Exact sum of the products of (a, b) code pairs and of the c code; c alone without pairs.
    /// Bits above a format's width and padding bits are ignored. More pairs than the buffer was made for may wrap
    /// around.
    #[inline]
    pub fn sum(&mut self, pairs: impl IntoIterator<Item = (u64, u64)>, c: u64) -> ExactSum<'_> {
        self.accumulator.clear();
        let c = self.c.decode(c);
        let mut seen = SeenTerms { negative_zeros_only: true, ..SeenTerms::default() };
        seen.note(c.class, c.negative);
        self.accumulator.add_decoded(&c);
        for (a, b) in pairs {
            let (a, b) = (self.a.decode(a), self.b.decode(b));
            seen.note(product_class(a.class, b.class), a.negative != b.negative);
            self.accumulator.add_product(&a, &b);
        }
        let special = match seen.infinities {
            [true, true] => Some(Real::Nan),
            _ if seen.nan => Some(Real::Nan),
            [false, false] => None,
            [_, negative] => Some(Real::Infinity { negative }),
        };
        ExactSum { accumulator: &mut self.accumulator, special, negative_zero: seen.negative_zeros_only }
    }
}

/// Kinds of terms that occurred.
#[derive(Default)]
struct SeenTerms {
    nan: bool,
    /// Infinities that occurred: positive, negative.
    infinities: [bool; 2],
    negative_zeros_only: bool,
}

impl SeenTerms {
    #[inline]
    fn note(&mut self, class: Class, negative: bool) {
        self.nan |= class == Class::Nan;
        self.infinities[usize::from(negative)] |= class == Class::Infinite;
        self.negative_zeros_only &= class == Class::Zero && negative;
    }
}

/// Class of a product; every non-zero finite product counts as normal.
#[inline]
fn product_class(x: Class, y: Class) -> Class {
    match (x, y) {
        (Class::Nan, _) | (_, Class::Nan) => Class::Nan,
        (Class::Infinite, Class::Zero) | (Class::Zero, Class::Infinite) => Class::Nan,
        (Class::Infinite, _) | (_, Class::Infinite) => Class::Infinite,
        (Class::Zero, _) | (_, Class::Zero) => Class::Zero,
        _ => Class::Normal,
    }
}

impl ExactSum<'_> {
    /// The sum as input of encoding: exact up to 128 bits, else sticky.
    pub fn real(&self) -> Real {
        self.special.unwrap_or_else(|| match self.accumulator.to_finite() {
            zero if zero.is_zero() => Real::Finite(Finite::zero(self.negative_zero)),
            finite => Real::Finite(finite),
        })
    }

    /// The sum correctly rounded to a code of `format`; `None` for NaN in a format without NaN.
    /// Integer formats saturate. A sum of exactly zero keeps its sign under every rounding (IEEE 754 leaves it open for
    /// reductions).
    pub fn round(&self, format: &Format, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        format.encode(&self.real(), rounding, overflow)
    }

    /// The sum, rounded toward minus infinity, modulo `2^bits`, as accumulated in an integer format.
    /// `None` for a NaN or infinite sum and for floating-point formats.
    pub fn wrapped(&self, format: &Format) -> Option<u64> {
        let finite = self.special.is_none() && format.is_integer();
        finite.then(|| self.accumulator.floor_modulo() & format.code_mask())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::find;

    const STANDARD: Overflow = Overflow::Standard;

    fn f32_sum(pairs: &[(f32, f32)], c: f32) -> f32 {
        let f32 = find("f32").unwrap();
        let pairs = pairs.iter().map(|(a, b)| (a.to_bits().into(), b.to_bits().into()));
        let code = Dot::new(f32, f32, f32, f32, 4).sum(pairs, c.to_bits().into()).round(f32, Rounding::Rne, STANDARD);
        f32::from_bits(code.unwrap() as u32)
    }

    #[test]
    fn special_operands_follow_ieee_754() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for pairs in [
            &[(nan, 1.0)][..],
            &[(0.0, nan)],
            &[(inf, 0.0)],
            &[(-0.0, -inf)],
            &[(inf, 1.0), (inf, -1.0)],
            &[(inf, 1.0), (nan, 1.0)],
        ] {
            assert!(f32_sum(pairs, 1.0).is_nan(), "{pairs:?}");
        }
        assert!(f32_sum(&[(inf, 1e-40)], -inf).is_nan());
        assert!(f32_sum(&[], nan).is_nan());
        assert_eq!(f32_sum(&[(inf, -1e-40)], -inf), -inf);
        assert_eq!(f32_sum(&[(f32::MAX, f32::MAX)], -inf), -inf);
        assert_eq!(f32_sum(&[(-inf, -inf), (-f32::MAX, f32::MAX)], 0.0), inf);
    }

    #[test]
    fn zero_is_negative_only_if_every_term_is() {
        for (pairs, c, negative) in [
            (&[][..], -0.0, true),
            (&[], 0.0, false),
            (&[(0.0, -1.0), (-0.0, 0.0)], -0.0, true),
            (&[(0.0, -1.0), (0.0, 0.0)], -0.0, false),
            (&[(0.0, -1.0)], 0.0, false),
            (&[(1.0, -1.0), (1.0, 1.0)], -0.0, false),
        ] {
            let zero = f32_sum(pairs, c);
            assert!(zero == 0.0 && zero.is_sign_negative() == negative, "{pairs:?} {c:?}");
        }
        // Underflow keeps the sign of the exact value.
        assert!(f32_sum(&[(1e-30, -1e-30)], 0.0).is_sign_negative());
    }

    #[test]
    fn products_beyond_the_format_cancel_exactly() {
        assert_eq!(f32_sum(&[(f32::MAX, f32::MAX), (f32::MAX, -f32::MAX)], 1e-45), 1e-45);
        assert_eq!(f32_sum(&[(f32::MAX, f32::MAX), (1e-45, 1e-45), (f32::MAX, -f32::MAX)], 1.0), 1.0);
    }

    #[test]
    fn integers_saturate_or_wrap() {
        let [s8, s32, f16] = ["s8", "s32", "f16"].map(|name| find(name).unwrap());
        let mut dot = Dot::new(s8, s8, s32, s32, 2);
        let mut both = |pairs: [(i8, i8); 2], c: i32| {
            let codes = pairs.map(|(a, b)| (u64::from(a as u8), u64::from(b as u8)));
            let sum = dot.sum(codes, u64::from(c as u32));
            let saturated = sum.round(s32, Rounding::Rne, STANDARD).unwrap() as u32 as i32;
            (saturated, sum.wrapped(s32).unwrap() as u32 as i32)
        };
        assert_eq!(both([(-128, -128), (3, -5)], 7), (16376, 16376));
        assert_eq!(both([(-128, -128), (0, 0)], i32::MAX), (i32::MAX, i32::MIN + 16383));
        assert_eq!(both([(-128, 127), (0, -1)], i32::MIN), (i32::MIN, i32::MAX - 16255));
        let mut floats = Dot::new(f16, f16, f16, f16, 1);
        let sum = floats.sum([(0x3e00, 0xbc00)], 0);
        assert_eq!((sum.wrapped(s32), sum.wrapped(f16)), (Some(0xffff_fffe), None));
    }

    #[test]
    fn a_buffer_is_clean_after_every_sample() {
        let [bf16, f32] = ["bf16", "f32"].map(|name| find(name).unwrap());
        let mut reused = Dot::new(bf16, bf16, f32, f32, 3);
        for seed in 0..5000u64 {
            let code = |i: u64| (seed * 7919 + i * 104_729).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
            let pairs = [(code(0), code(1)), (code(2), code(3)), (code(4), code(5))];
            let again = reused.sum(pairs, code(6) << 16).round(f32, Rounding::Rne, STANDARD);
            let fresh = Dot::new(bf16, bf16, f32, f32, 3).sum(pairs, code(6) << 16).round(f32, Rounding::Rne, STANDARD);
            assert_eq!(again, fresh);
        }
    }
}
