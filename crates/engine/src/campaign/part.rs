//! Parts of runs: the content of checkpoints and reports, and the input of `merge`.

use serde::{Deserialize, Serialize};

use super::{Run, State};
use crate::{
    Error, Result,
    comparison::{Answer, Difference, Kinds, MOST_GROUPED, Subject},
    device::{Count, Execution, Identity},
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
    /// Counterexamples, one for each cause, once the part is finished and they are reduced.
    pub counterexamples: Option<Vec<Difference>>,
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
        self.state.finished = true;
        Ok(())
    }

    /// Lists the causes of the mismatches in `causes`; `reduce` reduces a kind (see [`Kinds::causes`]).
    ///
    /// # Errors
    /// The first error of `reduce`; no instruction has the run's name.
    pub fn causes(
        &self,
        reduce: &mut dyn FnMut(&mut Difference) -> Result<()>,
        causes: &mut Vec<Difference>,
    ) -> Result<()> {
        let i = self.run.instruction()?;
        let subject = Subject::Matrix(&i);
        let kinds = Kinds::of(&subject, self.state.kinds.iter().cloned());
        kinds.causes(&subject, self.run.max_mismatches as usize, reduce, causes)
    }

    /// Lists the causes as found, of a run that ended before they were reduced.
    pub fn list_found(&mut self) {
        if self.counterexamples.is_none() {
            let mut causes = Vec::new();
            let listed = self.causes(&mut |_| Ok(()), &mut causes);
            self.counterexamples = listed.ok().map(|()| causes);
        }
    }

    /// The counterexamples, or before they are reduced the kinds of mismatches as found.
    pub fn listed(&self) -> &[Difference] {
        self.counterexamples.as_ref().unwrap_or(&self.state.kinds)
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

    /// As [`Part::check`]; every tile before the next one must be counted, and its mismatches grouped.
    ///
    /// # Errors
    /// A request error that says what is wrong.
    pub fn check_whole(&self) -> Result<()> {
        self.check()?;
        let (compared, outputs) = (self.state.compared(), self.outputs(&self.run.instruction()?, self.state.next));
        if u128::from(compared) != outputs {
            return Err(Error::request(uncounted(&self.run.instruction, compared, outputs)));
        }
        let grouped = if self.run.max_mismatches > 0 { self.state.differing().min(MOST_GROUPED) } else { 0 };
        match sum(&self.state.kinds) == u128::from(grouped) {
            true => Ok(()),
            false => Err(Error::request(format!(
                "the part of {} contradicts itself: the counts of its kinds do not add up to its differences",
                self.run.instruction
            ))),
        }
    }

    /// Outputs of the tiles of the part before `tile`.
    fn outputs(&self, i: &Instruction, tile: u64) -> u128 {
        u128::from(tile.saturating_sub(self.run.range(i).start)) * (i.m * i.n) as u128
    }

    /// The first contradiction, if there is one.
    fn contradiction(&self, i: &Instruction) -> Option<String> {
        let range = self.run.range(i);
        let State { next, regimes, kinds, seconds, finished } = &self.state;
        let counted = |counts: &[Count]| counts.iter().map(|count| u128::from(count.compared)).sum::<u128>();
        let counts = |counts: &[Count], until: u64| {
            counts.len() == self.run.regimes.len()
                && counts.iter().all(|count| count.differing <= count.compared)
                && counted(counts) <= self.outputs(i, until)
        };
        let (differing, listed) = (|| u128::from(self.state.differing()), self.counterexamples.as_deref());
        let possible = |all: &[Difference]| sum(all) <= differing() && all.iter().all(|one| self.is_possible(i, one));
        // Counts come first, so that later claims add possible counts.
        let claims: [Claim; 8] = [
            (&|| (range.start..=range.end).contains(next), &|| {
                format!("the next tile is {next}, and the part has the tiles {} to {}", range.start, range.end)
            }),
            (&|| seconds.is_finite() && *seconds >= 0.0, &|| format!("it took {seconds} seconds")),
            (&|| counts(regimes, *next), &|| "its counts do not fit its tiles".into()),
            (&|| !finished || counted(regimes) == self.outputs(i, *next), &|| {
                uncounted("it is finished", self.state.compared(), self.outputs(i, *next))
            }),
            (&|| !finished || *next == range.end, &|| {
                format!("it is finished, with the tiles from {next} to {} left", range.end)
            }),
            (&|| possible(kinds), &|| "the kinds of its differences".into()),
            (
                &|| {
                    let most = self.run.max_mismatches.min(self.state.differing());
                    listed.is_none_or(|all| (most.min(1)..=most).contains(&(all.len() as u64)))
                },
                &|| format!("{} outputs differ, and {} are listed", self.state.differing(), self.listed().len()),
            ),
            (&|| listed.is_none_or(possible), &|| "its counterexamples".into()),
        ];
        claims.iter().find(|(holds, _)| !holds()).map(|(_, what)| what())
    }

    /// True if a difference fits the part.
    fn is_possible(&self, i: &Instruction, difference: &Difference) -> bool {
        let Difference { place, regime, original, reduced, count } = difference;
        let Some(spot) = place.spot() else { return false };
        let (range, next) = (self.run.range(i), self.state.next);
        let codes = |format: &Format, codes: &[u64]| codes.iter().all(|code| *code <= format.code_mask());
        let zeros = Case::zeros(i);
        let lengths =
            |case: &Case| [&case.a, &case.b, &case.positions, &case.scale_a, &case.scale_b].map(|codes| codes.len());
        let kept = i.chunk().map_or(0, |chunk| chunk.length as u64);
        let scale = i.scale.map_or(i.a, |scale| scale.format);
        let is_well_formed = |answer: &Answer| {
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
        (range.start..next).contains(&spot.tile)
            && (spot.row as usize) < i.m
            && (spot.column as usize) < i.n
            && *count > 0
            && *regime < self.run.regimes.len()
            && is_well_formed(original)
            && reduced.as_ref().is_none_or(is_well_formed)
    }
}

/// Mismatches that differences stand for.
fn sum(differences: &[Difference]) -> u128 {
    differences.iter().map(|difference| u128::from(difference.count)).sum()
}

fn uncounted(what: &str, compared: u64, outputs: u128) -> String {
    format!("{what}: {compared} outputs were compared, and its tiles have {outputs}")
}
