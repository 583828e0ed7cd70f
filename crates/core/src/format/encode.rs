//! Encoding: from an exact value to a code, rounded once.

use super::{Encoding, Float, Format, Overflow, Specials, Zeros, layout::Layout};
use crate::number::{Finite, Real, Rounding};

impl Format {
    /// Code of `value`, rounded once; `None` for NaN in a format without NaN.
    ///
    /// - A value that rounds beyond the largest finite magnitude follows `overflow`.
    /// - A zero keeps its sign where the format has both zeros. A format without zero (e8m0) gets its smallest number.
    /// - A negative value, minus infinity included, in an unsigned format is NaN (zero for integers, by saturation).
    /// - NaN gives the canonical NaN: positive with only the leading trailing bit set (IEEE 754), or the format's only
    ///   NaN.
    /// - In a format by table, RNE takes the table's own boundaries and ties, and no other rule asks for fields: RZ takes
    ///   the neighbour towards zero, RO the one that RNE's even codes do not prefer, SR compares with the way between
    ///   the neighbours. Of several codes of one value, the lowest is given.
    ///
    /// Example: 464 lies half-way between 448 and 480 in e4m3, whose largest number is 448 = `0x7e`: RNE gives `0x7e`.
    pub fn encode(&self, value: &Real, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        match &self.encoding {
            Encoding::Float(float) => match value {
                Real::Nan => float.nan(),
                Real::Infinity { negative } => float.overflowed(*negative, None, overflow),
                Real::Finite(finite) => float.encode(finite, rounding, overflow),
            },
            Encoding::Integer { signed } => self.encode_integer(*signed, value, rounding),
            Encoding::Table(table) => table.encode(value, rounding, overflow),
        }
    }

    /// Code of a host double; see [`Format::encode`].
    pub fn encode_f64(&self, value: f64, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        self.encode(&Real::from(value), rounding, overflow)
    }

    /// Canonical NaN; `None` in a format without NaN.
    pub fn nan(&self) -> Option<u64> {
        match &self.encoding {
            Encoding::Float(float) => float.nan(),
            Encoding::Integer { .. } => None,
            Encoding::Table(table) => table.nan(),
        }
    }

    /// Quiet NaN with this sign and trailing significand, its leading bit set; `None` without NaN.
    /// This is how IEEE 754 operations propagate a NaN operand. A format with a single NaN gives that one.
    pub fn quiet_nan(&self, negative: bool, trailing: u64) -> Option<u64> {
        let Encoding::Float(float) = &self.encoding else { return self.nan() };
        match float.specials {
            Specials::Ieee => {
                let quiet = trailing | 1 << (float.trailing_bits - 1);
                Some(float.assemble(negative, (1 << float.exponent_bits) - 1, quiet))
            }
            _ => float.nan(),
        }
    }

    /// Infinity of the given sign; `None` in a format without infinities.
    pub fn infinity(&self, negative: bool) -> Option<u64> {
        match &self.encoding {
            Encoding::Float(float) => float.infinity(negative),
            Encoding::Integer { .. } => None,
            Encoding::Table(table) => table.infinity(negative),
        }
    }

    /// Largest finite number of the given sign; the smallest number for -, in unsigned formats.
    pub fn largest(&self, negative: bool) -> u64 {
        match &self.encoding {
            Encoding::Float(float) => float.largest_code(negative),
            Encoding::Table(table) => table.largest(negative),
            Encoding::Integer { signed: true } => (1 << (self.bits - 1)) - u64::from(!negative),
            Encoding::Integer { signed: false } => {
                if negative {
                    0
                } else {
                    self.code_mask()
                }
            }
        }
    }

    /// Zero of the given sign; +0 where the format has no -0, `None` where it has no zero.
    pub fn zero(&self, negative: bool) -> Option<u64> {
        match &self.encoding {
            Encoding::Float(float) => float.zero(negative),
            Encoding::Integer { .. } => Some(0),
            Encoding::Table(table) => table.zero(negative),
        }
    }

    fn encode_integer(&self, signed: bool, value: &Real, rounding: Rounding) -> Option<u64> {
        let (negative, magnitude) = match value {
            Real::Nan => return None,
            Real::Infinity { negative } => (*negative, u128::MAX),
            Real::Finite(finite) => (finite.negative, finite.round_to_quantum(0, rounding).0),
        };
        let limit = match (signed, negative) {
            (true, true) => 1u128 << (self.bits - 1),
            (true, false) => (1 << (self.bits - 1)) - 1,
            (false, true) => 0,
            (false, false) => self.code_mask().into(),
        };
        let magnitude = magnitude.min(limit) as u64;
        Some(if negative { magnitude.wrapping_neg() } else { magnitude } & self.code_mask())
    }
}

impl Float {
    fn encode(&self, value: &Finite, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        let layout = Layout::of(self);
        let Some((significand, leading)) = value.left_justified() else {
            return Some(self.zero(value.negative).unwrap_or(layout.assemble(value.negative, 0)));
        };
        if value.negative && !self.signed {
            return self.nan().or_else(|| self.zero(false));
        }
        match layout.round(value.negative, leading, significand, rounding).magnitude {
            0 => Some(self.zero(value.negative).unwrap_or(layout.assemble(value.negative, 0))),
            magnitude if magnitude <= layout.largest => Some(layout.assemble(value.negative, magnitude)),
            _ => self.overflowed(value.negative, Some(rounding), overflow),
        }
    }

    #[inline]
    fn assemble(&self, negative: bool, biased: u64, trailing: u64) -> u64 {
        let sign = u64::from(negative && self.signed);
        ((sign << self.exponent_bits | biased) << self.trailing_bits | trailing) << self.padding_bits
    }

    #[inline]
    fn of_magnitude(&self, negative: bool, magnitude: u64) -> u64 {
        self.assemble(negative, 0, magnitude)
    }

    /// Code of an overflow: of a rounded finite value, or of an infinity (`None`).
    pub(crate) fn overflowed(&self, negative: bool, rounding: Option<Rounding>, overflow: Overflow) -> Option<u64> {
        if negative && !self.signed {
            return self.nan().or_else(|| self.zero(false));
        }
        let inward = rounding.is_some_and(|rounding| rounding.points_inward(negative));
        let largest = self.largest_code(negative);
        match overflow {
            Overflow::Standard if inward => Some(largest),
            Overflow::Standard if self.overflow != Overflow::Standard => {
                self.overflowed(negative, rounding, self.overflow)
            }
            Overflow::Saturate => Some(largest),
            Overflow::SaturateFinite if rounding.is_some() => Some(largest),
            Overflow::SaturateFinite => Some(self.infinity(negative).unwrap_or(largest)),
            Overflow::Nan => Some(self.nan().unwrap_or(largest)),
            Overflow::Infinity | Overflow::Standard => {
                Some(self.infinity(negative).or_else(|| self.nan()).unwrap_or(largest))
            }
        }
    }

    fn largest_code(&self, negative: bool) -> u64 {
        if negative && !self.signed {
            return self.zero(false).unwrap_or_else(|| self.assemble(false, 0, 0));
        }
        self.of_magnitude(negative, self.largest_magnitude())
    }

    fn infinity(&self, negative: bool) -> Option<u64> {
        if negative && !self.signed {
            return None;
        }
        self.specials.has_infinity().then(|| self.of_magnitude(negative, self.largest_magnitude() + 1))
    }

    fn nan(&self) -> Option<u64> {
        let (exponent, trailing) = ((1 << self.exponent_bits) - 1, (1 << self.trailing_bits) - 1);
        match self.specials {
            Specials::Ieee => Some(self.assemble(false, exponent, 1 << (self.trailing_bits - 1))),
            Specials::AllOnesNan | Specials::AllOnesNanInfinity => Some(self.assemble(false, exponent, trailing)),
            Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity => Some(self.assemble(true, 0, 0)),
            Specials::None => None,
        }
    }

    fn zero(&self, negative: bool) -> Option<u64> {
        match self.zeros {
            Zeros::None => None,
            Zeros::Positive => Some(0),
            Zeros::Both => Some(self.assemble(negative, 0, 0)),
        }
    }
}
