//! Counterexamples: outputs that differ, with the minimal cases to which they are reduced.

use std::{collections::BTreeMap, time::Instant};

use serde::{Deserialize, Serialize};

use super::{
    Part,
    shrink::{Compared, shrink},
};
use crate::{
    Result,
    arithmetic::Model,
    comparison::{Answer, Difference, ResultPlace, shrink::Budget},
    device::{Device, Spot},
    isa::{Codes, Tiles},
    trace::Trace,
};

/// An output on which device and model differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterexample {
    /// Place of the output.
    pub spot: Spot,
    /// Regime of the operands, as an index into the regimes of the run.
    pub regime: usize,
    /// The case as found.
    pub found: Answer,
    /// The minimal case; absent if the outputs agree when the rest of the tile is zero.
    pub shrunk: Option<Answer>,
}

impl Counterexample {
    /// The reduced case, else the found one.
    pub fn simplest(&self) -> &Answer {
        self.shrunk.as_ref().unwrap_or(&self.found)
    }

    /// The counterexample as every comparison reports it.
    pub fn difference(&self) -> Difference {
        let reduced = self.shrunk.clone();
        Difference { reduced, ..Difference::found(ResultPlace::Output(self.spot), self.found.clone()) }
    }
}

/// Adds the missing counterexamples of a part to `all`, one for each listed place.
/// Each is reduced within `budget` (see [`shrink`](super::shrink::shrink)). A budget without cases adds them as found, until its
/// time is over.
///
/// # Errors
/// The device fails, or a signal arrives: `all` has those until then. The model does not cover the instruction.
pub fn counterexamples(
    part: &Part,
    device: &mut dyn Device,
    model: &Model,
    budget: impl Into<Budget>,
    all: &mut Vec<Counterexample>,
) -> Result<()> {
    let instruction = &part.run.instruction()?;
    let evaluator = &model.evaluator(instruction)?;
    let (sequence, budget) = (part.run.sequence(), budget.into());
    // Several places of one tile take one execution.
    let mut last: Option<(u64, Tiles, Codes)> = None;
    for spot in part.state.spots.iter().skip(all.len()) {
        let (tiles, outputs) = match &last {
            Some((tile, tiles, outputs)) if *tile == spot.tile => (tiles, outputs),
            _ if budget.cases == 0 && budget.is_over() => break,
            _ => {
                let tiles = sequence.tiles(instruction, spot.tile, 1);
                let outputs = device.execute(instruction, &tiles)?;
                let (_, tiles, outputs) = last.insert((spot.tile, tiles, outputs));
                (&*tiles, &*outputs)
            }
        };
        let (row, column) = (spot.row as usize, spot.column as usize);
        let case = tiles.case(instruction, 0, row, column);
        let code = outputs.get(row * instruction.n + column);
        let found = Answer { device: code, model: evaluator.dot(&case), case };
        let mut pair = Compared { device, model: evaluator, instruction, nans: part.run.nans() };
        let shrunk = if budget.cases > 0 { shrink(&mut pair, spot, &found.case, budget)? } else { None };
        all.push(Counterexample { spot: *spot, regime: sequence.regime(instruction, spot.tile), found, shrunk });
    }
    Ok(())
}

/// Makes a trace of counterexamples, a tile each, with the device's answers.
/// After the time `until` no more are executed.
///
/// # Errors
/// The device fails; traces do not hold the instruction's operands.
pub fn trace(
    part: &Part,
    counterexamples: &[Counterexample],
    device: &mut dyn Device,
    metadata: BTreeMap<String, String>,
    until: Option<Instant>,
) -> Result<Trace> {
    let instruction = &part.run.instruction()?;
    let (mut tiles, mut outputs) = (Tiles::zeros(instruction, 0), Codes::zeros(instruction.d, 0));
    for counterexample in counterexamples {
        if tiles.count > 0 && until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let Spot { tile, row, column } = counterexample.spot;
        let alone = match &counterexample.shrunk {
            None => part.run.sequence().tiles(instruction, tile, 1),
            Some(shrunk) => {
                let mut alone = Tiles::zeros(instruction, 1);
                alone.place(instruction, 0, row as usize, column as usize, &shrunk.case);
                alone
            }
        };
        outputs.extend(&device.execute(instruction, &alone)?);
        tiles.extend(&alone);
    }
    Trace::from_run(instruction, &tiles, outputs, metadata)
}
