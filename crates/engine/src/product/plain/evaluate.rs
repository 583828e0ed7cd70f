//! Elements of a product by plain sums.

use std::ops::Range;

use super::{BlockTree, LaneRest, PlainLanes, PlainSum, ProductRounding};
use crate::{
    exact::Dot,
    format::{Format, Overflow, Rounding},
    product::{
        AccumulatorJoin, Factors, Matrix,
        bound::ErrorSource,
        epilogue::{RegisterArithmetic, joined},
        matrix::value,
        register::Register,
    },
};

/// Rows of A and columns of B, decoded once for all sums.
pub(in crate::product) struct PlainOperands {
    formats: [&'static Format; 2],
    rows: Vec<PlainLine>,
    columns: Vec<PlainLine>,
}

/// A row of A or a column of B.
struct PlainLine {
    values: Vec<f64>,
    codes: Vec<u64>,
}

/// The operands of one element.
#[derive(Clone, Copy)]
pub(in crate::product) struct PlainElement<'a> {
    formats: [&'static Format; 2],
    row: &'a PlainLine,
    column: &'a PlainLine,
}

impl PlainOperands {
    pub(in crate::product) fn new(factors: &Factors) -> PlainOperands {
        let lines = |matrix: &Matrix| {
            let line = |row| {
                let codes: Vec<u64> = (0..matrix.columns).map(|column| matrix.get(row, column)).collect();
                PlainLine { values: codes.iter().map(|code| value(matrix.format, *code)).collect(), codes }
            };
            (0..matrix.rows).map(line).collect()
        };
        PlainOperands {
            formats: [factors.a.format, factors.b.format],
            rows: lines(&factors.a),
            columns: lines(&factors.b.transposed()),
        }
    }

    /// The operands of the element at a row and column. Panics outside the product.
    pub(in crate::product) fn element(&self, row: usize, column: usize) -> PlainElement<'_> {
        PlainElement { formats: self.formats, row: &self.rows[row], column: &self.columns[column] }
    }
}

impl PlainSum {
    /// The code of an element of D.
    pub(in crate::product) fn code(&self, element: PlainElement) -> u64 {
        let register = PlainRegister::of(self.register);
        let k = element.row.values.len();
        let mut work = PlainWork {
            sum: self,
            register,
            element,
            exact: (self.products == ProductRounding::Exact).then(|| {
                let [a, b] = element.formats;
                Dot::new(a, b, self.register, self.register, self.block.unwrap_or(k))
            }),
        };
        let sum = work.blocks(k);
        match self.output {
            output if sum.is_nan() => output.nan().unwrap_or_default(),
            output => output.encode_f64(sum, Rounding::Rne, Overflow::Standard).unwrap_or_default(),
        }
    }
}

/// A sum in computation.
struct PlainWork<'a> {
    sum: &'a PlainSum,
    register: PlainRegister,
    element: PlainElement<'a>,
    /// Buffer of exact sums, for sums that add exactly.
    exact: Option<Dot>,
}

impl PlainWork<'_> {
    /// The sum of `k` products, in blocks.
    fn blocks(&mut self, k: usize) -> f64 {
        let Some(length) = self.sum.block else { return self.block(0..k, 0.0) };
        let blocks = (0..k).step_by(length).map(|from| from..k.min(from + length));
        let join = match self.sum.tree {
            BlockTree::Running => return blocks.fold(0.0, |sum, block| self.block(block, sum)),
            BlockTree::Middle => return self.middle(0..k, length, 1),
            BlockTree::Eighths => return self.middle(0..k, length, 8),
            BlockTree::Order => AccumulatorJoin::Order,
            BlockTree::Pairs => AccumulatorJoin::Pairs,
            BlockTree::Halves => AccumulatorJoin::Halves,
        };
        let sums: Vec<f64> = blocks.map(|block| self.block(block, 0.0)).collect();
        joined(&self.register, sums, join)
    }

    /// The sum of some k, cut in its middle at a multiple of `unit` down to blocks.
    fn middle(&mut self, k: Range<usize>, block: usize, unit: usize) -> f64 {
        if k.len() <= block.max(1) {
            return self.block(k, 0.0);
        }
        let half = (k.len() / 2 / unit * unit).max(1);
        let at = k.start + half;
        let (left, right) = (self.middle(k.start..at, block, unit), self.middle(at..k.end, block, unit));
        self.add(left, right)
    }

    /// The sum of a block, which begins from `start`.
    fn block(&mut self, k: Range<usize>, start: f64) -> f64 {
        let PlainElement { row, column, .. } = self.element;
        if let Some(exact) = &mut self.exact {
            let format = self.sum.register;
            let codes = row.codes[k.clone()].iter().copied().zip(column.codes[k].iter().copied());
            let start = format.encode_f64(start, Rounding::Rne, Overflow::Standard).unwrap_or_default();
            let code = exact.sum(codes, start).round(format, Rounding::Rne, Overflow::Standard);
            return code.map_or(f64::NAN, |code| value(format, code));
        }
        let PlainLanes { count, piece, join, unrolled, rest } = self.sum.lanes;
        if count == 1 {
            return k.fold(start, |sum, at| self.step(sum, at));
        }
        let width = count * piece;
        let vectors = k.len() / width;
        let after = if rest == LaneRest::After { k.start + vectors * width } else { k.end };
        let mut lanes = vec![0.0; count];
        for vector in 0..(after - k.start).div_ceil(width) {
            let group = vector / unrolled * unrolled;
            let descends = group + unrolled <= vectors;
            let vector = if descends { 2 * group + unrolled - 1 - vector } else { vector };
            let from = k.start + vector * width;
            for (lane, from) in (from..after.min(from + width)).step_by(piece).enumerate() {
                for at in from..after.min(from + piece) {
                    lanes[lane] = self.step(lanes[lane], at);
                }
            }
        }
        let sum = joined(&self.register, lanes, join);
        (after..k.end).fold(sum, |sum, at| self.step(sum, at))
    }

    /// A sum with one more product.
    #[inline]
    fn step(&self, sum: f64, at: usize) -> f64 {
        let (x, y) = (self.element.row.values[at], self.element.column.values[at]);
        match self.sum.products {
            ProductRounding::Fused => self.register.multiply_add(&x, y, &sum, ErrorSource::Promotion),
            ProductRounding::Rounded | ProductRounding::Exact => self.add(sum, self.register.multiply(&x, y)),
        }
    }

    #[inline]
    fn add(&self, x: f64, y: f64) -> f64 {
        self.register.add(&x, &y, ErrorSource::Join)
    }
}

/// The arithmetic of the register of a plain sum.
#[derive(Debug, Clone, Copy)]
enum PlainRegister {
    /// f32 or f64.
    Native(Register),
    /// A format of 16 bits: f64 holds its products, and rounds its sums to more than twice its bits.
    Narrow(&'static Format),
}

impl PlainRegister {
    fn of(format: &'static Format) -> PlainRegister {
        match Register::of(format) {
            Some(register) if register.format() == format => PlainRegister::Native(register),
            _ => PlainRegister::Narrow(format),
        }
    }
}

impl RegisterArithmetic for PlainRegister {
    type Value = f64;

    fn zero(&self) -> f64 {
        0.0
    }

    #[inline]
    fn number(&self, x: f64) -> f64 {
        match self {
            PlainRegister::Native(register) => register.round(x),
            PlainRegister::Narrow(_) if x.is_nan() => x,
            PlainRegister::Narrow(format) => {
                format.encode_f64(x, Rounding::Rne, Overflow::Standard).map_or(f64::NAN, |code| value(format, code))
            }
        }
    }

    #[inline]
    fn add(&self, x: &f64, y: &f64, _: ErrorSource) -> f64 {
        match self {
            PlainRegister::Native(register) => register.add(*x, *y),
            PlainRegister::Narrow(_) => self.number(x + y),
        }
    }

    #[inline]
    fn multiply(&self, x: &f64, factor: f64) -> f64 {
        match self {
            PlainRegister::Native(register) => register.multiply(*x, factor),
            PlainRegister::Narrow(_) => self.number(x * factor),
        }
    }

    #[inline]
    fn multiply_add(&self, x: &f64, factor: f64, y: &f64, _: ErrorSource) -> f64 {
        match self {
            PlainRegister::Native(register) => register.fma(*x, factor, *y),
            PlainRegister::Narrow(_) => self.number(x.mul_add(factor, *y)),
        }
    }

    fn output(&self, x: &f64) -> f64 {
        *x
    }
}
