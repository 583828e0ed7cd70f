//! Finite numbers: a sign, an integer significand and a power of two, exact or sticky.

/// Finite number `(-1)^negative * (significand + f) * 2^exponent`; `f = 0`, or `0 < f < 1` if sticky.
///
/// Rounding a sticky number is correct if its last bit weighs at most half the quantum that it is rounded to; for
/// stochastic rounding with `n` bits, at most `2^-n` of that quantum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finite {
    /// Sign, of a zero too.
    pub negative: bool,
    /// Integer significand.
    pub significand: u128,
    /// Weight of the significand's last bit, as a power of two.
    pub exponent: i32,
    /// Sticky bit: true if something non-zero was dropped below the last bit.
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

    /// True if the number is exactly zero.
    pub fn is_zero(&self) -> bool {
        self.significand == 0 && !self.sticky
    }

    /// Exponent of the leading bit: `floor(log2 |value|)`; `None` for a significand of zero.
    #[inline]
    pub fn leading_exponent(&self) -> Option<i32> {
        (self.significand != 0).then(|| self.exponent.saturating_add(127 - self.significand.leading_zeros() as i32))
    }

    /// Host double nearest to this number, ties to even, for reports.
    /// Below the smallest normal double the error may reach one quantum; a sticky bit below fewer than 54 bits is
    /// ignored.
    pub fn to_f64(&self) -> f64 {
        let sticky = u128::from(self.sticky && self.significand.leading_zeros() < 128 - 54);
        let magnitude = ldexp((self.significand | sticky) as f64, self.exponent);
        if self.negative { -magnitude } else { magnitude }
    }

    /// The same number with the other sign.
    pub(crate) fn negated(&self) -> Finite {
        Finite { negative: !self.negative, ..*self }
    }

    /// The number without its sign.
    pub(crate) fn magnitude(&self) -> Finite {
        Finite { negative: false, ..*self }
    }

    /// `self * 2^exponent`.
    pub fn times_power_of_two(&self, exponent: i32) -> Finite {
        Finite { exponent: self.exponent.saturating_add(exponent), ..*self }
    }

    /// The same number with an odd significand; zero is `0 * 2^0`, a sticky number is unchanged.
    pub fn odd(&self) -> Finite {
        match self.significand {
            _ if self.sticky => *self,
            0 => Finite::zero(self.negative),
            significand => {
                let zeros = significand.trailing_zeros();
                Finite::exact(self.negative, significand >> zeros, self.exponent + zeros as i32)
            }
        }
    }
}

/// `x * 2^exponent`, rounded once unless it is subnormal; 0 or infinity out of range.
pub(crate) fn ldexp(x: f64, exponent: i32) -> f64 {
    // Two factors: a single power of two could overflow or underflow where the product does not.
    let exponent = exponent.clamp(-4000, 4000);
    let half = exponent / 2;
    x * 2f64.powi(half) * 2f64.powi(exponent - half)
}
