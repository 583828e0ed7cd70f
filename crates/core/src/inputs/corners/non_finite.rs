//! Corners of infinities and NaN, in every position of A and B, and in c.

use super::sketch::{Sketch, code};
use crate::{
    format::{Class, Format, Specials},
    isa::Case,
};

pub(super) fn add(s: &mut Sketch<'_>) {
    let i = s.i;
    let (Some(one_a), Some(one_b), Some(one_c)) =
        (code(i.a, false, 1, 0), code(i.b, false, 1, 0), code(i.c, false, 1, 0))
    else {
        return;
    };
    let ones = Case::dense(vec![one_a; i.k], vec![one_b; i.k], one_c);
    of_c(s, &ones);
    for at in 0..i.k {
        for (name, value) in specials(i.a, at as u64) {
            let mut case = ones.clone();
            case.a[at] = value;
            beside_finite(s, &format!("non-finite/a{at}-{name}"), &case, i.b.zero(false), Side::A);
        }
        for (name, value) in specials(i.b, (i.k + at) as u64) {
            if matches!(name, "infinity" | "nan") && i.b.has_infinity() {
                continue; // Minus infinity and the other NaN take its place.
            }
            let mut case = ones.clone();
            case.b[at] = value;
            beside_finite(s, &format!("non-finite/b{at}-{name}"), &case, i.a.zero(true), Side::B);
        }
    }
    pairs(s, &ones);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// A special value against ones, minus ones and zeros, and with the c that matters.
fn beside_finite(s: &mut Sketch<'_>, name: &str, case: &Case, zero: Option<u64>, side: Side) {
    s.push(name, case.clone());
    let others = |case: &Case, value: u64| -> Case {
        let mut case = case.clone();
        (if side == Side::A { &mut case.b } else { &mut case.a }).fill(value);
        case
    };
    if let Some(zero) = zero {
        s.push(format!("{name}-times-0"), others(case, zero));
    }
    let other = if side == Side::A { s.i.b } else { s.i.a };
    if let Some(minus_one) = code(other, true, 1, 0) {
        s.push(format!("{name}-times-minus-1"), others(case, minus_one));
    }
    // The c that an addition would turn into NaN, or into the other NaN.
    let special = if side == Side::A { &case.a } else { &case.b };
    let format = if side == Side::A { s.i.a } else { s.i.b };
    let infinite = special.iter().map(|code| format.decode(*code)).find(|d| d.class == Class::Infinite);
    let opposite = infinite.and_then(|d| s.i.c.infinity(!d.negative)).map(|c| ("opposite-infinity", c));
    let c = opposite.or_else(|| nan(s.i.c, 77, true).map(|c| ("nan", c)));
    if let Some((c_name, c)) = c {
        s.push(format!("{name}-c-{c_name}"), Case { c, ..case.clone() });
    }
}

/// Special values of c with products of ones and zeros.
fn of_c(s: &mut Sketch<'_>, ones: &Case) {
    for (name, c) in specials(s.i.c, 5) {
        s.push(format!("non-finite/c-{name}"), Case { c, ..ones.clone() });
        s.push(format!("non-finite/c-{name}-alone"), Case { c, ..Case::zeros(s.i) });
    }
}

/// Infinities of either sign at two positions, and NaNs that differ at two.
fn pairs(s: &mut Sketch<'_>, ones: &Case) {
    let i = s.i;
    for at in 0..i.k {
        for other in (0..i.k).filter(|&other| other < 8 || other == at) {
            let mut push = |name: String, a: Option<u64>, b: Option<u64>| {
                if let (Some(a), Some(b)) = (a, b) {
                    let mut case = ones.clone();
                    (case.a[at], case.b[other]) = (a, b);
                    s.push(name, case);
                }
            };
            push(format!("non-finite/a{at}-infinity-b{other}-minus-infinity"), i.a.infinity(false), i.b.infinity(true));
            if at.abs_diff(other) < 2 {
                let nan = |format, payload| nan(format, payload, false);
                let payloads = (at as u64, (i.k + other) as u64);
                push(format!("non-finite/a{at}-nan-b{other}-nan"), nan(i.a, payloads.0), nan(i.b, payloads.1));
            }
        }
    }
}

/// Infinities and NaNs of a format; payloads distinguish the NaNs where the format has room.
fn specials(format: &Format, payload: u64) -> Vec<(&'static str, u64)> {
    let mut specials = Vec::new();
    specials.extend(format.infinity(false).map(|code| ("infinity", code)));
    specials.extend(format.infinity(true).map(|code| ("minus-infinity", code)));
    specials.extend(nan(format, payload, true).map(|code| ("nan", code)));
    if let (Some(quiet), Some(signalling)) = (nan(format, payload, true), nan(format, payload, false)) {
        let sign = 1 << (format.bits - 1);
        let other = if signalling == quiet { quiet | sign } else { signalling | sign };
        // In a format by table, or without a sign, that code may be a number.
        let other = if format.decode(other).class == Class::Nan { other } else { quiet };
        specials.push((if signalling == quiet { "minus-nan" } else { "minus-signalling-nan" }, other));
    }
    specials
}

/// A quiet or signalling NaN with a payload; the canonical one where the format has no room for either.
fn nan(format: &Format, payload: u64, quiet: bool) -> Option<u64> {
    let canonical = format.nan()?;
    let Some(float) = format.float().filter(|float| float.specials == Specials::Ieee) else { return Some(canonical) };
    let (trailing, padding) = (float.trailing_bits, float.padding_bits);
    let infinity = format.infinity(false)?;
    let payload = payload % (1 << (trailing - 1));
    let field = if quiet { payload | 1 << (trailing - 1) } else { payload.max(1) };
    let code = infinity | field << padding;
    Some(if format.decode(code).class == Class::Nan { code } else { canonical })
}
