//! Formats: the record of a format, and properties that follow from the record alone.

use super::{Overflow, ValueTable};
use crate::base::words::words;

/// Number format: a width, a name and the meaning of its codes.
#[derive(Debug, PartialEq, Eq)]
pub struct Format {
    /// Canonical name in reports.
    pub name: &'static str,
    /// Other accepted spellings, in lower case.
    pub aliases: &'static [&'static str],
    /// Width of a code in bits, padding included (tf32: 32, because its codes are 32-bit containers).
    pub bits: u32,
    /// Meaning of the bits.
    pub encoding: Encoding,
    /// Document that defines the format.
    pub source: &'static str,
}

/// Meaning of the bits of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// A binary floating-point format.
    Float(Float),
    /// Integer of the full width: two's complement (`signed`) or plain binary.
    Integer {
        /// True for two's complement.
        signed: bool,
    },
    /// One value for each code, in any order.
    Table(&'static ValueTable),
}

/// Fields of a binary floating-point format.
/// From the most significant bit down: sign (if signed), biased exponent, trailing significand, padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Float {
    /// True if the top bit is a sign.
    pub signed: bool,
    /// Width of the biased exponent field in bits.
    pub exponent_bits: u32,
    /// Width of the trailing significand field in bits; the precision is one more.
    pub trailing_bits: u32,
    /// Low bits of the container without information: ignored on decoding, zero on encoding.
    pub padding_bits: u32,
    /// Bias: subtracted from the biased exponent of a normal number.
    pub bias: i32,
    /// Zeros that exist.
    pub zeros: Zeros,
    /// True if a biased exponent of zero means a subnormal number.
    /// Only a format without zero may have false: there it is an ordinary exponent.
    pub subnormals: bool,
    /// Codes of infinities and NaNs.
    pub specials: Specials,
    /// Result of overflow in the format's own standard.
    pub overflow: Overflow,
}

/// Zeros of a floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zeros {
    /// No code is zero (e8m0).
    None,
    /// Only +0 (unsigned formats; FNUZ formats, whose code of -0 is the NaN).
    Positive,
    /// +0 and -0.
    Both,
}

words!(named pub(crate) Zeros: "none" = None, "positive" = Positive, "both" = Both);

/// Codes of infinities and NaNs of a floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specials {
    /// IEEE 754: the largest biased exponent has the infinities (trailing significand zero) and NaNs.
    Ieee,
    /// One NaN of either sign, all bits of exponent and trailing significand set; no infinity.
    AllOnesNan,
    /// One NaN, the code of -0; no infinity (FNUZ: finite, unsigned zero).
    NegativeZeroNan,
    /// One NaN of either sign, all bits set; the code before it is an infinity (P3109, unsigned).
    AllOnesNanInfinity,
    /// One NaN, the code of -0; infinities have all bits but the sign set (P3109, signed).
    NegativeZeroNanInfinity,
    /// Every code is a finite number.
    None,
}

words!(
    named pub Specials:
    "ieee" = Ieee,
    "all-ones-nan" = AllOnesNan,
    "negative-zero-nan" = NegativeZeroNan,
    "all-ones-nan-infinity" = AllOnesNanInfinity,
    "negative-zero-nan-infinity" = NegativeZeroNanInfinity,
    "none" = None,
);

impl Specials {
    /// True if there are infinities. Their magnitude comes after the largest number's.
    pub(crate) const fn has_infinity(self) -> bool {
        matches!(self, Specials::Ieee | Specials::AllOnesNanInfinity | Specials::NegativeZeroNanInfinity)
    }

    /// True if the code of -0 is the NaN.
    pub(crate) const fn takes_negative_zero(self) -> bool {
        matches!(self, Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity)
    }

    /// True if all bits of exponent and trailing significand set are the only NaN.
    pub(crate) const fn takes_all_ones(self) -> bool {
        matches!(self, Specials::AllOnesNan | Specials::AllOnesNanInfinity)
    }
}

impl Format {
    /// Bytes of the smallest unsigned integer (1, 2, 4 or 8) that holds a code.
    pub fn bytes(&self) -> usize {
        self.bits.next_power_of_two().max(8) as usize / 8
    }

    /// Mask of the bits of a code: `2^bits - 1`.
    pub fn code_mask(&self) -> u64 {
        if self.bits == 64 { u64::MAX } else { (1 << self.bits) - 1 }
    }

    /// Floating-point record; `None` for an integer format and for a format by table.
    pub fn float(&self) -> Option<&Float> {
        match &self.encoding {
            Encoding::Float(float) => Some(float),
            Encoding::Integer { .. } | Encoding::Table(_) => None,
        }
    }

    /// Values of a format by table; `None` for others.
    pub fn table(&self) -> Option<&'static ValueTable> {
        match self.encoding {
            Encoding::Table(table) => Some(table),
            Encoding::Float(_) | Encoding::Integer { .. } => None,
        }
    }

    /// True for an integer format.
    pub fn is_integer(&self) -> bool {
        matches!(self.encoding, Encoding::Integer { .. })
    }

    /// Width of the trailing significand in bits; 0 for integers.
    /// A decoded significand divided by `2^fraction_bits` lies in [0, 2), except for integers; in a format by table, in
    /// [1, 2) for every number but zero.
    pub fn fraction_bits(&self) -> u32 {
        match &self.encoding {
            Encoding::Float(float) => float.trailing_bits,
            Encoding::Integer { .. } => 0,
            Encoding::Table(table) => table.fraction_bits(),
        }
    }

    /// True if the format has at least one NaN code.
    pub fn has_nan(&self) -> bool {
        match &self.encoding {
            Encoding::Float(float) => float.specials != Specials::None,
            Encoding::Integer { .. } => false,
            Encoding::Table(table) => table.values().iter().any(|value| value.is_nan()),
        }
    }

    /// True if the format has infinities.
    pub fn has_infinity(&self) -> bool {
        match &self.encoding {
            Encoding::Float(float) => float.specials.has_infinity(),
            Encoding::Integer { .. } => false,
            Encoding::Table(table) => table.values().iter().any(|value| value.is_infinite()),
        }
    }

    /// True if the format has negative numbers.
    pub fn is_signed(&self) -> bool {
        match &self.encoding {
            Encoding::Float(float) => float.signed,
            Encoding::Integer { signed } => *signed,
            Encoding::Table(table) => table.values().iter().any(|value| *value < 0.0),
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}

impl Float {
    /// Significand bits, the leading bit included (IEEE 754: p).
    pub const fn precision(&self) -> u32 {
        self.trailing_bits + 1
    }

    /// Exponent of the smallest normal number (IEEE 754: emin).
    /// Without subnormals a biased exponent of zero is an ordinary one, except where that code is the only zero.
    pub const fn emin(&self) -> i32 {
        if self.subnormals || !matches!(self.zeros, Zeros::None) { 1 - self.bias } else { -self.bias }
    }

    /// Biased exponent and trailing significand of the largest finite number, as one integer.
    pub(crate) const fn largest_magnitude(&self) -> u64 {
        let all_ones = (1u64 << (self.exponent_bits + self.trailing_bits)) - 1;
        match self.specials {
            Specials::Ieee => all_ones - (1 << self.trailing_bits),
            Specials::AllOnesNan | Specials::NegativeZeroNanInfinity => all_ones - 1,
            Specials::AllOnesNanInfinity => all_ones - 2,
            Specials::NegativeZeroNan | Specials::None => all_ones,
        }
    }

    /// Exponent of the largest finite number (IEEE 754: emax).
    pub const fn emax(&self) -> i32 {
        (self.largest_magnitude() >> self.trailing_bits) as i32 - self.bias
    }
}
