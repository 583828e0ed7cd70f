//! Chains of fused multiply-adds in binary64.

use super::word::array;
use crate::{
    arithmetic::{Destination, ElementaryOperation, Program, Source, Subnormals},
    base::vectors::vectorised,
    format::{self, Overflow, Rounding},
    isa::{Codes, Tiles},
    softfloat::{ResultTarget, fma},
};

/// Columns of D that are computed together.
const LANES: usize = 8;

/// Chain of fused multiply-adds over k, from c.
#[derive(Debug, Clone)]
pub(super) struct Double {
    m: usize,
    n: usize,
    k: usize,
    order: Vec<usize>,
    target: ResultTarget,
}

impl Double {
    /// `None` for any other program.
    pub(super) fn new(program: &Program) -> Option<Double> {
        let i = &program.instruction;
        let double = format::find("f64").ok()?;
        let mut order = Vec::new();
        let mut target = None;
        for (at, operation) in program.operations().enumerate() {
            let ElementaryOperation::Fma { factors, addend, to, .. } = operation else { return None };
            let from = at.checked_sub(1).map_or(Source::C, Source::Value);
            let Destination { target: step_target, subnormals, .. } = to;
            let unmasked = factors.a == u64::MAX && factors.b == u64::MAX;
            if *addend != from
                || !unmasked
                || *subnormals != Subnormals::Keep
                || target.is_some_and(|other| other != *step_target)
            {
                return None;
            }
            order.push(factors.k);
            target = Some(*step_target);
        }
        let target = target?;
        let last = program.output.value == Source::Value(order.len() - 1);
        let double_only = [i.a, i.b, i.c, i.d, target.format].iter().all(|format| *format == double);
        let keep = program.unpack.iter().all(|unpack| unpack.subnormals == Subnormals::Keep && unpack.wider.is_none());
        // D takes the result unchanged, infinities included.
        let overflow = [target.overflow, program.output.target.overflow];
        let simple = overflow.iter().all(|overflow| *overflow == Overflow::Standard) && i.chunk().is_none();
        (last && double_only && keep && simple).then_some(Double { m: i.m, n: i.n, k: i.k, order, target })
    }
}

vectorised! {
    /// Computes the bytes of the D codes of a tile; notes the elements left to the reference evaluator.
    pub(super) fn chains(double: &Double, tiles: &Tiles, tile: usize, d: &mut [u8], unknown: &mut Vec<usize>) {
        unknown.clear();
        let Double { m, n, k, .. } = *double;
        for row in 0..m {
            for first in (0..n).step_by(LANES) {
                let columns = LANES.min(n - first);
                let take = |codes: &Codes, at: usize| -> [f64; LANES] {
                    array(|l| if l < columns { f64::from_bits(codes.get(at + first + l)) } else { 0.0 })
                };
                let mut sum = take(&tiles.c, (tile * m + row) * n);
                for &at in &double.order {
                    let a = f64::from_bits(tiles.a.get((tile * m + row) * k + at));
                    let b = take(&tiles.b, (tile * k + at) * n);
                    sum = if double.target.rounding == Rounding::Rne {
                        // The host's operation is the same, except for its NaN.
                        array(|l| a.mul_add(b[l], sum[l]))
                    } else {
                        let value = |x: f64| double.target.format.value(x.to_bits());
                        array(|l| f64::from_bits(fma(&value(a), &value(b[l]), &value(sum[l]), &double.target)))
                    };
                }
                for (l, sum) in sum.iter().enumerate().take(columns) {
                    let element = row * n + first + l;
                    d[element * 8..][..8].copy_from_slice(&sum.to_bits().to_le_bytes());
                    if sum.is_nan() {
                        unknown.push(element);
                    }
                }
            }
        }
    }
}
