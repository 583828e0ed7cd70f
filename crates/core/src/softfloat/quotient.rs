//! Quotients and remainders.

use super::{
    Flags, Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::{OperandClass, Unpacked},
};
use crate::{format::Layout, number::Word};

impl<F: FormatFields> Datapath<'_, F> {
    #[inline]
    pub(super) fn div(&self, x: u64, y: u64) -> Outcome {
        if self.wide { self.divide::<u128>(x, y) } else { self.divide::<u64>(x, y) }
    }

    #[inline(always)]
    pub(super) fn divide<W: Word>(&self, x: u64, y: u64) -> Outcome {
        if self.is_normal(x) & self.is_normal(y) {
            return self.rounded_quotient(&self.normal::<W>(x), &self.normal(y));
        }
        self.untyped().divide_unusual::<W>(x, y)
    }

    #[inline(always)]
    fn rounded_quotient<W: Word>(&self, a: &Unpacked<W>, b: &Unpacked<W>) -> Outcome {
        let negative = a.negative != b.negative;
        if W::BITS == 128 && !self.random {
            let (quotient, below) = ratio(a.significand.high_jammed(), b.significand.high_jammed());
            return self.round(negative, a.leading - b.leading - i32::from(below), quotient);
        }
        let divisor = b.significand >> (W::BITS - self.layout().precision);
        // The divisor as an integer: its leading bit weighs one less than its precision.
        let leading = a.leading - b.leading + self.layout().trailing_bits as i32;
        let (quotient, zeros) = quotient(a.significand, divisor);
        self.round(negative, leading - zeros as i32, quotient)
    }
}

impl Datapath<'_, Layout> {
    #[cold]
    #[inline(never)]
    fn divide_unusual<W: Word>(&self, x: u64, y: u64) -> Outcome {
        let (a, b) = (self.operand::<W>(x), self.operand::<W>(y));
        let negative = a.negative != b.negative;
        match (a.kind, b.kind) {
            (OperandClass::Finite, OperandClass::Finite) => self.rounded_quotient(&a, &b),
            (OperandClass::Nan, _) | (_, OperandClass::Nan) => self.nan_of(&[x, y]),
            (OperandClass::Zero, OperandClass::Zero) | (OperandClass::Infinite, OperandClass::Infinite) => {
                self.invalid()
            }
            (OperandClass::Infinite, _) => self.infinity(negative),
            (_, OperandClass::Zero) => {
                let infinity = self.infinity(negative);
                Outcome { flags: Flags::DIVIDE_BY_ZERO | infinity.flags, ..infinity }
            }
            _ => self.zero(negative),
        }
    }

    pub(super) fn rem(&self, x: u64, y: u64) -> Outcome {
        let (a, b) = (self.operand::<u128>(x), self.operand::<u128>(y));
        match (a.kind, b.kind) {
            (OperandClass::Nan, _) | (_, OperandClass::Nan) => self.nan_of(&[x, y]),
            (OperandClass::Infinite, _) | (_, OperandClass::Zero) => self.invalid(),
            (OperandClass::Zero, _) => self.zero(a.negative),
            (OperandClass::Finite, OperandClass::Infinite) => self.round(a.negative, a.leading, a.significand),
            (OperandClass::Finite, OperandClass::Finite) => self.remainder(&a, &b),
        }
    }

    fn remainder(&self, a: &Unpacked<u128>, b: &Unpacked<u128>) -> Outcome {
        if a.leading < b.leading - 1 {
            // The dividend is less than half of the divisor.
            return self.round(a.negative, a.leading, a.significand);
        }
        let unused = 128 - self.layout().precision;
        let (mut rest, mut divisor) = (a.significand >> unused, b.significand >> unused);
        let mut distance = a.leading - b.leading;
        if distance < 0 {
            divisor <<= 1;
            distance = 0;
        }
        let scale = a.leading.min(b.leading) - self.layout().trailing_bits as i32;
        let mut odd = (rest / divisor) & 1 == 1;
        rest %= divisor;
        while distance > 0 {
            // The remainder has at most 54 bits.
            let step = distance.min(64);
            rest <<= step;
            odd = (rest / divisor) & 1 == 1;
            rest %= divisor;
            distance -= step;
        }
        let up = 2 * rest > divisor || 2 * rest == divisor && odd;
        let (negative, rest) = if up { (!a.negative, divisor - rest) } else { (a.negative, rest) };
        if rest == 0 {
            return self.zero(a.negative);
        }
        let zeros = rest.leading_zeros();
        self.round(negative, scale + 127 - zeros as i32, rest << zeros)
    }
}

/// `x / y` of two left-justified numbers, left-justified and jammed, and true if it is below 1.
#[inline(always)]
fn ratio(x: u64, y: u64) -> (u64, bool) {
    let below = x < y;
    let (dividend, divisor) = (u128::from(x) << (63 + u32::from(below)), u128::from(y));
    let quotient = dividend / divisor;
    (quotient.low() | u64::bit(quotient * divisor != dividend), below)
}

/// `dividend / divisor`, left-justified and jammed, and the number of places it was shifted for that.
/// The dividend is left-justified, the divisor has a normal number's precision.
#[inline(always)]
fn quotient<W: Word>(dividend: W, divisor: W) -> (W, u32) {
    let integer_quotient = dividend / divisor;
    let rest = dividend - integer_quotient * divisor;
    let zeros = integer_quotient.leading_zeros();
    if W::BITS == 64 {
        // At least 33 bits: two more than the precision, enough without random bits.
        return (integer_quotient << zeros | W::bit(rest != W::ZERO), zeros);
    }
    // The remainder is less than the divisor and can be shifted as far.
    let rest = rest << zeros;
    let fraction = rest / divisor;
    (integer_quotient << zeros | fraction | W::bit(fraction * divisor != rest), zeros)
}
