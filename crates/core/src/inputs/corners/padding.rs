//! Corners of padding: bits without information in containers must change nothing.

use super::sketch::{Sketch, code};
use crate::{format::Format, isa::Case};

pub(super) fn add(s: &mut Sketch<'_>) {
    let i = s.i;
    let (Some(one_a), Some(one_b)) = (code(i.a, false, 1, 0), code(i.b, false, 1, 0)) else { return };
    for (name, value) in padded(i.a) {
        for (other_name, other) in others(i.b) {
            let mut case = Case::zeros(i);
            (case.a[0], case.b[0]) = (value, other);
            s.push(format!("padding/a-{name}-times-{other_name}"), case);
        }
        let case = Case::dense(vec![value; i.k], vec![one_b; i.k], 0);
        s.push(format!("padding/a-{name}-everywhere"), case);
    }
    for (name, value) in padded(i.b) {
        for (other_name, other) in others(i.a) {
            let mut case = Case::zeros(i);
            (case.a[0], case.b[0]) = (other, value);
            s.push(format!("padding/b-{name}-times-{other_name}"), case);
        }
        let case = Case::dense(vec![one_a; i.k], vec![value; i.k], 0);
        s.push(format!("padding/b-{name}-everywhere"), case);
    }
}

/// Codes with padding set: alone (a subnormal or NaN of the container), and under ordinary numbers.
fn padded(format: &Format) -> Vec<(String, u64)> {
    let Some(float) = format.float().filter(|float| float.padding_bits > 0) else { return Vec::new() };
    let all = (1u64 << float.padding_bits) - 1;
    let bases = [
        ("0", format.zero(false)),
        ("infinity", format.infinity(false)),
        ("1", code(format, false, 1, 0)),
        ("smallest", code(format, false, 1, float.emin() - float.trailing_bits as i32)),
        ("largest", Some(format.largest(false))),
        ("nan", format.nan()),
    ];
    let mut codes = Vec::new();
    for (name, base) in bases {
        let Some(base) = base else { continue };
        for (sign, bit) in [("", 0), ("minus-", 1u64 << (format.bits - 1))] {
            codes.push((format!("{sign}{name}-low-bit"), base | bit | 1));
            codes.push((format!("{sign}{name}-top-bit"), base | bit | (all + 1) >> 1));
            codes.push((format!("{sign}{name}-all-bits"), base | bit | all));
        }
    }
    codes
}

/// Other factors of padded codes: the largest power of two makes the smallest difference visible.
fn others(format: &Format) -> Vec<(&'static str, u64)> {
    let largest = format.float().and_then(|float| code(format, false, 1, float.emax()));
    let named = [
        ("0", format.zero(false)),
        ("1", code(format, false, 1, 0)),
        ("largest-power", largest),
        ("infinity", format.infinity(false)),
    ];
    named.into_iter().filter_map(|(name, code)| Some((name, code?))).collect()
}
