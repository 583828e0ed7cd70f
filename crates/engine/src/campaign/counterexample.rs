//! Counterexamples: the causes of mismatches, each with the minimal case to which it is reduced.

use std::{collections::BTreeMap, time::Instant};

use super::{
    Part,
    shrink::{Compared, shrink},
};
use crate::{
    Result,
    arithmetic::Model,
    comparison::{Difference, shrink::Budget},
    device::{Device, Spot},
    isa::{Codes, Tiles},
    trace::Trace,
};

/// Lists the causes of a part's mismatches in `all`, the run's `max_mismatches` at most.
/// Each case is reduced within `budget` (see [`shrink`](super::shrink::shrink)). If it agrees in a tile of zeros, its tile is executed
/// again, and `found` has that answer.
///
/// # Errors
/// The device fails, or a signal arrives: cases that were not reduced are listed as found. The model does not cover the instruction.
pub fn counterexamples(
    part: &Part,
    device: &mut dyn Device,
    model: &Model,
    budget: impl Into<Budget>,
    all: &mut Vec<Difference>,
) -> Result<()> {
    let instruction = &part.run.instruction()?;
    let evaluator = &model.evaluator(instruction)?;
    let (sequence, budget) = (part.run.sequence(), budget.into());
    part.causes(
        &mut |kind| {
            let Some(spot) = kind.place.spot() else { return Ok(()) };
            let mut pair = Compared { device: &mut *device, model: evaluator, instruction, nans: part.run.nans() };
            kind.reduced = shrink(&mut pair, &spot, &kind.original, budget)?;
            if kind.reduced.is_none() && !budget.is_over() {
                let outputs = device.execute(instruction, &sequence.tiles(instruction, spot.tile, 1))?;
                kind.original.device = outputs.get(spot.row as usize * instruction.n + spot.column as usize);
            }
            Ok(())
        },
        all,
    )
}

/// Makes a trace of counterexamples, a tile each, with the device's answers.
/// After the time `until` no more are executed.
///
/// # Errors
/// The device fails; traces do not hold the instruction's operands.
pub fn trace(
    part: &Part,
    counterexamples: &[Difference],
    device: &mut dyn Device,
    metadata: BTreeMap<String, String>,
    until: Option<Instant>,
) -> Result<Trace> {
    let instruction = &part.run.instruction()?;
    let (mut tiles, mut outputs) = (Tiles::zeros(instruction, 0), Codes::zeros(instruction.d, 0));
    for Difference { place, reduced, .. } in counterexamples {
        if tiles.count > 0 && until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let Some(Spot { tile, row, column }) = place.spot() else { continue };
        let alone = match reduced {
            None => part.run.sequence().tiles(instruction, tile, 1),
            Some(reduced) => {
                let mut alone = Tiles::zeros(instruction, 1);
                alone.place(instruction, 0, row as usize, column as usize, &reduced.case);
                alone
            }
        };
        outputs.extend(&device.execute(instruction, &alone)?);
        tiles.extend(&alone);
    }
    Trace::from_run(instruction, &tiles, outputs, metadata)
}
