//! Asking a device: dot-product-adds, several to a tile.

use crate::{
    Error, Result,
    comparison::{Subject, operands},
    device::Device,
    isa::{Case, Codes, Instruction, Tiles},
};

/// Cases in a tile at most: one to a row and a column.
const SIDE: usize = 8;
/// Tiles that the device gets at a time.
const BATCH: usize = 1 << 12;

/// A device that answers dot-product-adds, and how often it was asked.
pub(super) struct Asker<'a> {
    device: &'a mut dyn Device,
    instruction: &'a Instruction,
    side: usize,
    /// Tiles that it has executed.
    pub executions: u64,
    /// Tiles that it may execute.
    budget: u64,
}

/// Where the cases of a tile lie.
#[derive(Clone, Copy)]
enum Layout {
    /// On the diagonal.
    Diagonal,
    /// Each a column further, in the other order, so that each has other neighbours.
    Elsewhere,
}

impl<'a> Asker<'a> {
    /// Asks `device` for `instruction`, at most `budget` tiles.
    pub(super) fn new(device: &'a mut dyn Device, instruction: &'a Instruction, budget: u64) -> Asker<'a> {
        let side = SIDE.min(instruction.m).min(instruction.n);
        Asker { device, instruction, side, executions: 0, budget }
    }

    /// How many cases can still be asked.
    pub(super) fn left(&self) -> usize {
        usize::try_from((self.budget - self.executions).saturating_mul(self.side as u64)).unwrap_or(usize::MAX)
    }

    /// The codes of D for the first cases, as many as can still be asked.
    ///
    /// # Errors
    /// The device fails.
    pub(super) fn ask(&mut self, cases: &[Case]) -> Result<Vec<u64>> {
        self.answers(cases, Layout::Diagonal)
    }

    /// Asks cases again, elsewhere in tiles, beside other cases and in another order.
    ///
    /// # Errors
    /// The device fails; it answers otherwise than `before`: its results depend on more than the operands.
    pub(super) fn repeat(&mut self, cases: &[Case], before: &[u64]) -> Result<()> {
        let backwards: Vec<Case> = cases.iter().rev().cloned().collect();
        let again = self.answers(&backwards, Layout::Elsewhere)?;
        let compared = again.iter().zip(backwards.iter().zip(before.iter().rev()));
        let Some((now, (case, once))) = compared.into_iter().find(|(now, (_, once))| now != once) else { return Ok(()) };
        let d = self.instruction.d;
        // What changes though nothing changes depends on time or chance.
        let same = [self.alone(case)?, self.alone(case)?, self.alone(case)?];
        let why = match same.windows(2).all(|pair| pair[0] == pair[1]) {
            true => "alone in a tile it gives the same each time: its place or its neighbours decide",
            false => "alone in a tile it does not give the same each time either: state, time or chance decide",
        };
        Err(Error::device(format!(
            "{} is not a function of its operands: {} gave {} and then, elsewhere in another tile, {}; {why}",
            self.device.identity().name,
            operands(&Subject::Matrix(self.instruction), case),
            d.hex(*once),
            d.hex(*now)
        )))
    }

    /// The answer for a case in a tile of its own.
    fn alone(&mut self, case: &Case) -> Result<u64> {
        let mut tiles = Tiles::zeros(&Instruction { m: 1, n: 1, ..self.instruction.clone() }, 1);
        tiles.place(&Instruction { m: 1, n: 1, ..self.instruction.clone() }, 0, 0, 0, case);
        self.executions += 1;
        Ok(self.device.execute_part(self.instruction, 1, 1, &tiles)?.get(0))
    }

    fn answers(&mut self, cases: &[Case], layout: Layout) -> Result<Vec<u64>> {
        let side = self.side;
        let part = Instruction { m: side, n: side, ..self.instruction.clone() };
        let place = |at: usize| match layout {
            Layout::Diagonal => (at / side, at % side, at % side),
            Layout::Elsewhere => (at / side, at % side, (at + 1) % side),
        };
        let mut answers = Vec::with_capacity(cases.len());
        for batch in cases[..cases.len().min(self.left())].chunks(BATCH * side) {
            let count = batch.len().div_ceil(side);
            let mut tiles = Tiles::zeros(&part, count);
            for (at, case) in batch.iter().enumerate() {
                let (tile, row, column) = place(at);
                tiles.place(&part, tile, row, column, case);
            }
            let codes = self.device.execute_part(self.instruction, side, side, &tiles)?;
            self.executions += count as u64;
            self.check(&codes, count * side * side)?;
            answers.extend((0..batch.len()).map(|at| {
                let (tile, row, column) = place(at);
                codes.get((tile * side + row) * side + column)
            }));
        }
        Ok(answers)
    }

    fn check(&self, codes: &Codes, asked: usize) -> Result<()> {
        match codes.len() == asked {
            true => Ok(()),
            false => {
                let name = &self.device.identity().name;
                Err(Error::device(format!("{name} answered {} outputs of {asked}", codes.len())))
            }
        }
    }
}
