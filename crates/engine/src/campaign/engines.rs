//! Engines for devices without their own: on all cores of this machine, or tile by tile.

use std::ops::Range;

use crate::{
    Error, Result,
    arithmetic::Evaluator,
    base::parallel,
    comparison::{MOST_GROUPED, Nans},
    device::{CampaignWork, Count, Device, Engine, LocalExecution, Mismatch, Spot, Verified},
    inputs::Sequence,
    isa::{Codes, Instruction},
};

/// Outputs of a batch: enough to hide its overhead, few enough for the cache.
const BATCH: usize = 1 << 12;
/// Outputs of a batch for any other device.
const REMOTE_BATCH: usize = 1 << 16;

/// Makes the engine for `work`: the device's own if it has one and codes are compared in every bit.
///
/// # Errors
/// The device or the model lacks the instruction.
pub fn engine<'a>(device: &'a mut dyn Device, work: &CampaignWork, nans: Nans) -> Result<Box<dyn Engine + 'a>> {
    if let Some(local) = device.local() {
        let execution = local.execution(work.instruction)?;
        return Ok(Box::new(Local { execution, judge: Judge::new(work, nans)? }));
    }
    if nans == Nans::ByCode
        && let Some(campaigns) = device.campaigns()
        && let Some(engine) = campaigns.engine(work)?
    {
        return Ok(engine);
    }
    device.has(work.instruction)?;
    Ok(Box::new(Remote { device, judge: Judge::new(work, nans)? }))
}

/// The operands, the model and the comparison.
struct Judge {
    instruction: Instruction,
    sequence: Sequence,
    model: Evaluator,
    nans: Nans,
}

impl Judge {
    fn new(work: &CampaignWork, nans: Nans) -> Result<Judge> {
        Ok(Judge {
            instruction: work.instruction.clone(),
            sequence: work.sequence,
            model: work.model.evaluator(work.instruction)?,
            nans,
        })
    }

    /// Tiles of a batch of `outputs` outputs.
    fn tiles(&self, outputs: usize) -> u64 {
        (outputs / (self.instruction.m * self.instruction.n)).max(1) as u64
    }

    fn nothing(&self) -> Verified {
        Verified::nothing(self.sequence.regimes().len())
    }

    /// Compares the outputs of the tiles from number `first`, and adds the result to `verified`.
    fn compare(&self, verified: &mut Verified, first: u64, device: &Codes, model: &Codes) {
        let (m, n) = (self.instruction.m, self.instruction.n);
        let each = m * n * device.width();
        let tiles = device.as_bytes().chunks_exact(each).zip(model.as_bytes().chunks_exact(each));
        for (at, (x, y)) in tiles.enumerate() {
            let tile = first + at as u64;
            let mut count = Count { compared: (m * n) as u64, differing: 0 };
            if x != y {
                let codes = |place: usize| (device.get(at * m * n + place), model.get(at * m * n + place));
                let differs = |place: &usize| {
                    let (x, y) = codes(*place);
                    !self.nans.agree(self.instruction.d, x, y)
                };
                for place in (0..m * n).filter(differs) {
                    count.differing += 1;
                    if verified.mismatches.len() < MOST_GROUPED as usize {
                        let spot = Spot { tile, row: (place / n) as u32, column: (place % n) as u32 };
                        let (device, model) = codes(place);
                        verified.mismatches.push(Mismatch { spot, device, model });
                    }
                }
            }
            verified.regimes[self.sequence.regime(&self.instruction, tile)].add(count);
        }
    }
}

/// A device on the threads of this program, each of which generates, executes and evaluates tiles.
struct Local {
    execution: LocalExecution,
    judge: Judge,
}

impl Engine for Local {
    fn run(&mut self, tiles: Range<u64>) -> Result<Verified> {
        let Local { execution, judge } = self;
        let each = judge.tiles(BATCH);
        let batch = |verified: &mut Verified, batch: usize| {
            let first = tiles.start + batch as u64 * each;
            let inputs = judge.sequence.tiles(&judge.instruction, first, each.min(tiles.end - first) as usize);
            judge.compare(verified, first, &execution(&inputs), &judge.model.execute_here(&inputs));
        };
        let batches = tiles.end.saturating_sub(tiles.start).div_ceil(each) as usize;
        let mut verified = judge.nothing();
        parallel::fold(batches, || judge.nothing(), batch).for_each(|part| verified.add(&part, MOST_GROUPED as usize));
        Ok(verified)
    }
}

/// A device that gets tiles and returns outputs.
struct Remote<'a> {
    device: &'a mut dyn Device,
    judge: Judge,
}

impl Engine for Remote<'_> {
    fn run(&mut self, tiles: Range<u64>) -> Result<Verified> {
        let Remote { device, judge } = self;
        let i = &judge.instruction;
        let mut verified = judge.nothing();
        let mut first = tiles.start;
        while first < tiles.end {
            let count = judge.tiles(REMOTE_BATCH).min(tiles.end - first) as usize;
            let mut inputs = judge.sequence.tiles(i, first, 0);
            let each = judge.tiles(BATCH) as usize;
            let parts = parallel::map((0..count).step_by(each), |from| {
                judge.sequence.tiles(i, first + from as u64, each.min(count - from))
            });
            parts.iter().for_each(|part| inputs.extend(part));
            let outputs = device.execute(i, &inputs)?;
            if outputs.len() != count * i.m * i.n {
                let name = &device.identity().name;
                let asked = count * i.m * i.n;
                return Err(Error::device(format!("{name} answered {} outputs of {asked}", outputs.len())));
            }
            judge.compare(&mut verified, first, &outputs, &judge.model.execute(&inputs));
            first += count as u64;
        }
        Ok(verified)
    }
}
