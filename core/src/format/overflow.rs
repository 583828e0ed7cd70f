//! What becomes of values beyond the largest number.

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

impl Overflow {
    /// The word that reports and options use.
    pub fn name(&self) -> &'static str {
        match self {
            Overflow::Standard => "standard",
            Overflow::Infinity => "infinity",
            Overflow::Nan => "nan",
            Overflow::Saturate => "saturate",
        }
    }
}
