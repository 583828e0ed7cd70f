//! What answers inputs: a program, or a device.

use super::shared::widened;
use crate::{
    Result,
    arithmetic::{Evaluator, Rule},
    device::{Batches, Device, Spot, ask},
    isa::{Case, Codes, Instruction, Tiles},
};

/// Some inputs of the operands that two instructions share.
pub(super) enum Inputs {
    /// One by one.
    Cases(Vec<Case>),
    /// Tiles of an instruction of this shape.
    Tiles(Box<Instruction>, Tiles),
}

impl Inputs {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Inputs::Cases(cases) => cases.len(),
            Inputs::Tiles(i, tiles) => tiles.count * i.m * i.n,
        }
    }

    /// The one with this number.
    pub(super) fn case(&self, at: usize) -> Case {
        match self {
            Inputs::Cases(cases) => cases[at].clone(),
            Inputs::Tiles(i, tiles) => tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n),
        }
    }
}

/// The evaluators of one arithmetic.
#[derive(Debug, Clone)]
pub(super) struct Arithmetic {
    /// For one output at a time.
    single: Evaluator,
    /// For tiles of the shape that inputs have.
    wide: Evaluator,
}

impl Arithmetic {
    /// The arithmetic of a rule for an instruction of which so many rows and columns are asked.
    ///
    /// # Errors
    /// The rule cannot hold for the instruction.
    pub(super) fn of(rule: &Rule, i: &Instruction, m: usize, n: usize) -> std::result::Result<Arithmetic, String> {
        Ok(Arithmetic {
            single: Evaluator::of(rule, &Instruction { m: 1, n: 1, ..i.clone() })?,
            wide: Evaluator::of(rule, &Instruction { m, n, ..i.clone() })?,
        })
    }

    /// The evaluator of single outputs.
    pub(super) fn evaluator(&self) -> &Evaluator {
        &self.single
    }

    /// D of each of some inputs.
    pub(super) fn answers(&self, inputs: &Inputs) -> Codes {
        match inputs {
            Inputs::Cases(cases) => self.cases(cases),
            Inputs::Tiles(from, tiles) => {
                let own = &self.wide.program().instruction;
                match own.k == from.k {
                    true => self.wide.execute(tiles),
                    false => self.wide.execute(&tiles.resized(from, own)),
                }
            }
        }
    }

    /// D of a case.
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

/// One of the two that are told apart, as what answers.
pub(super) enum Answerer<'a> {
    /// A model, whose arithmetic is known.
    Known(Box<Arithmetic>),
    /// A device that executes an instruction.
    Device(&'a mut dyn Device, &'a Instruction),
}

impl Answerer<'_> {
    /// D of each of some inputs.
    ///
    /// # Errors
    /// The device fails.
    pub(super) fn answers(&mut self, inputs: &Inputs) -> Result<Codes> {
        match (self, inputs) {
            (Answerer::Known(arithmetic), _) => Ok(arithmetic.answers(inputs)),
            (Answerer::Device(device, i), Inputs::Cases(cases)) => cases_on(*device, i, cases, i.m.min(i.n)),
            (Answerer::Device(device, i), Inputs::Tiles(from, tiles)) => {
                let outputs = Batches::default().execute(*device, i, (i.m, i.n), &tiles.resized(from, i))?;
                Ok(outputs.resized((i.m, i.n), (from.m, from.n)))
            }
        }
    }

    /// D of each case, of a device each in a tile of its own.
    ///
    /// # Errors
    /// The device fails.
    pub(super) fn alone(&mut self, cases: &[Case]) -> Result<Codes> {
        match self {
            Answerer::Known(arithmetic) => Ok(arithmetic.cases(cases)),
            Answerer::Device(device, i) => cases_on(*device, i, cases, 1),
        }
    }
}

/// D of each case, so many of them in a tile.
fn cases_on(device: &mut dyn Device, i: &Instruction, cases: &[Case], lanes: usize) -> Result<Codes> {
    let wide: Vec<Case> = cases.iter().map(|case| widened(case, i)).collect();
    let answers = ask(device, i, &wide, &Spot { tile: 0, row: 0, column: 0 }, lanes)?;
    Ok(Codes::from_values(i.d, &answers))
}
