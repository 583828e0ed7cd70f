//! Sums: addition, subtraction, and the fused multiply-add.

use std::hint::select_unpredictable;

use super::{
    NanRule, Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::{OperandClass, Unpacked},
};
use crate::{format::Layout, number::Word};

impl<F: FormatFields> Datapath<'_, F> {
    #[inline]
    pub(super) fn add(&self, x: u64, y: u64) -> Outcome {
        if self.random { self.add_or_sub::<u128>(x, y, false) } else { self.add_or_sub::<u64>(x, y, false) }
    }

    #[inline]
    pub(super) fn sub(&self, x: u64, y: u64) -> Outcome {
        if self.random { self.add_or_sub::<u128>(x, y, true) } else { self.add_or_sub::<u64>(x, y, true) }
    }

    #[inline]
    pub(super) fn fma(&self, x: u64, y: u64, z: u64) -> Outcome {
        if self.wide { self.multiply_add::<u128>(x, y, z) } else { self.multiply_add::<u64>(x, y, z) }
    }

    #[inline(always)]
    pub(super) fn add_or_sub<W: Word>(&self, x: u64, y: u64, negate: bool) -> Outcome {
        if self.is_normal(x) & self.is_normal(y) {
            // Magnitudes ascend with the numbers. The larger one is random: selections, not branches.
            let layout = self.layout();
            let swap = layout.magnitude(y) > layout.magnitude(x);
            let large = self.normal::<W>(select_unpredictable(swap, y, x));
            let small = self.normal::<W>(select_unpredictable(swap, x, y));
            return self.ordered_sum(
                large.negative ^ (swap & negate),
                &large,
                &small,
                large.negative ^ small.negative ^ negate,
            );
        }
        self.untyped().add_or_sub_unusual::<W>(x, y, negate)
    }

    #[inline(always)]
    pub(super) fn multiply_add<W: Word>(&self, x: u64, y: u64, z: u64) -> Outcome {
        if self.is_normal(x) & self.is_normal(y) & self.is_normal(z) {
            let (a, b, c) = (self.normal::<W>(x), self.normal::<W>(y), self.normal::<W>(z));
            return self.rounded_sum(&self.product(&a, &b), &c);
        }
        self.untyped().multiply_add_unusual::<W>(x, y, z)
    }

    /// Sum of two finite non-zero numbers. Their significands have at least two zeros at the end.
    #[inline(always)]
    fn rounded_sum<W: Word>(&self, a: &Unpacked<W>, b: &Unpacked<W>) -> Outcome {
        let swap = (b.leading > a.leading) | ((b.leading == a.leading) & (b.significand > a.significand));
        let pick = |swap: bool| Unpacked {
            kind: OperandClass::Finite,
            negative: select_unpredictable(swap, b.negative, a.negative),
            significand: select_unpredictable(swap, b.significand, a.significand),
            leading: select_unpredictable(swap, b.leading, a.leading),
        };
        let (large, small) = (pick(swap), pick(!swap));
        self.ordered_sum(large.negative, &large, &small, large.negative != small.negative)
    }

    /// Sum of two finite non-zero numbers, the larger one first.
    /// Opposite numbers give a difference of sign `negative`.
    ///
    /// Where more than one leading bit cancels, the exponents differ by at most one and nothing was dropped.
    #[inline(always)]
    fn ordered_sum<W: Word>(
        &self,
        negative: bool,
        large: &Unpacked<W>,
        small: &Unpacked<W>,
        opposite: bool,
    ) -> Outcome {
        let distance = (large.leading - small.leading) as u32;
        // One place to the right: room for a carry.
        let (x, y) = (large.significand >> 1, (small.significand >> 1).shift_right_jam(distance));
        let sum = select_unpredictable(opposite, x - y, x + y);
        if sum == W::ZERO {
            return self.cancelled();
        }
        if self.random {
            let zeros = sum.leading_zeros();
            return self.round(negative, large.leading + 1 - zeros as i32, sum << zeros);
        }
        let (zeros, significand) = sum.normalised();
        self.round(negative, large.leading + 1 - zeros as i32, significand)
    }
}

impl Datapath<'_, Layout> {
    #[cold]
    #[inline(never)]
    fn add_or_sub_unusual<W: Word>(&self, x: u64, y: u64, negate: bool) -> Outcome {
        let a = self.operand::<W>(x);
        let mut b = self.operand::<W>(y);
        b.negative ^= negate;
        if a.kind == OperandClass::Nan || b.kind == OperandClass::Nan {
            return self.nan_of(&[x, y]);
        }
        self.special_sum(&a, &b)
    }

    #[cold]
    #[inline(never)]
    fn multiply_add_unusual<W: Word>(&self, x: u64, y: u64, z: u64) -> Outcome {
        let (a, b, c) = (self.operand::<W>(x), self.operand::<W>(y), self.operand::<W>(z));
        let no_product = matches!(
            (a.kind, b.kind),
            (OperandClass::Zero, OperandClass::Infinite) | (OperandClass::Infinite, OperandClass::Zero)
        );
        if [a.kind, b.kind, c.kind].contains(&OperandClass::Nan) {
            // Zero times infinity plus a quiet NaN: IEEE 754 leaves the flag open.
            if no_product && !self.signals(z) && self.environment.nan != NanRule::X86 {
                return self.invalid();
            }
            let order = if self.environment.nan == NanRule::Arm { [z, x, y] } else { [x, y, z] };
            return self.nan_of(&order);
        }
        if no_product {
            return self.invalid();
        }
        let negative = a.negative != b.negative;
        let product = match (a.kind, b.kind) {
            (OperandClass::Finite, OperandClass::Finite) => self.product(&a, &b),
            (OperandClass::Infinite, _) | (_, OperandClass::Infinite) => {
                Unpacked { kind: OperandClass::Infinite, negative, ..a }
            }
            _ => Unpacked { kind: OperandClass::Zero, negative, ..a },
        };
        self.special_sum(&product, &c)
    }

    /// Sum of two operands that are not NaN.
    fn special_sum<W: Word>(&self, a: &Unpacked<W>, b: &Unpacked<W>) -> Outcome {
        match (a.kind, b.kind) {
            (OperandClass::Infinite, OperandClass::Infinite) if a.negative != b.negative => self.invalid(),
            (OperandClass::Infinite, _) => self.infinity(a.negative),
            (_, OperandClass::Infinite) => self.infinity(b.negative),
            (OperandClass::Zero, OperandClass::Zero) if a.negative == b.negative => self.zero(a.negative),
            (OperandClass::Zero, OperandClass::Zero) => self.cancelled(),
            (OperandClass::Zero, _) => self.round(b.negative, b.leading, b.significand),
            (_, OperandClass::Zero) => self.round(a.negative, a.leading, a.significand),
            _ => self.rounded_sum(a, b),
        }
    }
}
