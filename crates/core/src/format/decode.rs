//! Exact decoding: from a code to class, sign, significand and exponent.

use super::{Encoding, Float, Format, Specials, Zeros};
use crate::number::{Finite, Real, ldexp};

/// The class of a code's datum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Not a number.
    Nan,
    /// Plus or minus infinity.
    Infinite,
    /// Plus or minus zero.
    Zero,
    /// Non-zero, below the smallest normal magnitude.
    Subnormal,
    /// Every other number; every non-zero integer.
    Normal,
}

/// Decoded code; finite classes are `(-1)^negative * significand * 2^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// Class of the datum.
    pub class: Class,
    /// Sign, also of a zero, infinity or NaN.
    pub negative: bool,
    /// Integer significand with the hidden bit; 0 for zero and infinity.
    /// For a NaN, the trailing significand: payload and quiet bit.
    pub significand: u64,
    /// Quantum exponent: the weight of the significand's last bit, as a power of two.
    /// Subnormals and zeros have that of the smallest normal number.
    pub exponent: i32,
}

impl Format {
    /// Decodes a code exactly: class, sign, integer significand and quantum exponent.
    /// Bits above the format's width and padding bits are ignored. Example: e4m3 code `0x38` is `8 * 2^-3 = 1`.
    #[inline]
    pub fn decode(&self, code: u64) -> Decoded {
        match &self.encoding {
            Encoding::Float(float) => float.decode(code),
            Encoding::Table(table) => table.decode(code),
            Encoding::Integer { signed } => {
                let unused = 64 - self.bits;
                let code = code << unused;
                let negative = *signed && code >> 63 == 1;
                let significand = if negative { (code as i64 >> unused).unsigned_abs() } else { code >> unused };
                let class = if significand == 0 { Class::Zero } else { Class::Normal };
                Decoded { class, negative, significand, exponent: 0 }
            }
        }
    }

    /// Exact value of a code.
    pub fn value(&self, code: u64) -> Real {
        self.decode(code).real()
    }

    /// Value of a code as a host double.
    /// It is exact but for 64-bit integers, which are rounded to nearest, ties to even.
    pub fn to_f64(&self, code: u64) -> f64 {
        self.decode(code).to_f64()
    }
}

impl Format {
    /// Value of a code as if the format had no infinities and NaNs.
    /// Integers and tables decode as in [`Format::decode`].
    pub(crate) fn decode_as_number(&self, code: u64) -> Decoded {
        match &self.encoding {
            Encoding::Float(float) => Float { specials: Specials::None, ..*float }.decode(code),
            _ => self.decode(code),
        }
    }
}

impl Float {
    #[inline]
    fn decode(&self, code: u64) -> Decoded {
        let code = code >> self.padding_bits;
        let trailing = code & ((1 << self.trailing_bits) - 1);
        let biased = code >> self.trailing_bits & ((1 << self.exponent_bits) - 1);
        let negative = self.signed && code >> (self.trailing_bits + self.exponent_bits) & 1 == 1;
        let quantum = |biased: u64| biased as i32 - self.bias - self.trailing_bits as i32;
        let datum = |class, significand, exponent| Decoded { class, negative, significand, exponent };
        let smallest = quantum(u64::from(self.subnormals || self.zeros != Zeros::None));

        if self.is_nan(negative, biased, trailing) {
            datum(Class::Nan, trailing, smallest)
        } else if self.is_infinite(biased, trailing) {
            datum(Class::Infinite, 0, smallest)
        } else if biased == 0 && trailing == 0 && self.zeros != Zeros::None {
            datum(Class::Zero, 0, smallest)
        } else if biased == 0 && self.subnormals {
            datum(Class::Subnormal, trailing, smallest)
        } else {
            datum(Class::Normal, trailing | 1 << self.trailing_bits, quantum(biased))
        }
    }

    fn is_nan(&self, negative: bool, biased: u64, trailing: u64) -> bool {
        let top = biased == (1 << self.exponent_bits) - 1;
        match self.specials {
            Specials::Ieee => top && trailing != 0,
            Specials::AllOnesNan | Specials::AllOnesNanInfinity => top && trailing == (1 << self.trailing_bits) - 1,
            Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity => negative && biased == 0 && trailing == 0,
            Specials::None => false,
        }
    }

    /// True for the fields of an infinity, or of a NaN above it.
    fn is_infinite(&self, biased: u64, trailing: u64) -> bool {
        self.specials.has_infinity() && biased << self.trailing_bits | trailing > self.largest_magnitude()
    }
}

impl Decoded {
    /// True if the datum is a zero, subnormal or normal number.
    pub fn is_finite(&self) -> bool {
        !matches!(self.class, Class::Nan | Class::Infinite)
    }

    /// Exact value.
    pub(crate) fn real(&self) -> Real {
        match self.class {
            Class::Nan => Real::Nan,
            Class::Infinite => Real::Infinity { negative: self.negative },
            _ => Real::Finite(Finite::exact(self.negative, self.significand.into(), self.exponent)),
        }
    }

    /// Value as a host double, exact for significands of at most 53 bits in the range of binary64.
    pub fn to_f64(&self) -> f64 {
        let magnitude = match self.class {
            Class::Nan => f64::NAN,
            Class::Infinite => f64::INFINITY,
            _ => ldexp(self.significand as f64, self.exponent),
        };
        if self.negative { -magnitude } else { magnitude }
    }
}

impl Class {
    /// Name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Class::Nan => "NaN",
            Class::Infinite => "infinity",
            Class::Zero => "zero",
            Class::Subnormal => "subnormal",
            Class::Normal => "normal",
        }
    }
}
