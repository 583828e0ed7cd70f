//! Treatment of values beyond the largest number.

use crate::base::words::words;

/// Result of a value whose rounded magnitude exceeds the largest finite one, and of an infinity.
///
/// An infinity counts as a value beyond the range, so that saturation makes it finite even where the format has
/// infinities (as OFP8 1.0 has it for saturating conversion to e5m2). Only [`Overflow::SaturateFinite`] keeps it.
/// Integer formats always saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The rule of the format's own standard (`overflow` in its record).
    /// Where that is infinity, IEEE 754 (clause 7.4) holds: a rounding direction that points inward gives the largest
    /// finite number.
    Standard,
    /// Infinity in every rounding direction; in a format without infinities like [`Overflow::Nan`].
    Infinity,
    /// NaN; the largest finite number in a format without NaN.
    Nan,
    /// The largest finite number of the same sign (P3109: SatFinite).
    Saturate,
    /// The largest finite number of the same sign, for finite values (P3109: SatPropagate).
    /// An infinity stays one if the format has it.
    SaturateFinite,
}

words!(
    named pub Overflow:
    "standard" = Standard,
    "infinity" = Infinity,
    "nan" = Nan,
    "saturate" = Saturate,
    "saturate-finite" = SaturateFinite,
);

impl Overflow {
    /// All rules, in the order of the documentation.
    pub const ALL: [Overflow; 5] =
        [Overflow::Standard, Overflow::Infinity, Overflow::Nan, Overflow::Saturate, Overflow::SaturateFinite];
}
