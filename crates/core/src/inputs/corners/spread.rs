//! Corners of sparse and block-scaled forms: dense ones spread over their operands, and some more.

use super::sketch::{NamedCase, code};
use crate::{
    format::{Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Chunk, Instruction},
};

/// Case of the plain form as a case of `i`.
/// The stored elements have the first positions of their chunks, B is zero where none is stored, and scales are 1.
pub(super) fn spread(i: &Instruction, plain: &Case) -> Case {
    let mut case = Case { a: plain.a.clone(), c: plain.c, ..blank(i) };
    plain.b.iter().enumerate().for_each(|(at, code)| {
        let k = case.logical(i, at);
        case.b[k] = *code;
    });
    case
}

/// All operands zero and all scales 1.
fn blank(i: &Instruction) -> Case {
    let mut case = Case::zeros(i);
    if let Some(scale) = i.scale {
        let one = power(scale.format, 0).unwrap_or(0);
        case.scale_a.fill(one);
        case.scale_b.fill(one);
    }
    case
}

/// Choices of stored elements, by sums that distinguish the elements of B.
/// The content of unstored elements must not count.
pub(super) fn sparse(i: &Instruction) -> Vec<NamedCase> {
    let Some(chunk) = i.chunk() else { return Vec::new() };
    let mut named = Vec::new();
    let Some(one) = one(i.a) else { return named };
    let patterns = patterns(chunk);
    let mixed = |by: usize| -> Vec<u64> {
        let chunks = (0..i.k / chunk.length).map(|at| &patterns[(at + by) % patterns.len()]);
        chunks.flatten().copied().collect()
    };
    let everywhere = |pattern: &Vec<u64>| pattern.repeat(i.k / chunk.length);
    let mut choices: Vec<(String, Vec<u64>)> =
        patterns.iter().enumerate().map(|(at, pattern)| (format!("pattern-{at}"), everywhere(pattern))).collect();
    choices.extend((0..patterns.len()).map(|by| (format!("mixed-{by}"), mixed(by))));
    for (name, positions) in choices {
        let mut case = Case { positions, ..blank(i) };
        case.a.fill(one);
        let stored: Vec<usize> = (0..case.a.len()).map(|at| case.logical(i, at)).collect();
        (0..i.k).for_each(|k| case.b[k] = marker(i, k));
        named.push(NamedCase { name: format!("sparse/{name}"), case: case.clone() });
        for (other, value) in unstored(i.b) {
            let mut case = case.clone();
            (0..i.k).filter(|k| !stored.contains(k)).for_each(|k| case.b[k] = value);
            named.push(NamedCase { name: format!("sparse/{name}-beside-{other}"), case });
        }
        // A stored zero of A takes part in a product: with an infinity it gives NaN. An unstored one does not.
        if let (Some(infinity), Some(zero)) = (i.b.infinity(false), i.a.zero(false)) {
            let mut case = case.clone();
            (case.a[0], case.b[stored[0]]) = (zero, infinity);
            named.push(NamedCase { name: format!("sparse/{name}-0-times-infinity"), case });
        }
    }
    named
}

/// Scales at their ends, NaN, and powers of two that differ from block to block.
pub(super) fn scale_cases(i: &Instruction) -> Vec<NamedCase> {
    let Some(scale) = i.scale else { return Vec::new() };
    let mut named = Vec::new();
    let (Some(one_a), Some(one_b), Some(one)) = (one(i.a), one(i.b), power(scale.format, 0)) else { return named };
    let mut ones = blank(i);
    ones.a.fill(one_a);
    ones.b.fill(one_b);
    let low = scale.format.float().map_or(0, |f| f.emin() - f.trailing_bits as i32);
    let codes = [
        ("0", scale.format.zero(false)),
        ("smallest", power(scale.format, low)),
        ("half", power(scale.format, -1)),
        ("largest", Some(scale.format.largest(false))),
        ("nan", scale.format.nan()),
    ];
    for (name, value) in codes {
        let Some(value) = value else { continue };
        for block in 0..ones.scale_a.len() {
            let (mut left, mut right, mut both) = (ones.clone(), ones.clone(), ones.clone());
            left.scale_a[block] = value;
            right.scale_b[block] = value;
            (both.scale_a[block], both.scale_b[block]) = (value, value);
            for (side, case) in [("a", left), ("b", right), ("both", both)] {
                named.push(NamedCase { name: format!("scale/{side}{block}-{name}"), case });
            }
        }
    }
    // Opposite scales cancel.
    for e in [-2, 3] {
        let mut case = ones.clone();
        case.scale_a.fill(power(scale.format, e).unwrap_or(one));
        case.scale_b.fill(power(scale.format, -e).unwrap_or(one));
        named.push(NamedCase { name: format!("scale/2^{e}-and-back"), case });
    }
    named
}

/// All choices of the elements that a chunk stores, as positions.
fn patterns(chunk: Chunk) -> Vec<Vec<u64>> {
    let groups = chunk.length / chunk.together;
    let spread = |groups: &[usize]| -> Vec<u64> {
        let members = |group: &usize| group * chunk.together..(group + 1) * chunk.together;
        groups.iter().flat_map(members).map(|position| position as u64).collect()
    };
    if chunk.kept == chunk.together {
        return (0..groups).map(|only| spread(&[only])).collect();
    }
    (0..groups).flat_map(|first| (first + 1..groups).map(move |second| [first, second])).map(|p| spread(&p)).collect()
}

/// Code of B that distinguishes k from its neighbours: small powers of two, or small integers.
fn marker(i: &Instruction, k: usize) -> u64 {
    let small = (k % 4) as i32;
    if i.b.is_integer() {
        (small as u64 + 1) & i.b.code_mask()
    } else {
        power(i.b, -small).or_else(|| one(i.b)).unwrap_or(0)
    }
}

/// Contents of elements of B that nothing multiplies.
fn unstored(format: &Format) -> Vec<(&'static str, u64)> {
    let mut contents = vec![("largest", format.largest(false)), ("lowest", format.largest(true))];
    contents.extend(format.infinity(true).map(|code| ("minus-infinity", code)));
    contents.extend(format.nan().map(|code| ("nan", code)));
    contents
}

fn one(format: &Format) -> Option<u64> {
    if format.is_integer() { Some(1) } else { code(format, false, 1, 0) }
}

/// Code of 2^e, if there is one; also in formats without zero.
fn power(format: &Format, e: i32) -> Option<u64> {
    let value = Finite::exact(false, 1, e);
    let code = format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate)?;
    (format.to_f64(code) == 2f64.powi(e)).then_some(code)
}
