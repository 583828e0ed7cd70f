//! What the conversion of `f32` to a floating-point format depends on, as constants.

use crate::format::{Finite, Float, Format, Overflow, Real, Rounding};

/// Exponents beyond the range of every `f32`: what lies further out makes no difference.
const FAR: i32 = 1 << 20;

/// Trailing significand bits of an `f32`.
pub(super) const TRAILING_BITS: u32 = 23;

/// The bits of an infinite `f32`; of its NaNs, the magnitudes above.
pub(super) const INFINITY: u32 = 0x7f80_0000;

/// How the codes of a floating-point format come about.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloatConstants {
    /// Trailing significand bits of the format.
    pub(super) trailing_bits: u32,
    /// Bits of a normal significand of `f32` that the format lacks.
    pub(super) dropped: u32,
    pub(super) padding_bits: u32,
    /// The biased exponent in `f32` of the format's smallest normal number: the quantum is that of this exponent below.
    pub(super) lowest: i32,
    /// Exponents above `lowest` from which on every number lies beyond the range.
    pub(super) highest: u32,
    /// What the fields of the smallest normal number lack for being `1 << trailing_bits`: smaller results, which a format
    /// without zero and subnormal numbers lacks, become that number.
    pub(super) floor: u32,
    /// The fields (exponent and trailing significand) of the largest finite number.
    pub(super) largest: u32,
    pub(super) sign_bit: u32,
    /// The codes of zeros, by sign.
    pub(super) zeros: [u32; 2],
    /// The codes of what rounds to a number beyond the largest, by sign.
    pub(super) overflowed: [u32; 2],
    /// The codes of infinities, by sign.
    pub(super) infinities: [u32; 2],
    /// The code of every NaN.
    pub(super) nan: u32,
    /// In an unsigned format, the code of every negative number.
    pub(super) negative: Option<u32>,
    /// Whether the format has no code for NaNs, and none for negative numbers.
    pub(super) lacks: [bool; 2],
}

/// How the smallest normal numbers of the two formats compare, and with it how much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    /// They are the same number: every significand loses the same bits.
    Aligned,
    /// That of `f32` is smaller: numbers between the two become subnormal.
    Narrower,
    /// That of `f32` is greater, or the format is unsigned or has no zero.
    Other,
}

impl FloatConstants {
    /// For a format of at most 16 bits.
    pub(super) fn new(format: &Format, float: &Float, rounding: Rounding, overflow: Overflow) -> FloatConstants {
        // What has no code becomes the largest number, and is counted.
        let substitute = format.largest(false);
        let code = |value: Real| format.encode(&value, rounding, overflow);
        let or_substitute = |value| code(value).unwrap_or(substitute) as u32;
        let by_sign = |value: fn(bool) -> Real| [false, true].map(|negative| or_substitute(value(negative)));
        let below = Real::Finite(Finite::exact(true, 1, 0));
        let (biased, trailing) = float.largest_fields();
        let emin = float.emin().clamp(-FAR, FAR);
        FloatConstants {
            trailing_bits: float.trailing_bits,
            dropped: TRAILING_BITS - float.trailing_bits,
            padding_bits: float.padding_bits,
            lowest: emin + 127,
            highest: 1 << float.exponent_bits,
            floor: u32::from(float.emin() != 1 - float.bias) << float.trailing_bits,
            largest: (biased << float.trailing_bits | trailing) as u32,
            sign_bit: if float.signed { 1 << (format.bits - 1) } else { 0 },
            zeros: by_sign(|negative| Real::Finite(Finite::zero(negative))),
            overflowed: by_sign(|negative| Real::Finite(Finite::exact(negative, 1, i32::MAX / 4))),
            infinities: by_sign(|negative| Real::Infinity { negative }),
            nan: or_substitute(Real::Nan),
            negative: (!float.signed).then(|| or_substitute(below)),
            lacks: [code(Real::Nan).is_none(), code(below).is_none()],
        }
    }

    /// The plan for values that are to be divided by `2^exponent`.
    #[inline(always)]
    pub(super) fn divided(&self, exponent: i32) -> FloatConstants {
        FloatConstants { lowest: self.lowest + exponent, ..*self }
    }

    pub(super) fn layout(&self) -> Overlap {
        match self.lowest {
            _ if self.negative.is_some() || self.floor != 0 => Overlap::Other,
            1 => Overlap::Aligned,
            2.. => Overlap::Narrower,
            _ => Overlap::Other,
        }
    }
}
