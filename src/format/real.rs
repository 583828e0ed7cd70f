//! The value that encoding rounds: an extended real number, exact or known to lie inside a unit.

/// An extended real number, or not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Real {
    /// Not a number.
    Nan,
    /// Plus or minus infinity.
    Infinity {
        /// The sign.
        negative: bool,
    },
    /// A finite number.
    Finite(Finite),
}

/// The finite number `(-1)^negative * (significand + f) * 2^exponent` with `f = 0`, or with some unknown
/// `0 < f < 1` when `sticky` is set.
///
/// Rounding is correct as long as a sticky value has at least two bits more than the precision it is rounded
/// to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finite {
    /// The sign, of a zero too.
    pub negative: bool,
    /// The integer significand.
    pub significand: u128,
    /// The weight of the significand's last bit, as a power of two.
    pub exponent: i32,
    /// Whether something non-zero was cut off below the last bit.
    pub sticky: bool,
}

impl Finite {
    /// The exact number `(-1)^negative * significand * 2^exponent`.
    pub fn exact(negative: bool, significand: u128, exponent: i32) -> Self {
        Finite { negative, significand, exponent, sticky: false }
    }

    /// Zero with the given sign.
    pub fn zero(negative: bool) -> Self {
        Self::exact(negative, 0, 0)
    }

    /// Whether the number is exactly zero.
    pub fn is_zero(&self) -> bool {
        self.significand == 0 && !self.sticky
    }
}

impl From<f64> for Real {
    /// The exact value of a host double; conversion loses nothing.
    fn from(value: f64) -> Self {
        let bits = value.to_bits();
        let negative = bits >> 63 == 1;
        let biased = (bits >> 52 & 0x7ff) as i32;
        let trailing = (bits & ((1 << 52) - 1)) as u128;
        match (biased, trailing) {
            (0x7ff, 0) => Real::Infinity { negative },
            (0x7ff, _) => Real::Nan,
            (0, _) => Real::Finite(Finite::exact(negative, trailing, -1074)),
            _ => Real::Finite(Finite::exact(negative, trailing | 1 << 52, biased - 1075)),
        }
    }
}
