//! Sums: addition, subtraction, and the fused multiply-add.

use super::{
    Flags, NanRule, Outcome, Unit,
    operand::{Kind, Operand},
};
use crate::format::Word;

impl Unit<'_> {
    /// `x + y` (IEEE 754 addition). Infinities of opposite signs are invalid. An exact sum of zero has the sign of its terms
    /// where they agree, else +0 (-0 under RD).
    #[inline]
    pub fn add(&self, x: u64, y: u64) -> Outcome {
        if self.wide { self.add_or_sub::<u128>(x, y, false) } else { self.add_or_sub::<u64>(x, y, false) }
    }

    /// `x - y` (IEEE 754 subtraction): `x + (-y)`, except that a NaN keeps its sign.
    #[inline]
    pub fn sub(&self, x: u64, y: u64) -> Outcome {
        if self.wide { self.add_or_sub::<u128>(x, y, true) } else { self.add_or_sub::<u64>(x, y, true) }
    }

    /// `x * y + z`, rounded once (IEEE 754 fusedMultiplyAdd). Zero times infinity is invalid, and so are
    /// infinities of opposite signs. Where z is a quiet NaN besides, [`NanRule::X86`] passes it on without a flag; the other rules
    /// have the invalid operation.
    #[inline]
    pub fn fma(&self, x: u64, y: u64, z: u64) -> Outcome {
        if self.wide { self.multiply_add::<u128>(x, y, z) } else { self.multiply_add::<u64>(x, y, z) }
    }

    #[inline(always)]
    fn add_or_sub<W: Word>(&self, x: u64, y: u64, negate: bool) -> Outcome {
        let a = self.operand::<W>(x);
        let mut b = self.operand::<W>(y);
        b.negative ^= negate;
        if a.kind == Kind::Finite && b.kind == Kind::Finite {
            return self.rounded_sum(&a, &b);
        }
        if a.kind == Kind::Nan || b.kind == Kind::Nan {
            return self.nan_of(&[x, y]);
        }
        self.special_sum(&a, &b)
    }

    #[inline(always)]
    fn multiply_add<W: Word>(&self, x: u64, y: u64, z: u64) -> Outcome {
        let (a, b, c) = (self.operand::<W>(x), self.operand::<W>(y), self.operand::<W>(z));
        if a.kind == Kind::Finite && b.kind == Kind::Finite && c.kind == Kind::Finite {
            return self.rounded_sum(&self.product(&a, &b), &c);
        }
        self.special_multiply_add(x, y, z, &a, &b, &c)
    }

    fn special_multiply_add<W: Word>(
        &self,
        x: u64,
        y: u64,
        z: u64,
        a: &Operand<W>,
        b: &Operand<W>,
        c: &Operand<W>,
    ) -> Outcome {
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
            (Kind::Finite, Kind::Finite) => self.product(a, b),
            (Kind::Infinite, _) | (_, Kind::Infinite) => Operand { kind: Kind::Infinite, negative, ..*a },
            _ => Operand { kind: Kind::Zero, negative, ..*a },
        };
        self.special_sum(&product, c)
    }

    /// The sum of two operands that are no NaNs.
    #[cold]
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
    ///
    /// Where more than one leading bit cancels, the exponents differ by at most one and nothing was cut off.
    #[inline(always)]
    fn rounded_sum<W: Word>(&self, a: &Operand<W>, b: &Operand<W>) -> Outcome {
        let swap = (b.leading, b.significand) > (a.leading, a.significand);
        let (large, small) = if swap { (b, a) } else { (a, b) };
        let distance = (large.leading - small.leading) as u32;
        // One place to the right: room for a carry.
        let (x, y) = (large.significand >> 1, (small.significand >> 1).shift_right_jam(distance));
        let sum = if a.negative == b.negative { x + y } else { x - y };
        if sum == W::ZERO {
            return self.cancelled();
        }
        let zeros = sum.leading_zeros();
        self.round(large.negative, large.leading + 1 - zeros as i32, sum << zeros)
    }
}
