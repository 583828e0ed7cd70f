//! Numbers as multiples of a quantum: rounding to an integer number of units.

use super::{Finite, Rounding, Word};

impl Finite {
    /// Magnitude of this number divided by `2^quantum`, rounded to an integer, and true if that was exact.
    /// It saturates at `2^128 - 1`.
    #[inline]
    pub fn round_to_quantum(&self, quantum: i32, rounding: Rounding) -> (u128, bool) {
        let shift = quantum.saturating_sub(self.exponent);
        if shift <= 0 {
            let up = self.sticky && rounding.rounds_up(self.negative, self.significand & 1 == 1, 1u128);
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
        let shift = shift.unsigned_abs();
        let integer = self.significand.shift_right(shift);
        let rest = self.significand.rest(shift) | u128::from(self.sticky);
        (integer + u128::from(rounding.rounds_up(self.negative, integer & 1 == 1, rest)), rest == 0)
    }

    /// Significand, left-justified and jammed, and the exponent of its leading bit; `None` for zero.
    #[inline]
    pub(crate) fn left_justified(&self) -> Option<(u128, i32)> {
        match self.leading_exponent() {
            Some(leading) => {
                Some((self.significand << self.significand.leading_zeros() | u128::from(self.sticky), leading))
            }
            // A sticky zero: its last bit weighs at most half the quantum, so that it is less than a tie.
            None => self.sticky.then(|| (u128::TOP | 1, self.exponent.saturating_sub(1))),
        }
    }

    /// This number rounded to a multiple of `2^quantum` of at most 128 bits; a zero result is +0.
    #[inline]
    pub(crate) fn rounded_to_quantum(&self, quantum: i32, rounding: Rounding) -> Finite {
        let (units, _) = self.round_to_quantum(quantum, rounding);
        Finite::exact(self.negative && units != 0, units, quantum)
    }

    /// This number rounded to `precision` bits with an unbounded exponent; zero is unchanged.
    pub fn rounded_to_precision(&self, precision: u32, rounding: Rounding) -> Finite {
        let Some(leading) = self.leading_exponent() else { return *self };
        let quantum = leading - (precision as i32 - 1);
        Finite::exact(self.negative, self.round_to_quantum(quantum, rounding).0, quantum)
    }
}
