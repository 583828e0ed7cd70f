//! Conversion of `f32` to formats by table: a search among the places where the code changes.

use std::sync::Arc;

use super::constants::INFINITY;
use crate::format::{Format, Overflow, Real, Rounding, ValueTable};

const SIGN: u32 = 1 << 31;

/// Codes of all `f32` values in a format by table, and the table for stochastic rounding.
#[derive(Debug, Clone)]
pub(super) struct TableConstants {
    pub(super) table: &'static ValueTable,
    pub(super) overflow: Overflow,
    /// First keys of runs of equal codes in ascending order; the first is 0.
    /// Their number is a power of two: the last key is repeated.
    starts: Arc<[u32]>,
    codes: Arc<[u8]>,
    /// Code of values without one.
    substitute: u8,
    /// True if NaN has no code.
    pub(super) lacks_nan: bool,
}

/// A run of equal codes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    /// First key.
    start: u32,
    code: u8,
}

/// Integer in the order of the numbers, -0 below +0, between NaNs.
#[inline(always)]
fn key(bits: u32) -> u32 {
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
}

/// The `f32` of a key.
fn value(key: u32) -> f32 {
    f32::from_bits(if key & SIGN != 0 { key & !SIGN } else { !key })
}

impl TableConstants {
    pub(super) fn new(
        format: &Format,
        table: &'static ValueTable,
        rounding: Rounding,
        overflow: Overflow,
    ) -> TableConstants {
        let substitute = table.largest(false) as u8;
        let code = |key: u32| {
            let code = format.encode(&Real::from(f64::from(value(key))), rounding, overflow);
            code.map_or(substitute, |code| code as u8)
        };
        let infinities = [SIGN | INFINITY, INFINITY].map(key);
        let zeros = [SIGN, 0].map(key);
        let run = |start: u32| Run { start, code: code(start) };
        let mut runs = vec![run(0), run(infinities[0])];
        // From the one finite end to -0, and from +0 to the other, each code has one run.
        for (first, last) in [(infinities[0] + 1, zeros[0]), (zeros[1], infinities[1] - 1)] {
            runs.push(run(first));
            split(run(first), run(last), &run, &mut runs);
        }
        runs.extend([infinities[1], infinities[1] + 1].map(run));
        runs.dedup_by_key(|run| run.code);
        let padding = runs[runs.len() - 1];
        runs.resize(runs.len().next_power_of_two(), padding);
        let lacks_nan = table.nan().is_none();
        let (starts, codes): (Vec<u32>, Vec<u8>) = runs.into_iter().map(|run| (run.start, run.code)).unzip();
        TableConstants { table, overflow, starts: starts.into(), codes: codes.into(), substitute, lacks_nan }
    }

    /// Code of the `f32` with these bits.
    #[inline(always)]
    pub(super) fn code(&self, bits: u32) -> u32 {
        let key = key(bits);
        let starts = &self.starts[..];
        let (mut at, mut width) = (0, starts.len() / 2);
        while width > 0 {
            at += if starts[at + width] <= key { width } else { 0 };
            width /= 2;
        }
        self.codes[at].into()
    }

    /// Code of the `f32` with these bits, stochastically rounded.
    pub(super) fn random_code(&self, bits: u32, random: u64, random_bits: u32) -> u32 {
        let rounding = Rounding::Sr { random, bits: random_bits };
        let code = self.table.encode(&Real::from(f64::from(f32::from_bits(bits))), rounding, self.overflow);
        code.unwrap_or(self.substitute.into()) as u32
    }
}

/// Appends each further run from `low` to `high`; `run` gives the run that begins at a key.
fn split(low: Run, high: Run, run: &impl Fn(u32) -> Run, runs: &mut Vec<Run>) {
    if low.code == high.code {
        return;
    }
    if high.start - low.start == 1 {
        runs.push(high);
        return;
    }
    let middle = run(low.start + (high.start - low.start) / 2);
    split(low, middle, run, runs);
    split(middle, high, run, runs);
}
