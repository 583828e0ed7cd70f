//! A part of a run with all that is known of it: what a checkpoint keeps, what a report says, and what `merge` adds up.

use serde::{Deserialize, Serialize};

use super::{Counterexample, Run, State};
use crate::{
    Error, Result,
    comparison::Answer,
    device::{Count, Execution, Identity, Spot},
    format::Format,
    isa::Case,
};

/// A part of a run, and how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What is compared.
    pub run: Run,
    /// What ran it.
    pub ran: Ran,
    /// How far it has come.
    pub state: State,
    /// The counterexamples, once the part is finished and they are reduced.
    pub counterexamples: Option<Vec<Counterexample>>,
}

/// What ran a part: for the reader, and no part of the run's identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// The device, as it was asked for.
    pub device: String,
    /// The model, as it was asked for.
    pub model: String,
    /// The word for how it executes the instruction; empty until the part is begun.
    pub execution: String,
    /// The machine instructions that ran.
    pub opcodes: Vec<String>,
}

impl Part {
    /// A part of which nothing is done yet; `model` is the model as it was asked for.
    ///
    /// # Errors
    /// No instruction has the run's name.
    pub fn new(run: Run, device: &Identity, model: &str) -> Result<Part> {
        let ran =
            Ran { device: device.name.clone(), model: model.into(), execution: String::new(), opcodes: Vec::new() };
        Ok(Part { state: State::new(&run)?, run, ran, counterexamples: None })
    }

    /// Keeps how the device executes the instruction.
    pub fn begin(&mut self, execution: &Execution) {
        (self.ran.execution, self.ran.opcodes) = (execution.kind.name().into(), execution.opcodes.clone());
    }

    /// Whether a part that was read from a file is possible.
    ///
    /// # Errors
    /// A request error that says what is not.
    pub fn check(&self) -> Result<()> {
        self.run.check()?;
        let i = self.run.instruction()?;
        let range = self.run.range(&i);
        let State { next, regimes, spots, marks, .. } = &self.state;
        let outputs = |tile: u64| u128::from(tile.saturating_sub(range.start)) * (i.m * i.n) as u128;
        let counts = |counts: &[Count], until: u64| {
            counts.len() == self.run.regimes.len()
                && counts.iter().all(|count| count.differing <= count.compared)
                && counts.iter().map(|count| u128::from(count.compared)).sum::<u128>() <= outputs(until)
        };
        let within = |spot: &Spot| {
            range.contains(&spot.tile)
                && spot.tile < *next
                && (spot.row as usize) < i.m
                && (spot.column as usize) < i.n
                && marks.iter().any(|mark| mark.tile > spot.tile)
        };
        let possible = *next >= range.start
            && *next <= range.end
            && counts(regimes, *next)
            && spots.is_sorted()
            && spots.len() as u64 == self.run.max_mismatches.min(self.state.differing())
            && spots.iter().all(within)
            && marks.iter().all(|mark| mark.tile <= *next && counts(&mark.regimes, mark.tile))
            && marks.is_sorted_by_key(|mark| mark.tile)
            && (!self.state.finished || *next == range.end || self.state.stopped(&self.run));
        let codes = |format: &Format, codes: &[u64]| codes.iter().all(|code| *code <= format.code_mask());
        let whole = |answer: &Answer| {
            let case = &answer.case;
            let zeros = Case::zeros(&i);
            let lengths = |case: &Case| {
                [&case.a, &case.b, &case.positions, &case.scale_a, &case.scale_b].map(|codes| codes.len())
            };
            let kept = i.chunk().map_or(0, |chunk| chunk.length as u64);
            let scale = i.scale.map_or(i.a, |scale| scale.format);
            lengths(case) == lengths(&zeros)
                && case.positions.iter().all(|position| *position < kept)
                && codes(i.a, &case.a)
                && codes(i.b, &case.b)
                && codes(i.c, &[case.c])
                && codes(scale, &[&case.scale_a[..], &case.scale_b].concat())
                && codes(i.d, &[answer.device, answer.model])
        };
        let counterexamples = self.counterexamples.iter().flatten();
        let possible = possible
            && counterexamples.clone().count() <= spots.len()
            && counterexamples.zip(spots).all(|(counterexample, spot)| {
                counterexample.spot == *spot
                    && counterexample.regime < regimes.len()
                    && whole(&counterexample.found)
                    && counterexample.shrunk.as_ref().is_none_or(whole)
            });
        match possible {
            true => Ok(()),
            false => Err(Error::request(format!("what it says of {} contradicts itself", self.run.instruction))),
        }
    }
}
