//! Chains of fused multiply-adds in binary64.

use super::word::{LANES, each};
use crate::{
    arithmetic::{CPosition, Join, Plan, PlanStep, Start, Subnormals},
    format::{self, Format, Overflow, Rounding},
    isa::{Codes, Tiles},
    softfloat::{Target, fma},
    vectors::vectorised,
};

/// Fused multiply-adds over k, from c.
#[derive(Debug, Clone)]
pub(super) struct Double {
    m: usize,
    n: usize,
    k: usize,
    order: Vec<usize>,
    target: Target,
}

impl Double {
    /// `None` for a plan that is anything else.
    pub(super) fn new(plan: &Plan) -> Option<Double> {
        let i = &plan.instruction;
        let double = format::find("f64").ok()?;
        let is_double = |format: &&Format| *format == double;
        let formats = [i.a, i.b, i.c, i.d, plan.result.format, plan.between.format];
        let keep = [plan.operand_subnormals, plan.result_subnormals] == [Subnormals::Keep; 2];
        let chain = plan.join == Join::Chain && plan.c == CPosition::First && plan.start == Start::C;
        let rounding = |target: &Target| (target.rounding, target.overflow);
        let one = rounding(&plan.result) == rounding(&plan.between);
        // D takes the result as it is, infinities included.
        let overflow = [plan.result.overflow, plan.output.overflow];
        let simple = overflow.iter().all(|overflow| *overflow == Overflow::Standard);
        let fma = matches!(plan.step, PlanStep::Fma { .. }) && i.chunk().is_none();
        (fma && keep && chain && one && simple && formats.iter().all(is_double)).then(|| Double {
            m: i.m,
            n: i.n,
            k: i.k,
            order: plan.groups.concat(),
            target: plan.result,
        })
    }
}

vectorised! {
    /// The bytes of the D codes of a tile; notes the elements that are left to the reference evaluator.
    pub(super) fn chains(double: &Double, tiles: &Tiles, tile: usize, d: &mut [u8], unknown: &mut Vec<usize>) {
        unknown.clear();
        let Double { m, n, k, .. } = *double;
        for row in 0..m {
            for first in (0..n).step_by(LANES) {
                let columns = LANES.min(n - first);
                let take = |codes: &Codes, at: usize| {
                    each(|l| if l < columns { f64::from_bits(codes.get(at + first + l)) } else { 0.0 })
                };
                let mut sum = take(&tiles.c, (tile * m + row) * n);
                for &at in &double.order {
                    let a = f64::from_bits(tiles.a.get((tile * m + row) * k + at));
                    let b = take(&tiles.b, (tile * k + at) * n);
                    sum = if double.target.rounding == Rounding::Rne {
                        // The host's is the same operation, but for the NaN that it gives.
                        each(|l| a.mul_add(b[l], sum[l]))
                    } else {
                        let value = |x: f64| double.target.format.value(x.to_bits());
                        each(|l| f64::from_bits(fma(&value(a), &value(b[l]), &value(sum[l]), &double.target)))
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
