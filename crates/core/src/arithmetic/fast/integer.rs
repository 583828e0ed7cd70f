//! Exact integer sums.

use std::hint::black_box;

use super::{
    floating::RoundedCodes,
    number::COUNT,
    pieces::Pieces,
    word::{LANES, Lane, PieceLanes, TURNS, each, over, piece, set_piece},
};
use crate::{
    arithmetic::{IntegerSum, Wrap},
    base::vectors::vectorised,
    format::Format,
    isa::Instruction,
};

/// Sums of products of 16 bits or fewer, with c and D of 32 signed bits.
#[derive(Debug, Clone)]
pub(super) struct Integer {
    wrap: Wrap,
    /// True if sums of products need more than 32 bits.
    wide: bool,
    /// True if terms are exclusive ors of bits.
    pub(super) xor: bool,
}

impl Integer {
    /// `None` for other formats, products beyond 64 bits, sums of groups, and narrower c or ranges.
    pub(super) fn new(i: &Instruction, sum: &IntegerSum) -> Option<Integer> {
        let IntegerSum { wrap, group, bits, group_bits, c_bits } = *sum;
        let signed = |format: &Format| format.is_integer() && format.largest(true) != 0;
        let word = |format: &Format| signed(format) && format.bits == 32;
        // The product of two numbers has at most 31 bits and a sign.
        let factor = |format: &Format| format.bits <= 8 || format.bits <= 16 && signed(format);
        let is_full = group_bits.is_none() && c_bits.is_none() && bits == i.d.bits;
        let is_one_sum = is_full && (wrap == Wrap::Wrap || group >= i.stored_k());
        let serves = is_one_sum && factor(i.a) && factor(i.b) && word(i.c) && word(i.d) && i.k < 1 << 15;
        let wide = wrap == Wrap::Saturate && (i.a.bits > 8 || i.b.bits > 8);
        serves.then_some(Integer { wrap, wide, xor: i.xor })
    }
}

vectorised! {
    /// D of some pieces, with the elements of C.
    pub(super) fn integers(integer: &Integer, pieces: &Pieces<'_>, c: &PieceLanes<u32>, d: &mut RoundedCodes) {
        let RoundedCodes { codes, special } = d;
        *special = [0; COUNT];
        // A step opaque to the compiler, so that it vectorises over lanes, not over terms.
        let (next, count) = (black_box(1), pieces.terms());
        for at in 0..pieces.count {
            let factors = pieces.of_group(at, pieces.a.significands, pieces.b.significands);
            let sum: Lane<i64> = if integer.wide {
                let mut sum = [0i64; LANES];
                let mut term = 0;
                while term < count {
                    let product = products(factors, term);
                    sum = each(|l| sum[l] + i64::from(product[l]));
                    term += next;
                }
                sum
            } else {
                let mut sum = [0i32; LANES];
                let mut term = 0;
                while term < count {
                    let terms = if integer.xor {
                        let (a, b) = (&factors.0[term], &factors.1[term]);
                        each(|l| a[l % TURNS] ^ b[l])
                    } else {
                        products(factors, term)
                    };
                    sum = each(|l| sum[l].wrapping_add(terms[l]));
                    term += next;
                }
                over(&sum, i64::from)
            };
            let c = piece(c, at);
            let total: Lane<i64> = each(|l| sum[l] + i64::from(c[l] as i32));
            set_piece(codes, at, &over(&total, |total| match integer.wrap {
                Wrap::Wrap => total as u32,
                Wrap::Saturate => total.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
            }));
        }
    }
}

/// Products of integers.
#[inline(always)]
fn products((a, b): (&[[i32; TURNS]], &[[i32; LANES]]), term: usize) -> Lane<i32> {
    let (a, b) = (&a[term], &b[term]);
    each(|l| a[l % TURNS].wrapping_mul(b[l]))
}
