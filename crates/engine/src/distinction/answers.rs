//! Sources of answers: the evaluators of a model, or a device.

use super::shared::widened;
use crate::{
    Result,
    arithmetic::{Evaluator, Rule},
    device::{Batches, Device, ask},
    isa::{Case, Codes, Instruction, MatrixShape, Tiles},
};

/// A batch of inputs, of the operands that two instructions share.
pub(super) enum InputBatch {
    /// Single cases.
    Cases(Vec<Case>),
    /// Tiles, and the instruction whose shape they have.
    Tiles(Box<Instruction>, Tiles),
}

impl InputBatch {
    /// Number of inputs.
    pub(super) fn len(&self) -> usize {
        match self {
            InputBatch::Cases(cases) => cases.len(),
            InputBatch::Tiles(i, tiles) => tiles.count * i.m * i.n,
        }
    }

    /// The input at index `at`.
    pub(super) fn case(&self, at: usize) -> Case {
        match self {
            InputBatch::Cases(cases) => cases[at].clone(),
            InputBatch::Tiles(i, tiles) => tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n),
        }
    }
}

/// Evaluators of one arithmetic.
#[derive(Debug, Clone)]
pub(super) struct Evaluators {
    /// For single outputs.
    single: Evaluator,
    /// For whole tiles.
    wide: Evaluator,
}

impl Evaluators {
    /// The evaluators of `rule` for tiles of `m` rows and `n` columns.
    ///
    /// # Errors
    /// The rule does not fit the instruction.
    pub(super) fn of(rule: &Rule, i: &Instruction, m: usize, n: usize) -> std::result::Result<Evaluators, String> {
        Ok(Evaluators {
            single: Evaluator::of(rule, &Instruction { m: 1, n: 1, ..i.clone() })?,
            wide: Evaluator::of(rule, &Instruction { m, n, ..i.clone() })?,
        })
    }

    /// The evaluator for single outputs.
    pub(super) fn evaluator(&self) -> &Evaluator {
        &self.single
    }

    /// D of each input.
    pub(super) fn answers(&self, inputs: &InputBatch) -> Codes {
        match inputs {
            InputBatch::Cases(cases) => self.cases(cases),
            InputBatch::Tiles(from, tiles) => {
                let instruction = &self.wide.program().instruction;
                match instruction.k == from.k {
                    true => self.wide.execute(tiles),
                    false => self.wide.execute(&tiles.resized(from, instruction)),
                }
            }
        }
    }

    /// D of one case.
    pub(super) fn one(&self, case: &Case) -> u64 {
        self.single.dot(&widened(case, &self.single.program().instruction))
    }

    /// D of each case.
    pub(super) fn cases(&self, cases: &[Case]) -> Codes {
        let i = &self.single.program().instruction;
        let mut tiles = Tiles::zeros(i, cases.len());
        cases.iter().enumerate().for_each(|(at, case)| tiles.place(i, at, 0, 0, &widened(case, i)));
        self.single.execute(&tiles)
    }
}

/// One side of a comparison, as a source of answers.
pub(super) enum Answerer<'a> {
    /// A model.
    Model(Box<Evaluators>),
    /// A device, and the instruction that it executes.
    Device(&'a mut dyn Device, &'a Instruction),
}

impl Answerer<'_> {
    /// D of each input.
    pub(super) fn answers(&mut self, inputs: &InputBatch) -> Result<Codes> {
        match (self, inputs) {
            (Answerer::Model(arithmetic), _) => Ok(arithmetic.answers(inputs)),
            (Answerer::Device(device, i), InputBatch::Cases(cases)) => cases_on(*device, i, cases, i.m.min(i.n)),
            (Answerer::Device(device, i), InputBatch::Tiles(from, tiles)) => {
                let full_shape = MatrixShape { rows: i.m, columns: i.n };
                let outputs = Batches::default().execute(*device, i, full_shape, &tiles.resized(from, i))?;
                Ok(outputs.resized(full_shape, MatrixShape { rows: from.m, columns: from.n }))
            }
        }
    }

    /// D of each case; a device executes a separate tile for each.
    pub(super) fn alone(&mut self, cases: &[Case]) -> Result<Codes> {
        match self {
            Answerer::Model(arithmetic) => Ok(arithmetic.cases(cases)),
            Answerer::Device(device, i) => cases_on(*device, i, cases, 1),
        }
    }
}

/// D of each case, with `lanes` cases in a tile.
fn cases_on(device: &mut dyn Device, i: &Instruction, cases: &[Case], lanes: usize) -> Result<Codes> {
    let wide: Vec<Case> = cases.iter().map(|case| widened(case, i)).collect();
    let answers = ask(device, &mut Batches::default(), i, &wide, 0, 0, lanes)?;
    Ok(Codes::from_values(i.d, &answers))
}
