//! Constants of the conversion of `f32` to a floating-point format.

use crate::format::{Finite, Float, Format, Overflow, Real, Rounding, Zeros};

/// Exponent beyond the range of every `f32`; larger ones make no difference.
const FAR: i32 = 1 << 20;

/// Trailing significand bits of an `f32`.
pub(super) const TRAILING_BITS: u32 = 23;

/// Bits of infinity in `f32`; its NaNs have larger magnitudes.
pub(super) const INFINITY: u32 = 0x7f80_0000;

/// Constants that determine the codes of a floating-point format.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloatConstants {
    /// Trailing significand bits of the format.
    pub(super) trailing_bits: u32,
    /// Bits of a normal `f32` significand that the format lacks.
    pub(super) dropped: u32,
    pub(super) padding_bits: u32,
    /// Biased exponent in `f32` of the format's smallest normal number, which decides the quantum.
    pub(super) lowest: i32,
    /// Exponents above `lowest` from which on every number overflows.
    pub(super) highest: u32,
    /// Difference between `1 << trailing_bits` and the fields of the smallest normal number.
    /// Smaller results become that number in a format without zero and subnormals.
    pub(super) floor: u32,
    /// Mask of the exponent's bits that decide ties: 1 without trailing bits, in a format with a zero.
    pub(super) parity: u32,
    /// Fields (exponent and trailing significand) of the largest finite number.
    pub(super) largest: u32,
    pub(super) sign_bit: u32,
    /// Codes of zeros, by sign.
    pub(super) zeros: [u32; 2],
    /// Codes of overflows, by sign.
    pub(super) overflowed: [u32; 2],
    /// Codes of infinities, by sign.
    pub(super) infinities: [u32; 2],
    /// Code of every NaN.
    pub(super) nan: u32,
    /// Code of every negative number, in an unsigned format.
    pub(super) negative: Option<u32>,
    /// True if the format has no code for NaN; true if it has none for negative numbers.
    pub(super) lacks: [bool; 2],
}

/// Order of the smallest normal numbers of the two formats, which decides the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    /// The same number: every significand loses the same bits.
    Aligned,
    /// `f32` has the smaller one: numbers between the two become subnormal.
    Narrower,
    /// `f32` has the greater one, or the format is unsigned or has no zero or no trailing bits.
    Other,
}

impl FloatConstants {
    /// Constants of a format of at most 16 bits.
    pub(super) fn new(format: &Format, float: &Float, rounding: Rounding, overflow: Overflow) -> FloatConstants {
        // Values without a code become the largest number, and are counted.
        let substitute = format.largest(false);
        let code = |value: Real| format.encode(&value, rounding, overflow);
        let or_substitute = |value| code(value).unwrap_or(substitute) as u32;
        let by_sign = |value: fn(bool) -> Real| [false, true].map(|negative| or_substitute(value(negative)));
        let below = Real::Finite(Finite::exact(true, 1, 0));
        let emin = float.emin().clamp(-FAR, FAR);
        FloatConstants {
            trailing_bits: float.trailing_bits,
            dropped: TRAILING_BITS - float.trailing_bits,
            padding_bits: float.padding_bits,
            lowest: emin + 127,
            highest: 1 << float.exponent_bits,
            floor: u32::from(float.emin() != 1 - float.bias) << float.trailing_bits,
            parity: u32::from(float.trailing_bits == 0 && float.zeros != Zeros::None),
            largest: float.largest_magnitude() as u32,
            sign_bit: if float.signed { 1 << (format.bits - 1) } else { 0 },
            zeros: by_sign(|negative| Real::Finite(Finite::zero(negative))),
            overflowed: by_sign(|negative| Real::Finite(Finite::exact(negative, 1, i32::MAX / 4))),
            infinities: by_sign(|negative| Real::Infinity { negative }),
            nan: or_substitute(Real::Nan),
            negative: (!float.signed).then(|| or_substitute(below)),
            lacks: [code(Real::Nan).is_none(), code(below).is_none()],
        }
    }

    /// Constants for values that are to be divided by `2^exponent`.
    #[inline(always)]
    pub(super) fn divided(&self, exponent: i32) -> FloatConstants {
        FloatConstants { lowest: self.lowest + exponent, ..*self }
    }

    pub(super) fn layout(&self) -> Overlap {
        match self.lowest {
            _ if self.negative.is_some() || self.floor != 0 || self.parity != 0 => Overlap::Other,
            1 => Overlap::Aligned,
            2.. => Overlap::Narrower,
            _ => Overlap::Other,
        }
    }
}
