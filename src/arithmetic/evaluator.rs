//! The arithmetic of one instruction, ready to be evaluated: by the reference, or many elements at a time by the fast
//! evaluator.

use rayon::prelude::*;

use super::{
    Program,
    fast::{FastArithmetic, Scratch},
    reference::{self, Explanation, Silent},
};
use crate::isa::{Case, Codes, Tiles};

/// The arithmetic of one instruction, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Evaluator {
    program: Program,
    fast: Option<FastArithmetic>,
}

impl Evaluator {
    /// Prepares a program.
    pub(super) fn new(program: Program) -> Evaluator {
        Evaluator { fast: FastArithmetic::new(&program), program }
    }

    /// The arithmetic, operation by operation.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether the fast evaluator has the program (else [`Evaluator::execute`] runs the reference).
    pub fn is_fast(&self) -> bool {
        self.fast.is_some()
    }

    /// The code of D for the operands of one dot-product-add.
    ///
    /// Panics if their number is not what the instruction takes.
    pub fn dot(&self, case: &Case) -> u64 {
        reference::run(&self.program, case, &mut Silent)
    }

    /// The same, step by step.
    ///
    /// Panics as [`Evaluator::dot`].
    pub fn explain(&self, case: &Case) -> Explanation {
        let mut lines = Vec::new();
        let d = reference::run(&self.program, case, &mut lines);
        Explanation { lines, d }
    }

    /// D codes `[count][m][n]` of `tiles`, computed on all cores by the fast evaluator; equal to [`Evaluator::dot`] of each
    /// element.
    pub fn execute(&self, tiles: &Tiles) -> Codes {
        let i = &self.program.instruction;
        let each = i.m * i.n;
        let dot = |tile: usize, at: usize| self.dot(&tiles.case(i, tile, at / i.n, at % i.n));
        let Some(fast) = &self.fast else {
            let outputs: Vec<u64> =
                (0..tiles.count * each).into_par_iter().map(|at| dot(at / each, at % each)).collect();
            return Codes::from_values(i.d, &outputs);
        };
        let mut bytes = vec![0; tiles.count * each * i.d.bytes()];
        let chunks = bytes.par_chunks_exact_mut(each * i.d.bytes()).enumerate();
        chunks.for_each_init(Scratch::default, |scratch, (tile, d)| {
            fast.tile(tiles, tile, scratch, d, |at| dot(tile, at));
        });
        Codes::from_bytes(i.d, bytes).expect("whole codes")
    }
}
