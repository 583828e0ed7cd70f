//! Exact integer sums.

use super::{
    floating::RoundedCodes,
    number::COUNT,
    pieces::Pieces,
    terms::FusedTerms,
    word::{LANES, Lane, PieceLanes, over, set_piece},
};
use crate::{arithmetic::Wrap, base::vectors::vectorised, format::Format, isa::Instruction};

/// Sums of products of 8 bits and fewer, and c and D of 32 bits with a sign.
#[derive(Debug, Clone)]
pub(super) struct Integer {
    wrap: Wrap,
    /// Whether terms are exclusive ors of bits.
    xor: bool,
}

impl Integer {
    /// `None` for other formats, or more products than 32 bits hold.
    pub(super) fn new(i: &Instruction, wrap: Wrap) -> Option<Integer> {
        let word = |format: &Format| format.is_integer() && format.bits == 32 && format.largest(true) != 0;
        let serves = i.a.bits <= 8 && i.b.bits <= 8 && word(i.c) && word(i.d) && i.k < 1 << 15;
        serves.then_some(Integer { wrap, xor: i.xor })
    }
}

vectorised! {
    /// D for some pieces, with the elements of C.
    pub(super) fn integers(integer: &Integer, pieces: &Pieces<'_>, c: &PieceLanes<u32>, d: &mut RoundedCodes) {
        let RoundedCodes { codes, special } = d;
        *special = [0; COUNT];
        for at in 0..pieces.count {
            let factors = pieces.factors(at);
            let mut sum = [0i32; LANES];
            for term in 0..pieces.terms() {
                let terms: Lane<i32> = if integer.xor {
                    let (a, b) = (factors.a.significands[term], &factors.b.significands[term]);
                    over(b, |b| a ^ b)
                } else {
                    factors.value(term)
                };
                for l in 0..LANES {
                    sum[l] = sum[l].wrapping_add(terms[l]);
                }
            }
            set_piece(codes, at, &over(&sum, |sum| sum as u32));
        }
        for (code, c) in codes.iter_mut().zip(c) {
            let (sum, c) = (*code as i32, *c as i32);
            *code = match integer.wrap {
                Wrap::Wrap => sum.wrapping_add(c),
                Wrap::Saturate => sum.saturating_add(c),
            } as u32;
        }
    }
}
