//! Finite numbers: a sign, an integer significand and a power of two, exact or known to lie inside a unit.

/// The finite number `(-1)^negative * (significand + f) * 2^exponent` with `f = 0`, or with some unknown
/// `0 < f < 1` when `sticky` is set.
///
/// Rounding a sticky value is correct as long as its last bit weighs at most half the quantum that it is rounded to, or
/// for stochastic rounding with `n` bits at most `2^-n` of that quantum.
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

    /// Exponent of the leading bit: `floor(log2 |value|)`; `None` for a significand of zero.
    #[inline]
    pub fn leading_exponent(&self) -> Option<i32> {
        (self.significand != 0).then(|| self.exponent.saturating_add(127 - self.significand.leading_zeros() as i32))
    }

    /// The host double nearest to this number, ties to even, for reports: below the smallest normal double the error may
    /// reach one quantum, and a sticky value of fewer than 54 bits is taken as if it were exact.
    pub fn to_f64(&self) -> f64 {
        let sticky = u128::from(self.sticky && self.significand.leading_zeros() < 128 - 54);
        let magnitude = ldexp((self.significand | sticky) as f64, self.exponent);
        if self.negative { -magnitude } else { magnitude }
    }

    /// The same number with the other sign.
    pub fn negated(&self) -> Finite {
        Finite { negative: !self.negative, ..*self }
    }

    /// The number without its sign.
    pub fn magnitude(&self) -> Finite {
        Finite { negative: false, ..*self }
    }

    /// `self * 2^exponent`.
    pub fn scaled(&self, exponent: i32) -> Finite {
        Finite { exponent: self.exponent.saturating_add(exponent), ..*self }
    }

    /// The same number with an odd significand, the shortest there is; zero is `0 * 2^0`, and a sticky number stays as it is.
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
    // Two factors: a single power of two could leave the range where the product does not.
    let exponent = exponent.clamp(-4000, 4000);
    let half = exponent / 2;
    x * 2f64.powi(half) * 2f64.powi(exponent - half)
}
