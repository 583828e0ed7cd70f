//! Rounding to integral values.

use super::{
    Flags, Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::{OperandClass, Unpacked},
};
use crate::number::{Rounding, Word};

impl<F: FormatFields> Datapath<'_, F> {
    pub(super) fn rint(&self, x: u64) -> Outcome {
        let outcome = self.rint_exact(x);
        Outcome { flags: outcome.flags.without(Flags::INEXACT), ..outcome }
    }

    pub(super) fn rint_exact(&self, x: u64) -> Outcome {
        if self.random { self.integral::<u128>(x) } else { self.integral::<u64>(x) }
    }

    fn integral<W: Word>(&self, x: u64) -> Outcome {
        let a = self.operand::<W>(x);
        match a.kind {
            OperandClass::Nan => self.nan_of(&[x]),
            OperandClass::Infinite => self.infinity(a.negative),
            OperandClass::Zero => self.zero(a.negative),
            OperandClass::Finite if a.leading >= self.layout().trailing_bits as i32 => {
                self.round(a.negative, a.leading, a.significand)
            }
            OperandClass::Finite => {
                let (units, inexact) = units(&a, self.environment.rounding);
                let inexact = Flags::INEXACT.when(inexact);
                if units == 0 {
                    return Outcome { flags: inexact, ..self.zero(a.negative) };
                }
                let zeros = units.leading_zeros();
                let significand = W::from(units << zeros) << (W::BITS - 64);
                let outcome = self.round(a.negative, 63 - zeros as i32, significand);
                Outcome { flags: outcome.flags | inexact, ..outcome }
            }
        }
    }
}

/// Magnitude of a finite number below 2^63 rounded to an integer, and true if that is inexact.
pub(super) fn units<W: Word>(a: &Unpacked<W>, rounding: Rounding) -> (u64, bool) {
    let places = (W::BITS as i32 - 1 - a.leading) as u32;
    let (kept, rest) = (a.significand.shift_right(places), a.significand.rest(places));
    let up = rounding.rounds_up(a.negative, kept & W::ONE != W::ZERO, rest);
    (kept.low() + u64::from(up), rest != W::ZERO)
}
