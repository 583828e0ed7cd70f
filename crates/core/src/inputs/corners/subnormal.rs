//! Corners of subnormal operands: the exponent with which their products are aligned.

use super::sketch::{FactorCodes, SWEEP, Significands, Sketch};
use crate::inputs::values::exponents;

/// Operand that is subnormal.
const SIDES: [&str; 3] = ["a", "b", "both"];

/// Products of the smallest subnormal and the largest power of two or a subnormal, and a smaller term.
/// Their leading bit lies far below the nominal exponent: the smaller term, also with a cancelling pair, shows which of
/// the two aligns.
pub(super) fn add(s: &mut Sketch<'_>) {
    let ([x, y, z, w], zero) = (s.slots(), s.c_zero(false));
    let ((a_low, a_high), (b_low, b_high)) = (exponents(s.i.a), exponents(s.i.b));
    for side in SIDES {
        let (ea, eb) = match side {
            "a" => (a_low, b_high),
            "b" => (a_high, b_low),
            _ => (a_low, b_low),
        };
        let large =
            |s: &Sketch<'_>, k, negative| -> Option<FactorCodes> { s.factors(k, negative, ea, eb, Significands::ONE) };
        let from = ea + eb - SWEEP;
        for q in 1..=SWEEP {
            let small = s.swept(z, false, ea + eb - q, from);
            s.add(format!("subnormal/{side}-{q}"), &[large(s, x, false), small], zero);
            s.add(format!("subnormal/{side}-pair-{q}"), &[large(s, x, false), large(s, y, true), small], zero);
        }
        let low = exponents(s.i.d).0;
        let tie = [large(s, x, false), large(s, y, true), s.power(z, false, low), s.power(w, false, low - 1)];
        s.add(format!("subnormal/{side}-pair-tie"), &tie, zero);
        for (sign, negative) in [("", false), ("minus-", true)] {
            s.add(format!("subnormal/{sign}{side}-alone"), &[large(s, x, negative)], zero);
        }
        s.add(format!("subnormal/{side}-and-c-1"), &[large(s, x, false)], s.c(false, 0));
    }
}
