//! Asking a device: tiles of a few rows and columns.

use std::time::Duration;

use crate::{
    Error, Result,
    device::{Batches, Device},
    isa::{Case, Codes, Instruction, Tiles},
};

/// Rows and columns of a tile that is asked, where the instruction has so many.
const ROWS: usize = 4;
const COLUMNS: usize = 16;
/// Single cases that share a tile, on its diagonal.
const LANES: usize = 8;
/// Tiles that the device gets at a time at most.
const BATCH: u64 = 1 << 12;

/// The instruction as large as the tiles that are asked of it.
pub(super) fn part(instruction: &Instruction) -> Instruction {
    Instruction { m: ROWS.min(instruction.m), n: COLUMNS.min(instruction.n), ..instruction.clone() }
}

/// A device that answers tiles, and how often it was asked.
pub(super) struct Asker<'a> {
    pub(super) device: &'a mut dyn Device,
    instruction: &'a Instruction,
    /// The instruction as large as the tiles that are asked.
    pub(super) part: Instruction,
    /// Tiles that it may execute, and how long that may take.
    budget: u64,
    time: Duration,
    batches: Batches,
    /// What it failed with: it is asked nothing more.
    failure: Option<Error>,
}

impl<'a> Asker<'a> {
    /// Asks `device` for `instruction`, at most `budget` tiles.
    pub(super) fn new(device: &'a mut dyn Device, instruction: &'a Instruction, budget: u64) -> Asker<'a> {
        Asker::sized(device, instruction, part(instruction), budget)
    }

    /// Asks whole tiles.
    pub(super) fn whole(device: &'a mut dyn Device, instruction: &'a Instruction, budget: u64) -> Asker<'a> {
        Asker::sized(device, instruction, instruction.clone(), budget)
    }

    fn sized(device: &'a mut dyn Device, instruction: &'a Instruction, part: Instruction, budget: u64) -> Asker<'a> {
        let (time, batches) = (Duration::MAX, Batches::default());
        Asker { device, instruction, part, budget, time, batches, failure: None }
    }

    /// The same, whose answers may take so long in all.
    pub(super) fn within(self, time: Duration) -> Self {
        Asker { time, ..self }
    }

    /// Tiles that it has executed.
    pub(super) fn executions(&self) -> u64 {
        self.batches.tiles
    }

    /// How many tiles can still be asked.
    pub(super) fn left(&self) -> usize {
        match self.is_slow() {
            true => 0,
            false => usize::try_from(self.budget.saturating_sub(self.executions())).unwrap_or(usize::MAX),
        }
    }

    /// Whether the answers have taken all the time that they may.
    pub(super) fn is_slow(&self) -> bool {
        self.batches.time >= self.time
    }

    /// What the device failed with, if it did.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// The codes of D of the first tiles, as many as can still be asked, or as the device answers before it fails. It gets as many at
    /// a time as it has answered before, so that at most half of what it answers is lost with a failure.
    ///
    /// # Errors
    /// The device fails at the first of them, or has failed before; an interruption before the first of them is answered.
    pub(super) fn ask(&mut self, tiles: &Tiles) -> Result<Codes> {
        let mut all = Codes::zeros(self.part.d, 0);
        let mut from = 0;
        while from < tiles.count && self.left() > 0 {
            let most =
                (self.executions().clamp(1, BATCH) as usize).min(self.batches.size(self.instruction.tile_bytes()));
            let to = tiles.count.min(from + most.min(self.left()));
            match self.answers((self.part.m, self.part.n), &tiles.slice(from, to)) {
                Ok(codes) => all.extend(&codes),
                Err(error) if from == 0 => return Err(error),
                Err(_) => break,
            }
            from = to;
        }
        Ok(all)
    }

    /// The codes of D of single cases, several to a tile.
    ///
    /// # Errors
    /// The device fails, or has failed before, or may not be asked as many; an interruption.
    pub(super) fn ask_cases(&mut self, cases: &[Case]) -> Result<Vec<u64>> {
        let lanes = LANES.min(self.instruction.m).min(self.instruction.n);
        let square = Instruction { m: lanes, n: lanes, ..self.instruction.clone() };
        let mut tiles = Tiles::zeros(&square, cases.len().div_ceil(lanes));
        for (at, case) in cases.iter().enumerate() {
            tiles.place(&square, at / lanes, at % lanes, at % lanes, case);
        }
        if tiles.count > self.left() {
            return Err(Error::request("the budget of tiles is used up"));
        }
        let mut codes = Codes::zeros(self.instruction.d, 0);
        let mut from = 0;
        while from < tiles.count {
            if self.is_slow() {
                return Err(Error::request("the time for answers is used up"));
            }
            let to = tiles.count.min(from + self.batches.size(self.instruction.tile_bytes()));
            codes.extend(&self.answers((lanes, lanes), &tiles.slice(from, to))?);
            from = to;
        }
        Ok((0..cases.len()).map(|at| codes.get((at / lanes * lanes + at % lanes) * lanes + at % lanes)).collect())
    }

    /// The answers to tiles with so many rows and columns.
    fn answers(&mut self, (m, n): (usize, usize), batch: &Tiles) -> Result<Codes> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let outcome = self.batches.execute(self.device, self.instruction, (m, n), batch);
        if let Err(error) = &outcome
            && !matches!(error, Error::Interrupted { .. })
        {
            self.failure = Some(error.clone());
        }
        outcome
    }
}
