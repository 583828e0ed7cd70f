//! Corners of zero operands, zero products and zero sums.

use super::sketch::{FactorCodes, SWEEP, Sketch};
use crate::{inputs::values::exponents, isa::Case};

pub(super) fn add(s: &mut Sketch<'_>) {
    beside_small_terms(s);
    nothing_else(s);
    cancelled(s);
}

/// Zero times the largest number, with a small product or a small c: it must not widen the alignment.
fn beside_small_terms(s: &mut Sketch<'_>) {
    let ([x, y, ..], none) = (s.slots(), s.c_zero(false));
    let (a, b) = (s.i.a, s.i.b);
    let left = a.zero(false).map(|zero| FactorCodes { k: x, a: zero, b: b.largest(false) });
    let right = b.zero(true).map(|zero| FactorCodes { k: x, a: a.largest(true), b: zero });
    let products = exponents(a).0 + exponents(b).0;
    let from = products.max(exponents(s.i.d).0);
    for e in from..from + SWEEP {
        let small = s.swept(y, false, e, from);
        s.add(format!("zeros/0-times-largest-and-2^{e}"), &[left, small], none);
        s.add(format!("zeros/largest-times-minus-0-and-2^{e}"), &[right, small], none);
    }
    let low = exponents(s.i.c).0;
    for e in low..low + 8 {
        s.add(format!("zeros/0-times-largest-and-c-2^{e}"), &[left], s.c(false, e));
        s.add(format!("zeros/largest-times-minus-0-and-c-minus-2^{e}"), &[right], s.c(true, e));
    }
}

/// Products that are all zero, of every combination of signs, and c = 0.
fn nothing_else(s: &mut Sketch<'_>) {
    let i = s.i;
    let signs = [("0", false), ("minus-0", true)];
    let mut others: Vec<(String, u64)> = Vec::new();
    for (sign, negative) in [("", false), ("minus-", true)] {
        others.extend(i.b.zero(negative).map(|zero| (format!("{sign}0"), zero)));
        others.push((format!("{sign}largest"), i.b.largest(negative)));
        others.extend(super::sketch::code(i.b, negative, 1, 0).map(|one| (format!("{sign}1"), one)));
    }
    for (a_name, a) in signs {
        for (b_name, b) in &others {
            for (c_name, c) in signs {
                if let (Some(a), Some(c)) = (i.a.zero(a), s.c_zero(c)) {
                    let case = Case::dense(vec![a; i.k], vec![*b; i.k], c);
                    s.push(format!("zeros/{a_name}-times-{b_name}-c-{c_name}"), case);
                }
            }
        }
    }
}

/// Sums that cancel to zero.
fn cancelled(s: &mut Sketch<'_>) {
    let [x, y, ..] = s.slots();
    for (sign, negative) in [("", false), ("minus-", true)] {
        let pair = [s.power(x, negative, 0), s.power(y, !negative, 0)];
        for (c_sign, c_negative) in [("0", false), ("minus-0", true)] {
            s.add(format!("zeros/{sign}1-cancelled-c-{c_sign}"), &pair, s.c_zero(c_negative));
        }
        s.add(format!("zeros/{sign}1-cancelled-by-c"), &[pair[0]], s.c(!negative, 0));
        s.add(
            format!("zeros/{sign}1-cancelled-at-the-end"),
            &[pair[0], s.power(s.i.k - 1, !negative, 0)],
            s.c_zero(true),
        );
    }
}
