//! Sums and products of finite numbers, exact up to a sticky bit far below any format's precision.

use crate::format::Finite;

impl Finite {
    /// `self * other`, exactly. Their significands together may have at most 128 bits; neither is sticky.
    pub(crate) fn times(&self, other: &Finite) -> Finite {
        debug_assert!(!self.sticky && !other.sticky, "products of exact numbers");
        Finite::exact(
            self.negative != other.negative,
            self.significand * other.significand,
            self.exponent + other.exponent,
        )
    }

    /// `self + other`: exact, or sticky with at least 100 significant bits, for operands of at most 110 bits.
    ///
    /// A zero operand leaves the other unchanged; operands that cancel give +0 (the caller knows the rule for signs of zero).
    pub(crate) fn plus(&self, other: &Finite) -> Finite {
        debug_assert!(!self.sticky && !other.sticky, "sums of exact numbers");
        let (Some(x_leading), Some(y_leading)) = (self.leading_exponent(), other.leading_exponent()) else {
            return if self.significand == 0 { *other } else { *self };
        };
        let (large, small) = if x_leading >= y_leading { (self, other) } else { (other, self) };
        // The larger operand's leading bit goes to bit 125: room for a carry, and a sign.
        let quantum = x_leading.max(y_leading) - 125;
        let large_units = (large.significand << (large.exponent - quantum)) as i128;
        let shift = small.exponent - quantum;
        let (small_units, lost) = if shift >= 0 {
            (small.significand << shift, false)
        } else if shift > -128 {
            (small.significand >> -shift, small.significand << (128 + shift) != 0)
        } else {
            (0, true)
        };
        let small_units = small_units as i128;
        let same_sign = large.negative == small.negative;
        // What was cut off the smaller operand adds a fraction of a unit, or borrows one.
        let units = if same_sign { large_units + small_units } else { large_units - small_units - i128::from(lost) };
        let negative = if units < 0 { !large.negative } else { large.negative };
        Finite {
            negative: negative && (units != 0 || lost),
            significand: units.unsigned_abs(),
            exponent: quantum,
            sticky: lost,
        }
    }
}
