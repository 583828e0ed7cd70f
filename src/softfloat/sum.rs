//! Sums: addition, subtraction, and the fused multiply-add.

use std::hint::select_unpredictable;

use super::{
    NanRule, Outcome,
    engine::{Engine, Fields},
    operand::{Kind, Operand},
};
use crate::number::Word;

impl<F: Fields> Engine<'_, F> {
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
            // Magnitudes ascend with the numbers. Which is larger follows no pattern: selections, not branches.
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
        self.add_or_sub_unusual::<W>(x, y, negate)
    }

    #[cold]
    #[inline(never)]
    fn add_or_sub_unusual<W: Word>(&self, x: u64, y: u64, negate: bool) -> Outcome {
        let a = self.operand::<W>(x);
        let mut b = self.operand::<W>(y);
        b.negative ^= negate;
        if a.kind == Kind::Nan || b.kind == Kind::Nan {
            return self.nan_of(&[x, y]);
        }
        self.special_sum(&a, &b)
    }

    #[inline(always)]
    pub(super) fn multiply_add<W: Word>(&self, x: u64, y: u64, z: u64) -> Outcome {
        if self.is_normal(x) & self.is_normal(y) & self.is_normal(z) {
            let (a, b, c) = (self.normal::<W>(x), self.normal::<W>(y), self.normal::<W>(z));
            return self.rounded_sum(&self.product(&a, &b), &c);
        }
        self.multiply_add_unusual::<W>(x, y, z)
    }

    #[cold]
    #[inline(never)]
    fn multiply_add_unusual<W: Word>(&self, x: u64, y: u64, z: u64) -> Outcome {
        let (a, b, c) = (self.operand::<W>(x), self.operand::<W>(y), self.operand::<W>(z));
        let no_product = matches!((a.kind, b.kind), (Kind::Zero, Kind::Infinite) | (Kind::Infinite, Kind::Zero));
        if [a.kind, b.kind, c.kind].contains(&Kind::Nan) {
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
            (Kind::Finite, Kind::Finite) => self.product(&a, &b),
            (Kind::Infinite, _) | (_, Kind::Infinite) => Operand { kind: Kind::Infinite, negative, ..a },
            _ => Operand { kind: Kind::Zero, negative, ..a },
        };
        self.special_sum(&product, &c)
    }

    /// The sum of two operands that are no NaNs.
    fn special_sum<W: Word>(&self, a: &Operand<W>, b: &Operand<W>) -> Outcome {
        match (a.kind, b.kind) {
            (Kind::Infinite, Kind::Infinite) if a.negative != b.negative => self.invalid(),
            (Kind::Infinite, _) => self.infinity(a.negative),
            (_, Kind::Infinite) => self.infinity(b.negative),
            (Kind::Zero, Kind::Zero) if a.negative == b.negative => self.zero(a.negative),
            (Kind::Zero, Kind::Zero) => self.cancelled(),
            (Kind::Zero, _) => self.round(b.negative, b.leading, b.significand),
            (_, Kind::Zero) => self.round(a.negative, a.leading, a.significand),
            _ => self.rounded_sum(a, b),
        }
    }

    /// The sum of two finite non-zero numbers. Their significands have at least two zeros at the end.
    #[inline(always)]
    fn rounded_sum<W: Word>(&self, a: &Operand<W>, b: &Operand<W>) -> Outcome {
        let swap = (b.leading > a.leading) | ((b.leading == a.leading) & (b.significand > a.significand));
        let pick = |swap: bool| Operand {
            kind: Kind::Finite,
            negative: select_unpredictable(swap, b.negative, a.negative),
            significand: select_unpredictable(swap, b.significand, a.significand),
            leading: select_unpredictable(swap, b.leading, a.leading),
        };
        let (large, small) = (pick(swap), pick(!swap));
        self.ordered_sum(large.negative, &large, &small, large.negative != small.negative)
    }

    /// The sum of two finite non-zero numbers, the larger one first: their difference, if they are opposite, with the sign
    /// `negative`.
    ///
    /// Where more than one leading bit cancels, the exponents differ by at most one and nothing was cut off.
    #[inline(always)]
    fn ordered_sum<W: Word>(&self, negative: bool, large: &Operand<W>, small: &Operand<W>, opposite: bool) -> Outcome {
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
