//! Products.

use std::hint::select_unpredictable;

use super::{
    Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::{OperandClass, Unpacked},
};
use crate::{format::Layout, number::Word};

impl<F: FormatFields> Datapath<'_, F> {
    #[inline]
    pub(super) fn mul(&self, x: u64, y: u64) -> Outcome {
        if self.wide { self.multiply::<u128>(x, y) } else { self.multiply::<u64>(x, y) }
    }

    #[inline(always)]
    pub(super) fn multiply<W: Word>(&self, x: u64, y: u64) -> Outcome {
        if self.is_normal(x) & self.is_normal(y) {
            let product = self.product(&self.normal::<W>(x), &self.normal(y));
            return self.round(product.negative, product.leading, product.significand);
        }
        self.untyped().multiply_unusual::<W>(x, y)
    }

    /// Exact product of two finite non-zero numbers.
    #[inline(always)]
    pub(super) fn product<W: Word>(&self, a: &Unpacked<W>, b: &Unpacked<W>) -> Unpacked<W> {
        // Significands fit half a word. Their leading bits' product is the bit below the top, with room for a carry.
        let half = W::BITS / 2;
        let product = (a.significand >> half) * (b.significand >> half);
        let carry = product >= W::TOP;
        Unpacked {
            kind: OperandClass::Finite,
            negative: a.negative != b.negative,
            significand: select_unpredictable(carry, product, product << 1),
            leading: a.leading + b.leading + i32::from(carry),
        }
    }
}

impl Datapath<'_, Layout> {
    #[cold]
    #[inline(never)]
    fn multiply_unusual<W: Word>(&self, x: u64, y: u64) -> Outcome {
        let (a, b) = (self.operand::<W>(x), self.operand::<W>(y));
        let negative = a.negative != b.negative;
        match (a.kind, b.kind) {
            (OperandClass::Nan, _) | (_, OperandClass::Nan) => self.nan_of(&[x, y]),
            (OperandClass::Zero, OperandClass::Infinite) | (OperandClass::Infinite, OperandClass::Zero) => {
                self.invalid()
            }
            (OperandClass::Infinite, _) | (_, OperandClass::Infinite) => self.infinity(negative),
            (OperandClass::Zero, _) | (_, OperandClass::Zero) => self.zero(negative),
            (OperandClass::Finite, OperandClass::Finite) => {
                let product = self.product(&a, &b);
                self.round(negative, product.leading, product.significand)
            }
        }
    }
}
