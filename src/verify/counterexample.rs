//! Counterexamples: outputs that differ, with the minimal cases that they are reduced to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Part,
    shrink::{Compared, shrink},
};
use crate::{
    Result,
    arithmetic::Model,
    comparison::{Answer, Difference, Place},
    device::{Device, Spot},
    isa::Tiles,
    trace::Trace,
};

/// An output on which device and model differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterexample {
    /// Where it was found.
    pub spot: Spot,
    /// The regime of its operands, as an index into those of the run.
    pub regime: usize,
    /// As it was found.
    pub found: Answer,
    /// The minimal case that it was reduced to; absent if the outputs do not differ when the rest of the tile is zero.
    pub shrunk: Option<Answer>,
}

impl Counterexample {
    /// The reduced case, or the one that was found.
    pub fn simplest(&self) -> &Answer {
        self.shrunk.as_ref().unwrap_or(&self.found)
    }

    /// What every comparison says of an output that differs.
    pub fn difference(&self) -> Difference {
        let reduced = self.shrunk.clone();
        Difference { reduced, ..Difference::found(Place::Output(self.spot), self.found.clone()) }
    }
}

/// The counterexamples of a part, one for each of its listed places; reduced by asking about `budget` cases each (see
/// [`shrink`](super::shrink::shrink)), or, where that is 0, not at all.
///
/// # Errors
/// The device fails; the model does not cover the instruction.
pub fn counterexamples(
    part: &Part,
    device: &mut dyn Device,
    model: &Model,
    budget: usize,
) -> Result<Vec<Counterexample>> {
    let instruction = &part.run.instruction()?;
    let evaluator = &model.evaluator(instruction)?;
    let sequence = part.run.sequence();
    let mut all = Vec::new();
    for spot in &part.state.spots {
        let (row, column) = (spot.row as usize, spot.column as usize);
        let tiles = sequence.tiles(instruction, spot.tile, 1);
        let case = tiles.case(instruction, 0, row, column);
        let device_code = device.execute(instruction, &tiles)?.get(row * instruction.n + column);
        let found = Answer { device: device_code, model: evaluator.dot(&case), case };
        let mut pair = Compared { device, model: evaluator, instruction, nans: part.run.nans() };
        let shrunk = if budget > 0 { shrink(&mut pair, spot, &found.case, budget)? } else { None };
        all.push(Counterexample { spot: *spot, regime: sequence.regime(instruction, spot.tile), found, shrunk });
    }
    Ok(all)
}

/// A trace of counterexamples, a tile each, with what the device answers: it replays against any model.
///
/// # Errors
/// The device fails; traces do not hold the instruction's operands.
pub fn trace(
    part: &Part,
    counterexamples: &[Counterexample],
    device: &mut dyn Device,
    metadata: BTreeMap<String, String>,
) -> Result<Trace> {
    let instruction = &part.run.instruction()?;
    let mut tiles = Tiles::zeros(instruction, 0);
    for counterexample in counterexamples {
        let Spot { tile, row, column } = counterexample.spot;
        tiles.extend(&match &counterexample.shrunk {
            None => part.run.sequence().tiles(instruction, tile, 1),
            Some(shrunk) => {
                let mut alone = Tiles::zeros(instruction, 1);
                alone.place(instruction, 0, row as usize, column as usize, &shrunk.case);
                alone
            }
        });
    }
    let outputs = device.execute(instruction, &tiles)?;
    Trace::from_run(instruction, &tiles, outputs, metadata)
}
