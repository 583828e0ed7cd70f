//! Samples of the elements of a product.

use super::{Factors, Matrix, schedule::ScaleBlocks};
use crate::{inputs::random, isa::MatrixShape};

/// Some rows and columns of a product.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The rows of D.
    pub rows: Vec<usize>,
    /// The columns of D.
    pub columns: Vec<usize>,
    /// Their operands, each row and column with its own scales (`Schedule::narrowed`).
    pub factors: Factors,
    /// Their elements.
    pub d: Matrix,
}

impl Sample {
    /// Rows and columns spread over D, as many as `shape` has, drawn with a seed.
    ///
    /// `blocks` are the schedule's blocks of scales.
    pub fn new(factors: &Factors, d: &Matrix, shape: MatrixShape, seed: u64, blocks: Option<&ScaleBlocks>) -> Sample {
        let (rows, columns) = (drawn(shape.rows, d.rows, seed), drawn(shape.columns, d.columns, seed + 1000));
        Sample { factors: factors.chosen(&rows, &columns, blocks), d: d.chosen(&rows, &columns), rows, columns }
    }
}

/// `count` of the first `of` numbers, one of each stretch, so that the edges of D take part.
pub(crate) fn drawn(count: usize, of: usize, seed: u64) -> Vec<usize> {
    if of <= count {
        return (0..of).collect();
    }
    let one = |at: usize| {
        let (from, to) = (at * of / count, (at + 1) * of / count);
        from + (random(seed, at as u64) % (to - from) as u64) as usize
    };
    (0..count).map(one).collect()
}
