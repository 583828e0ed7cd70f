//! Corners at the ends of D's range: floor of the alignment, underflow and overflow.

use super::sketch::{SWEEP, Sketch};
use crate::inputs::values::exponents;

pub(super) fn add(s: &mut Sketch<'_>) {
    for first in [-1, 0, 1] {
        floor(s, first);
    }
    floor_with_others(s);
    underflow(s);
    overflow_with_c(s);
    overflow_and_back(s);
    beyond(s);
}

/// A power of two about the smallest number of D, and a smaller one.
/// With RZ 2^-149 - 2^-q becomes zero exactly if the alignment keeps 2^-q; with RNE the tie 2^-25 + 2^-q rounds up
/// exactly if it does.
fn floor(s: &mut Sketch<'_>, above: i32) {
    let ([x, y, ..], zero) = (s.slots(), s.c_zero(false));
    let low = exponents(s.i.d).0;
    let from = low - 1 - SWEEP;
    let first = low + above;
    for second in from..from + SWEEP {
        for (sign, negative) in [("plus", false), ("minus", true)] {
            let products = [s.power(x, false, first), s.swept(y, negative, second, from)];
            s.add(format!("floor/{first}-{sign}{second}"), &products, zero);
        }
    }
}

/// The same with a larger pair that cancels, and with c for the larger term.
fn floor_with_others(s: &mut Sketch<'_>) {
    let ([x, y, z, w], zero) = (s.slots(), s.c_zero(false));
    let low = exponents(s.i.d).0;
    let from = low - 1 - SWEEP;
    for second in from..from + SWEEP {
        let pair = [s.power(z, false, low + 6), s.power(w, true, low + 6)];
        for (sign, negative, first) in [("plus", false, low - 1), ("minus", true, low)] {
            let small = s.swept(y, negative, second, from);
            s.add(
                format!("floor/pair{first}-{sign}{second}"),
                &[s.power(x, false, first), small, pair[0], pair[1]],
                zero,
            );
        }
        s.add(format!("floor/c{low}-minus{second}"), &[s.swept(y, true, second, from)], s.c(false, low));
        s.add(format!("floor/c-minus{low}-plus{second}"), &[s.swept(y, false, second, from)], s.c(true, low));
    }
}

/// Results about half the smallest number, from both sides of zero.
fn underflow(s: &mut Sketch<'_>) {
    let [x, y, ..] = s.slots();
    let low = exponents(s.i.d).0;
    for (sign, negative) in [("plus", false), ("minus", true)] {
        for e in low - 3..=low {
            for (c_sign, c_negative) in [("", false), ("-c-minus-0", true)] {
                s.add(format!("underflow/{sign}{e}{c_sign}"), &[s.power(x, negative, e)], s.c_zero(c_negative));
            }
        }
        let three_quarters = [s.power(x, negative, low - 1), s.power(y, negative, low - 2)];
        s.add(format!("underflow/{sign}-three-quarters"), &three_quarters, s.c_zero(false));
        // c and a product leave half of the smallest number.
        let products = [s.power(x, !negative, low), s.power(y, negative, low - 1)];
        s.add(format!("underflow/{sign}-half-after-c"), &products, s.c(negative, low));
        // Just below the smallest normal number.
        let emin = s.i.d.float().map_or(0, |f| f.emin());
        let products = [s.power(x, negative, emin), s.power(y, !negative, low)];
        s.add(format!("underflow/{sign}-largest-subnormal"), &products, s.c_zero(false));
    }
}

/// c at the largest finite number, and products about half a unit in its last place.
fn overflow_with_c(s: &mut Sketch<'_>) {
    let [x, y, z, _] = s.slots();
    let (high, precision) = (exponents(s.i.d).1, s.precision());
    for (c_sign, c_negative) in [("", false), ("minus-", true)] {
        let c = Some(s.i.c.largest(c_negative));
        s.add(format!("overflow/{c_sign}largest-alone"), &[], c);
        for (sign, negative) in [("outward", c_negative), ("inward", !c_negative)] {
            for half in -2..=2 {
                let product = s.power(x, negative, high - precision + half);
                s.add(format!("overflow/{c_sign}largest-{sign}-half-unit{half:+}"), &[product], c);
            }
            // A little less than half a unit.
            let less = [s.power(x, negative, high - precision), s.power(y, !negative, high - precision - 8)];
            s.add(format!("overflow/{c_sign}largest-{sign}-less-than-half-unit"), &less, c);
            s.add(format!("overflow/{c_sign}largest-{sign}-2^{high}"), &[s.power(x, negative, high)], c);
        }
        let pair = [s.power(x, false, high), s.power(y, false, high), s.power(z, true, high)];
        s.add(format!("overflow/{c_sign}largest-and-back"), &pair, c);
    }
}

/// Sums that leave the range of D and return: inside a group they are finite.
fn overflow_and_back(s: &mut Sketch<'_>) {
    let zero = s.c_zero(false);
    let (k, high) = (s.i.k, exponents(s.i.d).1);
    for (sign, negative) in [("", false), ("minus-", true)] {
        let twice = [s.power(0, negative, high), s.power(1, negative, high)];
        s.add(format!("overflow/{sign}twice-2^{high}"), &twice, zero);
        for last in 2..k {
            s.add(
                format!("overflow/{sign}back-at-{last}"),
                &[s.power(last, !negative, high), twice[0], twice[1]],
                zero,
            );
        }
        let c = s.c(negative, high);
        s.add(format!("overflow/{sign}c-and-back"), &[twice[0], s.power(1, !negative, high)], c);
        // k equal products whose sum is 2^high, and one twice that.
        let share = k.ilog2() as i32;
        for above in [0, 1] {
            let all: Vec<_> = (0..k).map(|k| s.power(k, negative, high - share + above)).collect();
            s.add(format!("overflow/{sign}all-2^{}", high + above), &all, zero);
        }
    }
}

/// Products beyond the range of D, if the operands have them, alone and cancelling.
fn beyond(s: &mut Sketch<'_>) {
    let ([x, _, z, _], zero) = (s.slots(), s.c_zero(false));
    let top = exponents(s.i.a).1 + exponents(s.i.b).1;
    let high = exponents(s.i.d).1;
    if top <= high + 1 {
        return;
    }
    for (sign, negative) in [("", false), ("minus-", true)] {
        s.add(format!("overflow/{sign}product-2^{top}"), &[s.power(x, negative, top)], zero);
        s.add(format!("overflow/{sign}product-2^{}", high + 1), &[s.power(x, negative, high + 1)], zero);
    }
    let one = s.power(z, false, 0);
    let largest = s.power(z, false, high);
    for last in 1..s.i.k {
        let pair = [s.power(0, false, top), s.power(last, true, top)];
        s.add(format!("overflow/products-cancel-at-{last}"), &pair, zero);
        if last == 1 {
            s.add("overflow/products-cancel-and-1", &[pair[0], pair[1], one], zero);
            s.add("overflow/products-cancel-and-largest", &[pair[0], pair[1], largest], zero);
            s.add("overflow/products-cancel-and-c-1", &pair, s.c(false, 0));
            s.add("overflow/products-cancel-and-c-largest", &pair, Some(s.i.c.largest(false)));
        }
    }
    for e in [high + 1, high + 2, high + 25, high + 26, high + 27] {
        let pair = [s.power(0, false, e), s.power(1, true, e), s.power(z, false, high)];
        s.add(format!("overflow/products-2^{e}-cancel-and-2^{high}"), &pair, zero);
    }
}
