//! What a format is: its record, and what follows from the record alone.

use super::Overflow;

/// One number format: a width, a name and what its codes mean.
#[derive(Debug, PartialEq, Eq)]
pub struct Format {
    /// The canonical name, as reports print it.
    pub name: &'static str,
    /// Other accepted spellings, in lower case.
    pub aliases: &'static [&'static str],
    /// Width of a code in bits, padding included (tf32: 32, because its codes are 32-bit containers).
    pub bits: u32,
    /// What the bits mean.
    pub encoding: Encoding,
    /// The document that defines the format.
    pub source: &'static str,
}

/// What the bits of a code mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// A binary floating-point format.
    Float(Float),
    /// A two's complement (`signed`) or plain binary integer of the full width.
    Integer {
        /// Whether codes are two's complement.
        signed: bool,
    },
}

/// The fields of a binary floating-point format, from the most significant bit down: sign (if signed),
/// biased exponent, trailing significand, padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Float {
    /// Whether the top bit is a sign.
    pub signed: bool,
    /// Width of the biased exponent field in bits.
    pub exponent_bits: u32,
    /// Width of the trailing significand field in bits; the precision is one more.
    pub trailing_bits: u32,
    /// Low bits of the container that carry no information: ignored on decoding, zero on encoding.
    pub padding_bits: u32,
    /// What is subtracted from the biased exponent of a normal number.
    pub bias: i32,
    /// Which zeros exist.
    pub zeros: Zeros,
    /// Whether a biased exponent of zero means a subnormal number (else it is an ordinary exponent; only in a format
    /// without zero).
    pub subnormals: bool,
    /// Which codes are infinities and NaNs.
    pub specials: Specials,
    /// What the format's own standard does with a value too large for it.
    pub overflow: Overflow,
}

/// Which zeros a floating-point format has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zeros {
    /// No code is zero (e8m0).
    None,
    /// Only +0 (unsigned formats; FNUZ formats, whose code of -0 is the NaN).
    Positive,
    /// +0 and -0.
    Both,
}

/// Which codes of a floating-point format are infinities and NaNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specials {
    /// IEEE 754: the largest biased exponent holds the infinities (trailing significand zero) and the NaNs.
    Ieee,
    /// Only the code with all bits of exponent and trailing significand set (of either sign) is NaN; no infinity.
    AllOnesNan,
    /// Only the code of -0 is NaN; no infinity (FNUZ: finite, unsigned zero).
    NegativeZeroNan,
    /// Every code is a finite number.
    None,
}

impl Format {
    /// Bytes of the smallest unsigned integer (1, 2, 4 or 8) that holds a code.
    pub fn bytes(&self) -> usize {
        self.bits.next_power_of_two().max(8) as usize / 8
    }

    /// The mask of the bits that a code may use: `2^bits - 1`.
    pub fn code_mask(&self) -> u64 {
        if self.bits == 64 { u64::MAX } else { (1 << self.bits) - 1 }
    }

    /// The floating-point record, or `None` for an integer format.
    pub fn float(&self) -> Option<&Float> {
        match &self.encoding {
            Encoding::Float(float) => Some(float),
            Encoding::Integer { .. } => None,
        }
    }

    /// Whether this is an integer format.
    pub fn is_integer(&self) -> bool {
        matches!(self.encoding, Encoding::Integer { .. })
    }

    /// Fraction bits of a decoded significand: the trailing significand width; 0 for integers.
    /// A decoded number's significand divided by `2^fraction_bits` lies in [0, 2) for floating-point formats.
    pub fn fraction_bits(&self) -> u32 {
        self.float().map_or(0, |f| f.trailing_bits)
    }

    /// Whether the format has at least one NaN code.
    pub fn has_nan(&self) -> bool {
        self.float().is_some_and(|f| f.specials != Specials::None)
    }

    /// Whether the format has infinities.
    pub fn has_infinity(&self) -> bool {
        self.float().is_some_and(|f| f.specials == Specials::Ieee)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}

impl Float {
    /// Bits of the significand, the leading bit included (IEEE 754: p).
    pub const fn precision(&self) -> u32 {
        self.trailing_bits + 1
    }

    /// Exponent of the smallest normal number (IEEE 754: emin). Without subnormals a biased exponent of
    /// zero is an ordinary one, except where that code is the only zero.
    pub const fn emin(&self) -> i32 {
        if self.subnormals || !matches!(self.zeros, Zeros::None) { 1 - self.bias } else { -self.bias }
    }

    /// Biased exponent and trailing significand of the largest finite number.
    pub(crate) const fn largest_fields(&self) -> (u64, u64) {
        let exponent = (1u64 << self.exponent_bits) - 1;
        let trailing = (1u64 << self.trailing_bits) - 1;
        match self.specials {
            Specials::Ieee => (exponent - 1, trailing),
            Specials::AllOnesNan if self.trailing_bits == 0 => (exponent - 1, 0),
            Specials::AllOnesNan => (exponent, trailing - 1),
            Specials::NegativeZeroNan | Specials::None => (exponent, trailing),
        }
    }

    /// Exponent of the largest finite number (IEEE 754: emax).
    pub const fn emax(&self) -> i32 {
        self.largest_fields().0 as i32 - self.bias
    }
}
