//! Parts of runs: the content of checkpoints and reports, and the input of `merge`.

use serde::{Deserialize, Serialize};

use super::{Counterexample, Run, State, cut::Cut};
use crate::{
    Error, Result,
    comparison::Answer,
    device::{Count, Execution, Identity, Spot},
    format::Format,
    isa::{Case, Instruction},
};

/// A condition on a part, and the contradiction if it fails.
type Claim<'a> = (&'a dyn Fn() -> bool, &'a dyn Fn() -> String);

/// A part of a run, with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The run.
    pub run: Run,
    /// The device and the execution.
    pub ran: Ran,
    /// The progress.
    pub state: State,
    /// Counterexamples, once the part is finished and they are reduced.
    pub counterexamples: Option<Vec<Counterexample>>,
}

/// The execution of a part, for the reader; no part of the run's identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// Device, as requested.
    pub device: String,
    /// Model, as requested.
    pub model: String,
    /// Kind of execution; empty before the part begins.
    pub execution: String,
    /// Machine instructions that ran.
    pub opcodes: Vec<String>,
}

impl Part {
    /// Makes a part that has not begun; `model` is the model as requested.
    ///
    /// # Errors
    /// No instruction has the run's name.
    pub fn new(run: Run, device: &Identity, model: &str) -> Result<Part> {
        let ran =
            Ran { device: device.name.to_string(), model: model.into(), execution: String::new(), opcodes: Vec::new() };
        Ok(Part { state: State::new(&run)?, run, ran, counterexamples: None })
    }

    /// Sets the execution of the instruction.
    pub fn begin(&mut self, execution: &Execution) {
        (self.ran.execution, self.ran.opcodes) = (execution.kind.name().into(), execution.opcodes.clone());
    }

    /// Ends the run here: its cases are those that were compared.
    ///
    /// # Errors
    /// No instruction has the run's name.
    pub fn end_here(&mut self) -> Result<()> {
        let i = self.run.instruction()?;
        self.run.cases = self.state.next * (i.m * i.n) as u64;
        self.state.end(&Cut::of(&self.run, &i));
        Ok(())
    }

    /// Drops the places without counterexamples, as in a run that was stopped before all were listed.
    pub fn as_listed(&mut self) {
        let listed = self.counterexamples.as_ref().map_or(0, Vec::len);
        if listed < self.state.spots.len() {
            self.state.spots.truncate(listed);
            self.state.finished = false;
        }
    }

    /// Checks a part that was read from a file.
    /// An unfinished part may lack tiles, as after a partial merge.
    ///
    /// # Errors
    /// A request error that says what is wrong.
    pub fn check(&self) -> Result<()> {
        self.run.check()?;
        let i = &self.run.instruction()?;
        match self.contradiction(i) {
            Some(what) => {
                Err(Error::request(format!("the part of {} contradicts itself: {what}", self.run.instruction)))
            }
            None => Ok(()),
        }
    }

    /// As [`Part::check`]; every tile before the next one must be counted.
    ///
    /// # Errors
    /// A request error that says what is wrong.
    pub fn check_whole(&self) -> Result<()> {
        self.check()?;
        let (compared, outputs) = (self.state.compared(), self.outputs(&self.run.instruction()?, self.state.next));
        match u128::from(compared) == outputs {
            true => Ok(()),
            false => Err(Error::request(uncounted(&self.run.instruction, compared, outputs))),
        }
    }

    /// Outputs of the tiles of the part before `tile`.
    fn outputs(&self, i: &Instruction, tile: u64) -> u128 {
        u128::from(tile.saturating_sub(self.run.range(i).start)) * (i.m * i.n) as u128
    }

    /// The first contradiction, if there is one.
    fn contradiction(&self, i: &Instruction) -> Option<String> {
        let (range, cut) = (self.run.range(i), Cut::of(&self.run, i));
        let State { next, regimes, spots, marks, seconds, finished } = &self.state;
        let counted = |counts: &[Count]| counts.iter().map(|count| u128::from(count.compared)).sum::<u128>();
        let counts = |counts: &[Count], until: u64| {
            counts.len() == self.run.regimes.len()
                && counts.iter().all(|count| count.differing <= count.compared)
                && counted(counts) <= self.outputs(i, until)
        };
        let grows = |less: &[Count], more: &[Count]| {
            less.iter().zip(more).all(|(less, more)| less.compared <= more.compared && less.differing <= more.differing)
        };
        // The report of an interrupted run may lack some.
        let (listed, wanted) = (spots.len() as u64, || self.run.max_mismatches.min(self.state.differing()));
        let within = |spot: &Spot| {
            range.contains(&spot.tile)
                && spot.tile < *next
                && (spot.row as usize) < i.m
                && (spot.column as usize) < i.n
                && (marks.iter().any(|mark| mark.tile > spot.tile) || *next < cut.unit_end(spot.tile))
        };
        // Counts come first, so that later claims add possible counts.
        let claims: [Claim; 10] = [
            (&|| (range.start..=range.end).contains(next), &|| {
                format!("the next tile is {next}, and the part has the tiles {} to {}", range.start, range.end)
            }),
            (&|| seconds.is_finite() && *seconds >= 0.0, &|| format!("it took {seconds} seconds")),
            (&|| counts(regimes, *next), &|| "its counts do not fit its tiles".into()),
            (&|| !finished || counted(regimes) == self.outputs(i, *next), &|| {
                uncounted("it is finished", self.state.compared(), self.outputs(i, *next))
            }),
            (&|| listed == wanted() || !finished && listed < wanted(), &|| {
                format!("{} outputs differ, and {listed} are listed", self.state.differing())
            }),
            (&|| !finished || *next == range.end || self.state.stopped(&self.run), &|| {
                format!("it is finished, with the tiles from {next} to {} left", range.end)
            }),
            (&|| spots.is_sorted() && spots.iter().all(within), &|| "the places of its differences".into()),
            (
                &|| {
                    marks.iter().all(|mark| mark.tile <= *next && counts(&mark.regimes, mark.tile))
                        && marks.iter().all(|mark| grows(&mark.regimes, regimes))
                        && marks
                            .windows(2)
                            .all(|pair| pair[0].tile <= pair[1].tile && grows(&pair[0].regimes, &pair[1].regimes))
                },
                &|| "the counts up to its differences".into(),
            ),
            (&|| self.counterexamples.as_ref().is_none_or(|all| all.len() == spots.len()), &|| {
                "its counterexamples are not as many as its differences".into()
            }),
            (
                &|| self.counterexamples.iter().flatten().zip(spots).all(|(one, spot)| self.is_possible(i, one, spot)),
                &|| "its counterexamples".into(),
            ),
        ];
        claims.iter().find(|(holds, _)| !holds()).map(|(_, what)| what())
    }

    /// True if a counterexample fits its place.
    fn is_possible(&self, i: &Instruction, counterexample: &Counterexample, spot: &Spot) -> bool {
        let codes = |format: &Format, codes: &[u64]| codes.iter().all(|code| *code <= format.code_mask());
        let zeros = Case::zeros(i);
        let lengths =
            |case: &Case| [&case.a, &case.b, &case.positions, &case.scale_a, &case.scale_b].map(|codes| codes.len());
        let kept = i.chunk().map_or(0, |chunk| chunk.length as u64);
        let scale = i.scale.map_or(i.a, |scale| scale.format);
        let whole = |answer: &Answer| {
            let case = &answer.case;
            lengths(case) == lengths(&zeros)
                && case.positions.iter().all(|position| *position < kept)
                && codes(i.a, &case.a)
                && codes(i.b, &case.b)
                && codes(i.c, &[case.c])
                && codes(scale, &case.scale_a)
                && codes(scale, &case.scale_b)
                && codes(i.d, &[answer.device, answer.model])
        };
        counterexample.spot == *spot
            && counterexample.regime < self.run.regimes.len()
            && whole(&counterexample.found)
            && counterexample.shrunk.as_ref().is_none_or(whole)
    }
}

fn uncounted(what: &str, compared: u64, outputs: u128) -> String {
    format!("{what}: {compared} outputs were compared, and its tiles have {outputs}")
}
