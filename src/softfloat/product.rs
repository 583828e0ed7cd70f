//! Products.

use super::{
    Outcome, Unit,
    operand::{Kind, Operand},
};
use crate::format::Word;

impl Unit<'_> {
    /// `x * y` (IEEE 754 multiplication). Zero times infinity is invalid.
    #[inline]
    pub fn mul(&self, x: u64, y: u64) -> Outcome {
        if self.wide { self.multiply::<u128>(x, y) } else { self.multiply::<u64>(x, y) }
    }

    #[inline(always)]
    fn multiply<W: Word>(&self, x: u64, y: u64) -> Outcome {
        let (a, b) = (self.operand::<W>(x), self.operand::<W>(y));
        if a.kind == Kind::Finite && b.kind == Kind::Finite {
            let product = self.product(&a, &b);
            return self.round(product.negative, product.leading, product.significand);
        }
        let negative = a.negative != b.negative;
        match (a.kind, b.kind) {
            (Kind::Nan, _) | (_, Kind::Nan) => self.nan_of(&[x, y]),
            (Kind::Zero, Kind::Infinite) | (Kind::Infinite, Kind::Zero) => self.invalid(),
            (Kind::Infinite, _) | (_, Kind::Infinite) => self.infinity(negative),
            _ => self.zero(negative),
        }
    }

    /// The exact product of two finite non-zero numbers.
    #[inline(always)]
    pub(super) fn product<W: Word>(&self, a: &Operand<W>, b: &Operand<W>) -> Operand<W> {
        let unused = W::BITS - self.layout.precision;
        let product = (a.significand >> unused) * (b.significand >> unused);
        // It has one bit less than twice the precision, or just twice as many.
        let zeros = product.leading_zeros();
        let carry = zeros + 2 * self.layout.precision == W::BITS;
        Operand {
            kind: Kind::Finite,
            negative: a.negative != b.negative,
            significand: product << zeros,
            leading: a.leading + b.leading + i32::from(carry),
        }
    }
}
