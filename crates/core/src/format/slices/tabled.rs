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
        let mut runs = vec![(0, code(0)), (infinities[0], code(infinities[0]))];
        // From the one finite end to -0, and from +0 to the other, each code has one run.
        for (first, last) in [(infinities[0] + 1, zeros[0]), (zeros[1], infinities[1] - 1)] {
            runs.push((first, code(first)));
            split((first, code(first)), (last, code(last)), &code, &mut runs);
        }
        runs.extend([infinities[1], infinities[1] + 1].map(|key| (key, code(key))));
        runs.dedup_by_key(|(_, code)| *code);
        let padding = runs[runs.len() - 1];
        runs.resize(runs.len().next_power_of_two(), padding);
        let lacks_nan = table.nan().is_none();
        let (starts, codes): (Vec<u32>, Vec<u8>) = runs.into_iter().unzip();
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

/// Appends the first key of each further run from `low`, with its code, to `high`.
fn split(low: (u32, u8), high: (u32, u8), code: &impl Fn(u32) -> u8, runs: &mut Vec<(u32, u8)>) {
    if low.1 == high.1 {
        return;
    }
    if high.0 - low.0 == 1 {
        runs.push(high);
        return;
    }
    let middle = low.0 + (high.0 - low.0) / 2;
    let middle = (middle, code(middle));
    split(low, middle, code, runs);
    split(middle, high, code, runs);
}
