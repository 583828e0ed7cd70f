//! Asking a device, instruction by instruction: single cases, and tiles of a few rows and columns.

use std::time::Duration;

use super::{
    Answers,
    answers::{Conflict, key},
};
use crate::{
    Error, Result,
    comparison::{Subject, operands},
    device::{Batches, Device, ask},
    isa::{Case, Codes, Instruction, MatrixShape, Tiles},
};

/// Rows and columns of a tile that is asked, where the instruction has so many.
const ROWS: usize = 4;
const COLUMNS: usize = 16;
/// Largest number of tiles that the device gets at a time.
const BATCH: u64 = 1 << 12;
/// Number of single cases asked a second time.
const REPEATED: usize = 256;

/// The instruction as large as the tiles that are asked of it.
pub fn part(instruction: &Instruction) -> Instruction {
    Instruction { m: ROWS.min(instruction.m), n: COLUMNS.min(instruction.n), ..instruction.clone() }
}

/// A device that is asked about one instruction after the other.
pub struct Bench<'a> {
    /// `None`: its answers were recorded, and nothing can be asked.
    pub(super) device: Option<&'a mut dyn Device>,
    pub(super) instruction: Instruction,
    /// Row and column of D to ask, where elements may differ.
    element: Option<(usize, usize)>,
    /// Largest number of tiles that it may execute, and longest time of its answers.
    budget: u64,
    time: Duration,
    batches: &'a mut Batches,
    /// The error of the device, which is asked nothing more.
    failure: Option<Error>,
    /// The error for equal operands with two answers.
    refusal: Option<Error>,
    /// Every answer about the instruction.
    pub answers: Answers,
    /// Single cases, spread evenly over those asked, one in `stride`.
    asked: Vec<Case>,
    stride: usize,
    cases: usize,
}

impl<'a> Bench<'a> {
    /// The bench for one instruction of a device, whose pace `batches` knows.
    pub fn of(device: &'a mut dyn Device, batches: &'a mut Batches, i: &Instruction) -> Bench<'a> {
        Bench::with(Some(device), batches, i, &part(i))
    }

    /// The bench for a recording of an instruction, whose tiles are as large as `part`.
    pub fn recorded(batches: &'a mut Batches, i: &Instruction, part: &Instruction) -> Bench<'a> {
        Bench::with(None, batches, i, part)
    }

    fn with(
        device: Option<&'a mut dyn Device>,
        batches: &'a mut Batches,
        i: &Instruction,
        part: &Instruction,
    ) -> Bench<'a> {
        Bench {
            device,
            instruction: i.clone(),
            element: None,
            budget: u64::MAX,
            time: Duration::MAX,
            batches,
            failure: None,
            refusal: None,
            answers: Answers::new(part),
            asked: Vec::new(),
            stride: 1,
            cases: 0,
        }
    }

    /// The bench that asks this element of D for single cases.
    pub fn at(self, element: Option<(usize, usize)>) -> Bench<'a> {
        // A model computes each element separately, so its first one is enough.
        let is_model = self.device.as_ref().is_some_and(|device| device.model().is_some());
        Bench { element: if is_model { Some((0, 0)) } else { element }, ..self }
    }

    /// The bench that asks whole tiles.
    pub fn asking_whole_tiles(self) -> Bench<'a> {
        Bench { answers: Answers::new(&self.instruction), ..self }
    }

    /// The bench that asks so many tiles at most, for this time.
    pub fn within(self, budget: u64, time: Duration) -> Bench<'a> {
        Bench { budget, time, ..self }
    }

    /// Number of tiles that the device has executed.
    pub fn executions(&self) -> u64 {
        self.batches.tiles
    }

    /// Number of tiles that can still be asked.
    pub fn left(&self) -> usize {
        match self.device.is_none() || self.batches.time >= self.time {
            true => 0,
            false => usize::try_from(self.budget.saturating_sub(self.executions())).unwrap_or(usize::MAX),
        }
    }

    /// True if the tiles, or the time, that the device may take are used up.
    pub fn is_spent(&self) -> bool {
        self.device.is_some() && self.left() == 0
    }

    /// The error of the device, if it failed.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// The error for equal operands with two answers, if there are.
    pub fn refusal(&self) -> Result<()> {
        self.refusal.clone().map_or(Ok(()), Err)
    }

    /// Returns and keeps the codes of D of the first tiles: as many as can be asked and are answered.
    ///
    /// # Errors
    /// The device fails at the first of them, has failed before, or is not a function of its operands; an interruption.
    pub fn ask(&mut self, tiles: &Tiles) -> Result<Codes> {
        let codes = self.codes_of_tiles(tiles)?;
        self.recall(tiles, &codes)?;
        Ok(codes)
    }

    /// Adds the answers of an earlier bench.
    ///
    /// # Errors
    /// They have two answers to equal operands.
    pub fn recall(&mut self, tiles: &Tiles, codes: &Codes) -> Result<()> {
        let kept = self.answers.add(tiles, codes);
        self.judge(kept)
    }

    /// Asks tiles whose elements have operands that were answered before, and does not keep them.
    ///
    /// # Errors
    /// The device is not a function of its operands.
    pub(super) fn compare(&mut self, tiles: &Tiles) -> Result<()> {
        // A device that fails here says so when it is asked next.
        let Ok(codes) = self.codes_of_tiles(tiles) else { return Ok(()) };
        let compared = self.answers.compare(tiles, &codes);
        self.judge(compared)
    }

    /// The codes of D of single cases; the device is asked only those that were not answered before.
    ///
    /// # Errors
    /// The device fails, has failed before, may not be asked as many, or is not a function of its operands; an interruption.
    pub fn codes(&mut self, cases: &[Case]) -> Result<Vec<u64>> {
        let keys: Vec<_> = cases.iter().map(key).collect();
        let open = cases.iter().zip(&keys).filter(|(_, key)| self.answers.get(key).is_none());
        let open: Vec<Case> = open.map(|(case, _)| case.clone()).collect();
        self.asked_again(&open)?;
        for case in &open {
            if self.cases.is_multiple_of(self.stride) {
                self.asked.push(case.clone());
            }
            self.cases += 1;
            if self.asked.len() == 2 * REPEATED {
                let mut at = 0;
                self.asked.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride *= 2;
            }
        }
        Ok(keys.iter().filter_map(|key| self.answers.get(key)).collect())
    }

    /// Asks some of the single cases a second time.
    ///
    /// # Errors
    /// Like [`Bench::codes`].
    pub fn repeat_cases(&mut self) -> Result<()> {
        let step = self.asked.len().div_ceil(REPEATED).max(1);
        let cases: Vec<Case> = self.asked.iter().step_by(step).cloned().collect();
        self.asked_again(&cases)
    }

    /// Asks single cases, whether they were answered before or not, several to a tile.
    fn asked_again(&mut self, cases: &[Case]) -> Result<()> {
        let i = self.instruction.clone();
        let lanes = if self.element.is_some() { 1 } else { i.m.min(i.n) };
        let (row, column) = self.element.unwrap_or((0, 0));
        let mut rest = cases;
        while !rest.is_empty() {
            let size = self.batches.size(i.tile_bytes());
            let (batch, after) = rest.split_at(rest.len().min(size.saturating_mul(lanes)));
            if batch.len().div_ceil(lanes) > self.left() {
                return Err(Error::request("the tiles or the time that may be asked are used up"));
            }
            let codes = self.noted(|device, batches| ask(device, batches, &i, batch, row, column, lanes))?;
            for (at, (case, code)) in batch.iter().zip(codes).enumerate() {
                let (row, column) = (row + at % lanes, column + at % lanes);
                if let Some(before) = self.answers.add_case(case, row, column, code) {
                    let name = self.device.as_ref().map(|device| device.identity().name.to_string());
                    return self.refuse(Error::device(format!(
                        "{} is not a function of its operands: {} gave {}, then {}",
                        name.unwrap_or_default(),
                        operands(&Subject::Matrix(&i), case),
                        i.d.hex(before),
                        i.d.hex(code),
                    )));
                }
            }
            rest = after;
        }
        Ok(())
    }

    /// Returns the codes of D of the first tiles.
    ///
    /// The device gets as many at a time as it has answered before, so that at most half of what it
    /// answers is lost with a failure.
    fn codes_of_tiles(&mut self, tiles: &Tiles) -> Result<Codes> {
        let mut all = Codes::zeros(self.instruction.d, 0);
        let mut from = 0;
        while from < tiles.count && self.left() > 0 {
            let most =
                (self.executions().clamp(1, BATCH) as usize).min(self.batches.size(self.instruction.tile_bytes()));
            let to = tiles.count.min(from + most.min(self.left()));
            let Instruction { m, n, .. } = self.answers.part;
            match self.execute(MatrixShape { rows: m, columns: n }, &tiles.slice(from, to)) {
                Ok(codes) => all.extend(&codes),
                Err(error) if from == 0 => return Err(error),
                Err(_) => break,
            }
            from = to;
        }
        Ok(all)
    }

    /// The codes of D of tiles with so many rows and columns.
    pub(super) fn execute(&mut self, shape: MatrixShape, tiles: &Tiles) -> Result<Codes> {
        let i = self.instruction.clone();
        self.noted(|device, batches| batches.execute(device, &i, shape, tiles))
    }

    /// Answers of the device, which is asked nothing more after a failure.
    fn noted<T>(&mut self, answers: impl FnOnce(&mut dyn Device, &mut Batches) -> Result<T>) -> Result<T> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let Some(device) = &mut self.device else {
            return Err(Error::request("a recording cannot be asked new inputs"));
        };
        let outcome = answers(*device, self.batches);
        if let Err(error) = &outcome
            && !matches!(error, Error::Interrupted { .. })
        {
            self.failure = Some(error.clone());
        }
        outcome
    }

    /// Refuses a device with two answers to equal operands.
    fn judge(&mut self, outcome: std::result::Result<(), Box<Conflict>>) -> Result<()> {
        let Err(conflict) = outcome else { return Ok(()) };
        let error = self.inconstant(*conflict);
        self.refuse(error)
    }

    fn refuse(&mut self, error: Error) -> Result<()> {
        self.refusal = Some(error.clone());
        self.failure = Some(error.clone());
        Err(error)
    }
}
