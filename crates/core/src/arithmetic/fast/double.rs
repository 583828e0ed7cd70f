//! Chains of fused multiply-adds in binary64.

use super::word::array;
use crate::{
    arithmetic::{Destination, ElementaryOperation, NanOperand, Program, Source, Subnormals},
    base::vectors::vectorised,
    format::{self, Overflow, Rounding},
    isa::{Codes, Tiles},
    softfloat::{ResultTarget, fma},
};

/// Columns of D that are computed together.
const LANES: usize = 8;

/// Bit of a code that makes a NaN quiet.
const QUIET: u64 = 1 << 51;

/// Chain of fused multiply-adds over k, from c.
#[derive(Debug, Clone)]
pub(super) struct Double {
    m: usize,
    n: usize,
    k: usize,
    order: Vec<usize>,
    target: ResultTarget,
    /// Order in which NaN operands become the result; `None` if the reference decides.
    nans: Option<Vec<NanOperand>>,
    /// True if a NaN keeps its payload in D; else the code of every NaN.
    passes_nan: bool,
    nan: u64,
}

impl Double {
    /// `None` for any other program.
    pub(super) fn new(program: &Program) -> Option<Double> {
        let i = &program.instruction;
        let double = format::find("f64").ok()?;
        let mut order = Vec::new();
        let (mut target, mut orders) = (None, Vec::new());
        for (at, operation) in program.operations().enumerate() {
            let ElementaryOperation::Fma { factors, addend, to, nans } = operation else { return None };
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
            orders.push(nans.clone());
            target = Some(*step_target);
        }
        let target = target?;
        let last = program.output.value == Source::Value(order.len() - 1);
        let double_only = [i.a, i.b, i.c, i.d, target.format].iter().all(|format| *format == double);
        let keep = program.unpack.iter().all(|unpack| unpack.subnormals == Subnormals::Keep && unpack.wider.is_none());
        // D takes the result unchanged, infinities included.
        let overflow = [target.overflow, program.output.target.overflow];
        let simple = overflow.iter().all(|overflow| *overflow == Overflow::Standard) && i.chunk().is_none();
        orders.dedup();
        let known = orders.len() == 1 && !orders[0].contains(&NanOperand::Invalid) && program.factor_nan.is_none();
        let (nans, passes_nan, nan) =
            (orders.pop().filter(|_| known), program.output.passes_nan, program.output.target.nan);
        let double = Double { m: i.m, n: i.n, k: i.k, order, target, nans, passes_nan, nan };
        (last && double_only && keep && simple).then_some(double)
    }

    /// `a * b + c`, rounded; the NaN may be any.
    #[inline(always)]
    fn step(&self, a: f64, b: f64, c: f64) -> f64 {
        let value = |x: f64| self.target.format.value(x.to_bits());
        match self.target.rounding {
            Rounding::Rne => a.mul_add(b, c),
            _ => f64::from_bits(fma(&value(a), &value(b), &value(c), &self.target)),
        }
    }

    /// Code of D of a chain that ends in NaN: factors in order, from c. Rare: compiled once.
    #[inline(never)]
    fn nan(&self, order: &[NanOperand], factors: impl Iterator<Item = [f64; 2]>, c: f64) -> u64 {
        if !self.passes_nan {
            return self.nan;
        }
        let mut sum = c;
        for [a, b] in factors {
            let first = order.iter().map(|which| [a, b, sum][*which as usize]).find(|operand| operand.is_nan());
            let number = self.step(a, b, sum);
            sum = match first {
                Some(nan) => nan,
                None if number.is_nan() => f64::from_bits(self.target.nan),
                None => number,
            };
        }
        sum.to_bits() | QUIET
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
                let a = |at: usize| f64::from_bits(tiles.a.get((tile * m + row) * k + at));
                let take = |codes: &Codes, at: usize| -> [f64; LANES] {
                    array(|l| if l < columns { f64::from_bits(codes.get(at + first + l)) } else { 0.0 })
                };
                let c = take(&tiles.c, (tile * m + row) * n);
                let mut sum = c;
                for &at in &double.order {
                    let (a, b) = (a(at), take(&tiles.b, (tile * k + at) * n));
                    sum = array(|l| double.step(a, b[l], sum[l]));
                }
                for (l, sum) in sum.iter().enumerate().take(columns) {
                    let element = row * n + first + l;
                    let code = match &double.nans {
                        Some(order) if sum.is_nan() => {
                            let b = |at: usize| f64::from_bits(tiles.b.get((tile * k + at) * n + first + l));
                            double.nan(order, double.order.iter().map(|at| [a(*at), b(*at)]), c[l])
                        }
                        _ => sum.to_bits(),
                    };
                    d[element * 8..][..8].copy_from_slice(&code.to_le_bytes());
                    if sum.is_nan() && double.nans.is_none() {
                        unknown.push(element);
                    }
                }
            }
        }
    }
}
