//! Corners of integers: accumulators at both ends of the range, and extreme operands.

use super::sketch::Sketch;
use crate::{
    format::Format,
    isa::{Case, Instruction},
};

/// Most positions of a row in which a single term is tried.
const MOST_POSITIONS: usize = 64;

pub(super) fn add(s: &mut Sketch<'_>) {
    let i = s.i;
    for (a_name, a) in fills(i.a, i.k) {
        for (b_name, b) in fills(i.b, i.k) {
            for (c_name, c) in accumulators(i.c, sum(i, &a, &b)) {
                s.push(format!("integer/{a_name}-times-{b_name}-c-{c_name}"), Case::dense(a.clone(), b.clone(), c));
            }
        }
    }
    // One term tips c over, in each position; long rows skip some of each remainder, to keep recordings small.
    let other = u64::from(!i.xor);
    let step = i.k.div_ceil(MOST_POSITIONS);
    for at in (0..i.k / step).map(|turn| turn * step + turn % step) {
        for (name, c) in accumulators(i.c, 0) {
            let mut case = Case::zeros(i);
            (case.a[at], case.b[at], case.c) = (i.a.largest(false), other, c);
            s.push(format!("integer/at-{at}-c-{name}"), case);
        }
    }
}

/// Operands: all equal, and alternating between the ends.
fn fills(format: &Format, k: usize) -> Vec<(&'static str, Vec<u64>)> {
    let (low, high) = (format.largest(true), format.largest(false));
    let minus_one = format.code_mask();
    let mut fills = vec![("lowest", vec![low; k]), ("highest", vec![high; k]), ("1", vec![1; k])];
    if minus_one != high {
        fills.push(("minus-1", vec![minus_one; k]));
    }
    fills.push(("alternating", (0..k).map(|at| if at % 2 == 0 { low } else { high }).collect()));
    fills
}

/// Accumulators at the ends, and those for which a sum of products of `sum` just reaches or passes one.
fn accumulators(format: &Format, sum: i64) -> Vec<(String, u64)> {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let mut accumulators: Vec<(String, i64)> = vec![("lowest".into(), low), ("highest".into(), high), ("0".into(), 0)];
    for by in [-1, 0, 1] {
        accumulators.push((format!("highest-reached{by:+}"), high - sum + by));
        accumulators.push((format!("lowest-reached{by:+}"), low - sum + by));
    }
    accumulators.retain(|(_, value)| (low..=high).contains(value));
    accumulators.into_iter().map(|(name, value)| (name, value as u64 & format.code_mask())).collect()
}

fn sum(i: &Instruction, row: &[u64], column: &[u64]) -> i64 {
    let term = |(x, y): (u64, u64)| (i.a.to_f64(x) * i.b.to_f64(y)) as i64;
    row.iter().zip(column).map(|(x, y)| term(i.factors(*x, *y))).sum()
}
