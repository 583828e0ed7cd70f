//! Square roots.

use rug::Integer;

use super::{
    Outcome,
    engine::{Engine, Fields},
    operand::Kind,
};
use crate::format::{Rounding, Word};

impl<F: Fields> Engine<'_, F> {
    pub(super) fn sqrt(&self, x: u64) -> Outcome {
        let a = self.operand::<u64>(x);
        match a.kind {
            Kind::Nan => self.nan_of(&[x]),
            Kind::Zero => self.zero(a.negative),
            _ if a.negative => self.invalid(),
            Kind::Infinite => self.infinity(false),
            Kind::Finite => {
                // The significand as m in [1, 4) times an even power of two: its root has its leading bit at 1.
                let odd = a.leading & 1;
                let leading = (a.leading - odd) / 2;
                match (self.wide, self.environment.rounding) {
                    (false, _) => self.round(false, leading, root64(a.significand >> (1 - odd))),
                    (true, Rounding::Sr { .. }) => self.round(false, leading, long_root(a.significand, odd)),
                    (true, _) => self.round(false, leading, root128(u128::from(a.significand) << 64 >> (1 - odd))),
                }
            }
        }
    }
}

/// The root of `m / 2^62`, left-justified and jammed, for m of 63 or 64 bits: 32 bits, enough for a precision of 30, and of 31
/// since a root is never half-way between two numbers of the precision of its operand.
fn root64(m: u64) -> u64 {
    let root = m.isqrt();
    root << 32 | u64::bit(root * root != m)
}

/// The root of `m / 2^126`, left-justified and jammed, for m of 127 or 128 bits.
fn root128(m: u128) -> u128 {
    let root = m.isqrt();
    root << 64 | u128::bit(root * root != m)
}

/// The root of `significand * 2^odd / 2^63`, left-justified and jammed, to 128 bits.
fn long_root(significand: u64, odd: i32) -> u128 {
    let (root, rest) = (Integer::from(significand) << (191 + odd) as u32).sqrt_rem(Integer::new());
    root.to_u128_wrapping() | u128::bit(!rest.is_zero())
}
