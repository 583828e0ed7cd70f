//! Asking a device: tiles of a few rows and columns.

use crate::{
    Error, Result,
    comparison::{Subject, operands},
    device::Device,
    isa::{Case, Codes, Instruction, Tiles},
};

/// Rows and columns of a tile that is asked, where the instruction has so many.
const ROWS: usize = 4;
const COLUMNS: usize = 16;
/// Single cases that share a tile, on its diagonal.
const LANES: usize = 8;
/// Tiles that the device gets at a time.
const BATCH: usize = 1 << 12;

/// The instruction as large as the tiles that are asked of it.
pub(super) fn part(instruction: &Instruction) -> Instruction {
    Instruction { m: ROWS.min(instruction.m), n: COLUMNS.min(instruction.n), ..instruction.clone() }
}

/// A device that answers tiles, and how often it was asked.
pub(super) struct Asker<'a> {
    device: &'a mut dyn Device,
    instruction: &'a Instruction,
    part: Instruction,
    /// Tiles that it has executed.
    pub executions: u64,
    /// Tiles that it may execute.
    budget: u64,
}

impl<'a> Asker<'a> {
    /// Asks `device` for `instruction`, at most `budget` tiles.
    pub(super) fn new(device: &'a mut dyn Device, instruction: &'a Instruction, budget: u64) -> Asker<'a> {
        Asker { device, instruction, part: part(instruction), executions: 0, budget }
    }

    /// How many tiles can still be asked.
    pub(super) fn left(&self) -> usize {
        usize::try_from(self.budget.saturating_sub(self.executions)).unwrap_or(usize::MAX)
    }

    /// The codes of D of the first tiles, as many as can still be asked.
    ///
    /// # Errors
    /// The device fails.
    pub(super) fn ask(&mut self, tiles: &Tiles) -> Result<Codes> {
        let (count, each) = (tiles.count.min(self.left()), self.part.m * self.part.n);
        let mut all = Codes::zeros(self.part.d, 0);
        for from in (0..count).step_by(BATCH) {
            let to = count.min(from + BATCH);
            let batch = tiles.slice(from, to);
            let codes = self.device.execute_part(self.instruction, self.part.m, self.part.n, &batch)?;
            self.executions += (to - from) as u64;
            if codes.len() != (to - from) * each {
                let name = &self.device.identity().name;
                let asked = (to - from) * each;
                return Err(Error::device(format!("{name} answered {} outputs of {asked}", codes.len())));
            }
            all.extend(&codes);
        }
        Ok(all)
    }

    /// The codes of D of single cases, several to a tile.
    ///
    /// # Errors
    /// The device fails, or may not be asked as many.
    pub(super) fn ask_cases(&mut self, cases: &[Case]) -> Result<Vec<u64>> {
        let lanes = LANES.min(self.instruction.m).min(self.instruction.n);
        let square = Instruction { m: lanes, n: lanes, ..self.instruction.clone() };
        let mut tiles = Tiles::zeros(&square, cases.len().div_ceil(lanes));
        for (at, case) in cases.iter().enumerate() {
            tiles.place(&square, at / lanes, at % lanes, at % lanes, case);
        }
        if tiles.count > self.left() {
            return Err(Error::request("the tiles that may be executed are used up"));
        }
        let codes = self.device.execute_part(self.instruction, lanes, lanes, &tiles)?;
        self.executions += tiles.count as u64;
        let asked = tiles.count * lanes * lanes;
        if codes.len() != asked {
            let name = &self.device.identity().name;
            return Err(Error::device(format!("{name} answered {} outputs of {asked}", codes.len())));
        }
        Ok((0..cases.len()).map(|at| codes.get((at / lanes * lanes + at % lanes) * lanes + at % lanes)).collect())
    }

    /// Asks tiles again, in the other order and with rows and columns exchanged, so that each element has other neighbours.
    ///
    /// # Errors
    /// The device fails; it answers otherwise than `before`: its results depend on more than the operands.
    pub(super) fn repeat(&mut self, tiles: &Tiles, before: &Codes) -> Result<()> {
        let Instruction { m, n, .. } = self.part;
        let mut turned = Tiles::zeros(&self.part, tiles.count);
        let elsewhere = |tile: usize, row: usize, column: usize| (tiles.count - 1 - tile, m - 1 - row, n - 1 - column);
        let all: Vec<(usize, usize, usize)> = (0..tiles.count)
            .flat_map(|tile| (0..m).flat_map(move |row| (0..n).map(move |column| (tile, row, column))))
            .collect();
        for &(tile, row, column) in &all {
            let (to, at, beside) = elsewhere(tile, row, column);
            turned.place(&self.part, to, at, beside, &tiles.case(&self.part, tile, row, column));
        }
        let again = self.ask(&turned)?;
        let place = |(tile, row, column): (usize, usize, usize)| (tile * m + row) * n + column;
        let answered = again.len() / (m * n);
        for &(tile, row, column) in &all {
            let there = elsewhere(tile, row, column);
            if there.0 < answered && again.get(place(there)) != before.get(place((tile, row, column))) {
                let codes = (before.get(place((tile, row, column))), again.get(place(there)));
                return Err(self.inconstant(&tiles.slice(tile, tile + 1), (row, column), codes)?);
            }
        }
        Ok(())
    }

    /// The error for an element that was answered in two ways: what its results may depend on.
    fn inconstant(&mut self, tile: &Tiles, (row, column): (usize, usize), (once, then): (u64, u64)) -> Result<Error> {
        let at = row * self.part.n + column;
        let mut same = Vec::new();
        for _ in 0..8 {
            same.push(self.device.execute_part(self.instruction, self.part.m, self.part.n, tile)?.get(at));
        }
        self.executions += same.len() as u64;
        let why = match same.iter().all(|code| *code == same[0]) {
            true => {
                "the same tile alone gives the same each time, so its neighbours, its place or what came before decide"
            }
            false => "the same tile does not give the same each time, so chance, time or a hidden state decide",
        };
        let d = self.instruction.d;
        let case = tile.case(&self.part, 0, row, column);
        Ok(Error::device(format!(
            "{} is not a function of its operands: {}; {} in row {row}, column {column} of one tile, {} with the same operands in \
             row {}, column {} of another; {why}",
            self.device.identity().name,
            operands(&Subject::Matrix(self.instruction), &case),
            d.hex(once),
            d.hex(then),
            self.part.m - 1 - row,
            self.part.n - 1 - column,
        )))
    }
}
