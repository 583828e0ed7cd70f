//! Corners of the alignment: its width, its treatment of dropped bits, and the rounding of the sum.

use super::sketch::{FactorCodes, SWEEP, Significands, Sketch, code};
use crate::format::Format;

pub(super) fn add(s: &mut Sketch<'_>) {
    let (reach, from) = (s.reach(), s.top() - s.reach());
    for distance in reach - SWEEP + 1..=reach {
        width(s, distance, from);
        width_with_c(s, distance, from);
        many(s, distance, from);
        carry(s, distance, from);
    }
    let mut precisions = vec![s.precision()];
    if s.precision() == 24 {
        // The accumulator of FP8 operands has 14 significant bits.
        precisions.push(14);
    }
    for precision in precisions {
        ties(s, precision);
        ties_after_carry(s, precision);
    }
    cancellation(s);
}

/// A pair that cancels and a smaller term: the sum shows which bits were kept.
fn width(s: &mut Sketch<'_>, q: i32, from: i32) {
    let (e, [x, y, z, _], zero) = (s.top(), s.slots(), s.c_zero(false));
    let pair = [s.power(x, false, e), s.power(y, true, e)];
    for (sign, negative) in [("", false), ("minus-", true)] {
        let small = s.swept(z, negative, e - q, from);
        s.add(format!("width/pair-{sign}{q}"), &[pair[0], pair[1], small], zero);
    }
    let halves = s.swept_scaled(z, false, e - q, from, 3);
    s.add(format!("width/pair-three-halves-{q}"), &[pair[0], pair[1], halves], zero);
    // 9/4 * 2^e: its exponent counts as e although it has a bit above.
    let threes = Significands { a: 3, b: 3 };
    let pair = [s.product(x, false, e, threes), s.product(y, true, e, threes)];
    let small = s.swept(z, false, e - q, from);
    s.add(format!("width/nine-quarters-{q}"), &[pair[0], pair[1], small], zero);
}

/// c as one of the pair, and as the smaller term.
fn width_with_c(s: &mut Sketch<'_>, q: i32, from: i32) {
    let (e, [x, y, z, _]) = (s.top(), s.slots());
    let small = s.swept(z, false, e - q, from);
    s.add(format!("width/c-large-{q}"), &[s.power(y, true, e), small], s.c(false, e));
    for (sign, negative) in [("", false), ("minus-", true)] {
        let pair = [s.power(x, false, e), s.power(y, true, e)];
        s.add(format!("width/c-small-{sign}{q}"), &pair, s.c(negative, e - q));
    }
}

/// Many equal small terms, visible only together.
fn many(s: &mut Sketch<'_>, q: i32, from: i32) {
    let (e, [x, y, ..], zero) = (s.top(), s.slots(), s.c_zero(false));
    let others = |used_ks: &[usize]| -> Vec<_> {
        (0..s.i.k).filter(|k| !used_ks.contains(k)).map(|k| s.swept(k, false, e - q, from)).collect()
    };
    let mut products = others(&[x]);
    products.push(s.power(x, false, e));
    let mut cancelling = others(&[x, y]);
    cancelling.extend([s.power(x, false, e), s.power(y, true, e)]);
    s.add(format!("width/many-{q}"), &products, zero);
    s.add(format!("width/many-pair-{q}"), &cancelling, zero);
}

/// Two equal terms, whose sum has a leading bit above both, and a smaller one.
/// The result may lose one of the bits that the alignment keeps.
fn carry(s: &mut Sketch<'_>, q: i32, from: i32) {
    let (e, [x, y, z, _]) = (s.top(), s.slots());
    let pair = [s.power(x, false, e), s.power(y, false, e)];
    for (sign, negative) in [("", false), ("minus-", true)] {
        let small = s.swept(z, negative, e - q, from);
        s.add(format!("carry/{sign}{q}"), &[pair[0], pair[1], small], s.c_zero(false));
    }
}

/// Ties in the last of `precision` places of a sum whose leading bit is one or two above all terms.
/// The deciding bits are within reach of the alignment.
fn ties_after_carry(s: &mut Sketch<'_>, precision: i32) {
    let (e, [x, y, z, w], zero) = (s.top() - 2, s.slots(), s.c_zero(false));
    for (sign, negative) in [("", false), ("minus-", true)] {
        for (above, significands) in [(1, Significands::ONE), (2, Significands { a: 3, b: 3 })] {
            // 2^e + 2^e, or 9/4 * 2^e twice.
            let [first, second] = [x, y].map(|k| s.product(k, negative, e, significands));
            let half = s.power(z, negative, e + above - precision);
            let odd = s.power(w, negative, e + above - precision + 1);
            let beyond = s.power(w, negative, e + above - precision - 1);
            let name = format!("tie/{sign}carried-{above}");
            s.add(format!("{name}-even-{precision}"), &[first, second, half], zero);
            s.add(format!("{name}-odd-{precision}"), &[first, second, half, odd], zero);
            s.add(format!("{name}-even-{precision}-and-more"), &[first, second, half, beyond], zero);
        }
    }
}

/// Half a unit after `precision` places, with an even or odd last digit, alone or with a deciding term.
fn ties(s: &mut Sketch<'_>, precision: i32) {
    let (e, [x, y, z, w], zero) = (s.top(), s.slots(), s.c_zero(false));
    // Three blocks of eight distances, and two for negative sums.
    let from = e - precision - 24;
    for (sign, negative) in [("", false), ("minus-", true)] {
        let (one, half) = (s.power(x, negative, e), s.power(y, negative, e - precision));
        let odd = s.power(z, negative, e - precision + 1);
        s.add(format!("tie/{sign}even-{precision}"), &[one, half], zero);
        s.add(format!("tie/{sign}odd-{precision}"), &[one, half, odd], zero);
        s.add(format!("tie/{sign}c-even-{precision}"), &[half], s.c(negative, e));
        for q in 1..=if negative { 16 } else { 24 } {
            let [above, below] = [negative, !negative].map(|n| s.swept(w, n, e - precision - q, from));
            s.add(format!("tie/{sign}even-{precision}-above-{q}"), &[one, half, above], zero);
            s.add(format!("tie/{sign}odd-{precision}-below-{q}"), &[one, half, odd, below], zero);
            s.add(format!("tie/{sign}c-even-{precision}-above-{q}"), &[half, above], s.c(negative, e));
        }
    }
}

/// Sums that cancel to the last bit of a product; u is one unit in the last place of 1.
fn cancellation(s: &mut Sketch<'_>) {
    let [x, y, z, _] = s.slots();
    let near_one = |format: &Format, units: i32| {
        let bits = format.fraction_bits();
        code(format, false, ((1i128 << bits) + i128::from(units)) as u128, -(bits as i32))
    };
    let (a, b) = (s.i.a, s.i.b);
    let product = |k: usize, negative: bool, (first, second): (i32, i32)| {
        let code_a = near_one(a, first)? | if negative { 1 << (a.bits - 1) } else { 0 };
        Some(FactorCodes { k, a: code_a, b: near_one(b, second)? })
    };
    let zero = s.c_zero(false);
    for (name, first, second) in [
        ("(1+u)-1", (1, 0), (0, 0)),
        ("1(1+u)-1", (0, 1), (0, 0)),
        ("(1+u)(1+u)-1", (1, 1), (0, 0)),
        ("(1+u)(1+u)-(1+2u)", (1, 1), (2, 0)),
        ("(1+u)(1+2u)-(1+3u)", (1, 2), (3, 0)),
        ("(1+u)(1+3u)-(1+2u)(1+2u)", (1, 3), (2, 2)),
    ] {
        for (sign, negative) in [("", false), ("minus-", true)] {
            let pair = [product(x, negative, first), product(y, !negative, second)];
            s.add(format!("cancel/{sign}{name}"), &pair, zero);
            s.add(format!("cancel/{sign}{name}-and-2^-20"), &[pair[0], pair[1], s.power(z, false, -20)], zero);
        }
    }
    for (name, first) in [("(1+u)-c", (1, 0)), ("(1+u)(1+u)-c", (1, 1)), ("(1+2u)(1+3u)-c", (2, 3))] {
        s.add(format!("cancel/{name}"), &[product(x, false, first)], s.c(true, 0));
    }
}
