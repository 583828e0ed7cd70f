//! Encoding: from an exact value to a code, rounded once.

use super::{Encoding, Finite, Float, Format, Real, Specials, Zeros};

/// A rounding direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to the even significand.
    Rne,
    /// To nearest, ties away from zero.
    Rna,
    /// Toward zero.
    Rz,
    /// Toward plus infinity.
    Ru,
    /// Toward minus infinity.
    Rd,
    /// To odd: an inexact result gets an odd significand.
    Ro,
    /// Stochastic: the discarded fraction, cut to `bits` bits, plus `random` (of `bits` bits, 1 to 64) rounds
    /// the magnitude up when the sum carries out.
    Sr {
        /// The random bits, right-aligned; bits above are ignored.
        random: u64,
        /// How many of them there are, 1 to 64.
        bits: u32,
    },
}

/// What becomes of a finite value whose rounded magnitude exceeds the largest finite one, and of an infinity.
///
/// An infinity counts as a value beyond the range, so that saturation makes it finite even where the format has
/// infinities (as OFP8 1.0 has it for saturating conversion to e5m2). Integer formats saturate whatever is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// As the format's own standard says (the `overflow` field of its record). Where that is infinity,
    /// IEEE 754 (clause 7.4) holds: a rounding direction that points inward gives the largest finite number.
    Standard,
    /// Infinity whatever the rounding direction; in a format without infinities as [`Overflow::Nan`].
    Infinity,
    /// NaN; the largest finite number in a format without NaN.
    Nan,
    /// The largest finite number of the same sign.
    Saturate,
}

impl Rounding {
    /// The modes that need no random bits, in the order of the documentation.
    pub const DETERMINISTIC: [Rounding; 6] =
        [Rounding::Rne, Rounding::Rna, Rounding::Rz, Rounding::Ru, Rounding::Rd, Rounding::Ro];

    /// The abbreviation used in reports, options and model files: `RNE`, `RNA`, `RZ`, `RU`, `RD`, `RO`, `SR`.
    pub fn name(&self) -> &'static str {
        match self {
            Rounding::Rne => "RNE",
            Rounding::Rna => "RNA",
            Rounding::Rz => "RZ",
            Rounding::Ru => "RU",
            Rounding::Rd => "RD",
            Rounding::Ro => "RO",
            Rounding::Sr { .. } => "SR",
        }
    }

    /// The deterministic mode with this abbreviation, in any letter case.
    pub fn parse(name: &str) -> Option<Rounding> {
        Self::DETERMINISTIC.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name))
    }

    /// Whether a magnitude with integer part `odd`-or-even and discarded fraction `fraction / 2^128` (plus a
    /// little when `sticky`) is rounded up to the next integer.
    #[inline]
    fn rounds_up(&self, negative: bool, odd: bool, fraction: u128, sticky: bool) -> bool {
        const HALF: u128 = 1 << 127;
        let inexact = fraction != 0 || sticky;
        match self {
            Rounding::Rne => fraction > HALF || fraction == HALF && (sticky || odd),
            Rounding::Rna => fraction >= HALF,
            Rounding::Rz => false,
            Rounding::Ru => inexact && !negative,
            Rounding::Rd => inexact && negative,
            Rounding::Ro => inexact && !odd,
            Rounding::Sr { random, bits } => {
                let kept = fraction >> (128 - bits);
                (kept + u128::from(*random & (u64::MAX >> (64 - bits)))) >> bits != 0
            }
        }
    }
}

impl Finite {
    /// Integer nearest to this number divided by `2^quantum` under `rounding`: the magnitude, saturated at
    /// `2^128 - 1`, and whether the division was exact.
    #[inline]
    pub(crate) fn round_to_quantum(&self, quantum: i32, rounding: Rounding) -> (u128, bool) {
        let shift = quantum.saturating_sub(self.exponent);
        if shift <= 0 {
            let up = rounding.rounds_up(self.negative, self.significand & 1 == 1, 0, self.sticky);
            let left = shift.unsigned_abs();
            let magnitude = if left == 0 {
                self.significand.saturating_add(up.into())
            } else if self.significand.leading_zeros() < left {
                if self.significand == 0 { 0 } else { u128::MAX }
            } else {
                self.significand.checked_shl(left).unwrap_or(0)
            };
            return (magnitude, !self.sticky);
        }
        if rounding == Rounding::Rz {
            let exact = !self.sticky && self.significand.trailing_zeros() >= shift.unsigned_abs();
            return (self.significand.checked_shr(shift.unsigned_abs()).unwrap_or(0), exact || self.is_zero());
        }
        let (integer, fraction, sticky) = match shift {
            1..=127 => (self.significand >> shift, self.significand << (128 - shift), self.sticky),
            128 => (0, self.significand, self.sticky),
            _ => {
                let right = (shift - 128).min(128) as u32;
                let fraction = self.significand.checked_shr(right).unwrap_or(0);
                let lost = fraction.checked_shl(right).unwrap_or(0) != self.significand;
                (0, fraction, self.sticky || lost)
            }
        };
        let up = rounding.rounds_up(self.negative, integer & 1 == 1, fraction, sticky);
        (integer + u128::from(up), fraction == 0 && !sticky)
    }
}

impl Format {
    /// The code of `value`, rounded once; `None` where the format has no code for it (NaN in a format
    /// without NaN).
    ///
    /// - A value that rounds beyond the largest finite magnitude is treated as `overflow` says.
    /// - A zero keeps its sign where the format has both zeros. A format without zero (e8m0) gets its smallest number.
    /// - A negative value, minus infinity included, in an unsigned format is NaN (zero for integers, by saturation).
    /// - NaN gives the canonical NaN: positive with only the leading trailing bit set (IEEE 754), or the format's only NaN.
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
        }
    }

    /// The code of a host double; see [`Format::encode`].
    pub fn encode_f64(&self, value: f64, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        self.encode(&Real::from(value), rounding, overflow)
    }

    /// The canonical NaN, if the format has NaN.
    pub fn nan(&self) -> Option<u64> {
        self.float().and_then(Float::nan)
    }

    /// The quiet NaN with this sign and trailing significand (its leading bit is set): how IEEE 754 operations pass a NaN
    /// operand on. The format's only NaN where it has but one; `None` in a format without NaN.
    pub fn quiet_nan(&self, negative: bool, trailing: u64) -> Option<u64> {
        let float = self.float()?;
        match float.specials {
            Specials::Ieee => {
                let quiet = trailing | 1 << (float.trailing_bits - 1);
                Some(float.assemble(negative, (1 << float.exponent_bits) - 1, quiet))
            }
            _ => float.nan(),
        }
    }

    /// Infinity of the given sign, if the format has infinities.
    pub fn infinity(&self, negative: bool) -> Option<u64> {
        self.float().and_then(|f| f.infinity(negative))
    }

    /// The largest finite number of the given sign (for unsigned formats and a negative sign: the smallest one).
    pub fn largest(&self, negative: bool) -> u64 {
        match &self.encoding {
            Encoding::Float(float) => float.largest_code(negative),
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
        if value.negative && !self.signed && !value.is_zero() {
            return self.nan().or_else(|| self.zero(false));
        }
        let smallest_quantum = self.emin() - self.trailing_bits as i32;
        // Half of the largest: room for one step up, far beyond every format.
        let leading = value.leading_exponent().unwrap_or(i32::MIN).min(i32::MAX / 2);
        let mut quantum = leading.saturating_sub(self.trailing_bits as i32).max(smallest_quantum);
        let (mut significand, _) = value.round_to_quantum(quantum, rounding);
        if significand >> self.precision() != 0 {
            // Rounded up to the next power of two: the last bit is zero.
            significand >>= 1;
            quantum += 1;
        }
        let (largest, largest_quantum) = self.largest();
        if quantum > largest_quantum || quantum == largest_quantum && significand > u128::from(largest) {
            return self.overflowed(value.negative, Some(rounding), overflow);
        }
        Some(match significand >> self.trailing_bits {
            // Without a zero, the smallest number.
            0 if significand == 0 || !self.subnormals && self.zeros == Zeros::None => {
                self.zero(value.negative).unwrap_or_else(|| self.assemble(value.negative, 0, 0))
            }
            0 => self.assemble(value.negative, 0, significand as u64),
            _ => {
                let biased = (quantum + self.trailing_bits as i32 + self.bias) as u64;
                self.assemble(value.negative, biased, significand as u64 & ((1 << self.trailing_bits) - 1))
            }
        })
    }

    #[inline]
    fn assemble(&self, negative: bool, biased: u64, trailing: u64) -> u64 {
        let sign = u64::from(negative && self.signed);
        ((sign << self.exponent_bits | biased) << self.trailing_bits | trailing) << self.padding_bits
    }

    fn overflowed(&self, negative: bool, rounding: Option<Rounding>, overflow: Overflow) -> Option<u64> {
        if negative && !self.signed {
            return self.nan().or_else(|| self.zero(false));
        }
        // Directions that point away from the overflowed end stop at the largest finite number.
        let inward = match rounding {
            Some(Rounding::Rz | Rounding::Ro) => true,
            Some(Rounding::Ru) => negative,
            Some(Rounding::Rd) => !negative,
            _ => false,
        };
        let largest = self.largest_code(negative);
        match overflow {
            Overflow::Standard if inward => Some(largest),
            Overflow::Standard if self.overflow != Overflow::Standard => self.overflowed(negative, None, self.overflow),
            Overflow::Saturate => Some(largest),
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
        let (biased, trailing) = self.largest_fields();
        self.assemble(negative, biased, trailing)
    }

    fn infinity(&self, negative: bool) -> Option<u64> {
        if negative && !self.signed {
            return None;
        }
        (self.specials == Specials::Ieee).then(|| self.assemble(negative, (1 << self.exponent_bits) - 1, 0))
    }

    fn nan(&self) -> Option<u64> {
        let (exponent, trailing) = ((1 << self.exponent_bits) - 1, (1 << self.trailing_bits) - 1);
        match self.specials {
            Specials::Ieee => Some(self.assemble(false, exponent, 1 << (self.trailing_bits - 1))),
            Specials::AllOnesNan => Some(self.assemble(false, exponent, trailing)),
            Specials::NegativeZeroNan => Some(self.assemble(true, 0, 0)),
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
