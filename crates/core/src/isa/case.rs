//! Operands of one element of D.

use serde::{Deserialize, Serialize};

use super::Instruction;
use crate::{
    exact::Dot,
    format::{Format, Overflow, Rounding, find},
};

/// Operands of one dot-product-add, as codes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Row of A: k codes; only the stored ones in sparse forms.
    pub a: Vec<u64>,
    /// Column of B: k codes.
    pub b: Vec<u64>,
    /// Element of C.
    pub c: u64,
    /// Position of each stored element of A in its chunk, in sparse forms; else empty.
    pub positions: Vec<u64>,
    /// Scales of the row of A, one per block, in block-scaled forms; else empty.
    pub scale_a: Vec<u64>,
    /// Scales of the column of B in block-scaled forms; else empty.
    pub scale_b: Vec<u64>,
}

impl Case {
    /// Case of a form that is neither sparse nor scaled.
    pub fn dense(a: Vec<u64>, b: Vec<u64>, c: u64) -> Case {
        Case { a, b, c, positions: Vec::new(), scale_a: Vec::new(), scale_b: Vec::new() }
    }

    /// Case whose every code is 0; sparse forms have the first positions of every chunk.
    pub fn zeros(i: &Instruction) -> Case {
        let stored = i.stored_k();
        let blocks = i.scale.map_or(0, |scale| i.k / scale.block);
        let positions =
            i.chunk().map_or_else(Vec::new, |chunk| (0..stored).map(|at| (at % chunk.kept) as u64).collect());
        Case {
            a: vec![0; stored],
            b: vec![0; i.k],
            c: 0,
            positions,
            scale_a: vec![0; blocks],
            scale_b: vec![0; blocks],
        }
    }

    /// Index along k of the stored element `at` of A: the element of B that it multiplies.
    pub fn logical(&self, i: &Instruction, at: usize) -> usize {
        // Only sparse forms have positions; to ask the instruction costs more than the rest.
        if self.positions.is_empty() {
            return at;
        }
        match i.chunk() {
            Some(chunk) => at / chunk.kept * chunk.length + self.positions[at] as usize,
            None => at,
        }
    }

    /// Code of the correctly rounded exact result; `None` where D has no such code.
    /// Integers wrap or saturate as in the instruction.
    pub fn exact(&self, i: &Instruction, rounding: Rounding) -> Option<u64> {
        let f64 = find("f64").expect("f64 is a format");
        // An operand times its scale is an f64 number.
        let [a, b] = if i.scale.is_some() { [f64, f64] } else { [i.a, i.b] };
        let code = |format: &Format, code: u64, scales: &[u64], k: usize| match i.scale {
            None => code,
            Some(scale) => (format.to_f64(code) * scale.format.to_f64(scales[k / scale.block])).to_bits(),
        };
        let pair = |at: usize| {
            let k = self.logical(i, at);
            i.factors(code(i.a, self.a[at], &self.scale_a, k), code(i.b, self.b[k], &self.scale_b, k))
        };
        let mut dot = Dot::new(a, b, i.c, i.d, i.k);
        let sum = dot.sum((0..self.a.len()).map(pair), self.c);
        match sum.wrapped(i.d) {
            Some(code) if !i.saturate => Some(code),
            _ => sum.round(i.d, rounding, Overflow::Standard),
        }
    }

    /// True if the exact result lies between two numbers of D.
    pub fn is_inexact(&self, i: &Instruction) -> bool {
        let [below, above] = [Rounding::Rd, Rounding::Ru].map(|rounding| self.exact(i, rounding));
        let value = |code: Option<u64>| code.map_or(f64::NAN, |code| i.d.to_f64(code));
        !i.d.is_integer() && value(below) < value(above)
    }
}
