//! Operands: decoded codes, ready to compute with.

use super::datapath::{Datapath, FormatFields};
use crate::{format::Zeros, number::Word};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandClass {
    Zero,
    /// Any other finite number.
    Finite,
    Infinite,
    Nan,
}

/// Number, infinity or NaN: `(-1)^negative * significand * 2^(leading + 1 - BITS)` if it is finite.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unpacked<W> {
    pub kind: OperandClass,
    pub negative: bool,
    /// The significand, left-justified.
    pub significand: W,
    /// Exponent of the significand's leading bit.
    pub leading: i32,
}

impl<F: FormatFields> Datapath<'_, F> {
    /// True for the code of a normal number.
    #[inline(always)]
    pub(super) fn is_normal(&self, code: u64) -> bool {
        self.layout().is_normal(self.layout().magnitude(code))
    }

    /// Operand with this code of a normal number.
    #[inline(always)]
    pub(super) fn normal<W: Word>(&self, code: u64) -> Unpacked<W> {
        let (significand, leading) = self.layout().normal(self.layout().magnitude(code));
        let significand = W::from(significand) << (W::BITS - self.layout().precision);
        Unpacked { kind: OperandClass::Finite, negative: self.layout().negative(code), significand, leading }
    }

    /// Operand with this code, subnormals flushed if the environment says so.
    #[inline]
    pub(super) fn operand<W: Word>(&self, code: u64) -> Unpacked<W> {
        match self.is_normal(code) {
            true => self.normal(code),
            false => self.unusual(self.layout().negative(code), self.layout().magnitude(code)),
        }
    }

    /// Operand that is not a normal number.
    fn unusual<W: Word>(&self, negative: bool, magnitude: u64) -> Unpacked<W> {
        let is = |kind| Unpacked { kind, negative, significand: W::ZERO, leading: 0 };
        if magnitude > self.layout().largest {
            let infinite = self.float.specials.has_infinity() && magnitude == self.layout().largest + 1;
            return is(if infinite { OperandClass::Infinite } else { OperandClass::Nan });
        }
        if magnitude == 0 {
            let nan = negative && self.float.specials.takes_negative_zero();
            return is(if nan { OperandClass::Nan } else { OperandClass::Zero });
        }
        if self.environment.flush_inputs {
            // Without a -0 the operand is replaced by +0.
            return Unpacked { negative: negative && self.float.zeros == Zeros::Both, ..is(OperandClass::Zero) };
        }
        let zeros = magnitude.leading_zeros();
        Unpacked {
            kind: OperandClass::Finite,
            negative,
            significand: W::from(magnitude << zeros) << (W::BITS - 64),
            leading: self.layout().emin - self.layout().trailing_bits as i32 + 63 - zeros as i32,
        }
    }

    /// Class of the operand with this code.
    #[inline]
    pub(super) fn kind(&self, code: u64) -> OperandClass {
        self.operand::<u64>(code).kind
    }
}
