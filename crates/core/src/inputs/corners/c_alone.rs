//! Corners with c and no product: effect of the accumulator on a number that passes through.

use super::sketch::Sketch;
use crate::{
    format::{Finite, Format, Overflow, Real, Rounding},
    inputs::values::{exponents, special_codes},
    isa::Case,
};

/// Exponents of a format above which only the middle ones are tried.
const EXPONENTS: i32 = 320;

pub(super) fn add(s: &mut Sketch<'_>) {
    let format = s.i.c;
    let (low, high) = exponents(format);
    let sparse = high - low > EXPONENTS;
    for e in low..=high {
        let near_an_end = e - low < 4 || high - e < 4 || e.abs() < 2;
        if sparse && !near_an_end && e % 29 != 0 {
            continue;
        }
        // Every bit of the significand set, with alternating signs.
        push(s, format!("c/ones-2^{e}"), ones(format, e % 2 != 0, e));
    }
    for bit in 1..=format.fraction_bits() as i32 {
        let one = super::sketch::code(format, false, 1 | 1 << bit, -bit);
        push(s, format!("c/1-and-2^-{bit}"), one);
    }
    for (index, code) in special_codes(format).into_iter().enumerate() {
        if format.decode(code).is_finite() {
            push(s, format!("c/special-{index}"), Some(code));
        }
    }
}

fn push(s: &mut Sketch<'_>, name: String, c: Option<u64>) {
    if let Some(c) = c {
        s.push(name, Case { c, ..Case::zeros(s.i) });
    }
}

/// Largest number below 2^(e+1).
fn ones(format: &Format, negative: bool, e: i32) -> Option<u64> {
    let value = Finite::exact(negative, u128::MAX >> 1, e - 126);
    format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate)
}
