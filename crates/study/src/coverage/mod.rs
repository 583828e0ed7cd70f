//! Coverage: the classes of cases that a run or a recording exercises, step by step.
//!
//! Cases are drawn as those of a verification, or read from a recording. A class without a case is a hole; a search names inputs that fill
//! holes ([`crate::classes::fill`]).

mod lcov;
pub mod tables;

use std::collections::BTreeMap;

pub use lcov::lcov;

use crate::{
    Error, Result, Stage,
    arithmetic::Model,
    base::{interrupt, parallel},
    classes::{Classes, Counts, Filled, fill},
    inputs::Sequence,
    isa::{Codes, Instruction, Tiles},
    trace::Trace,
};

/// Dot-product-adds that are classified between two looks at an interruption.
const STEP: usize = 1 << 13;
/// Dot-product-adds of a thread's batch.
const BATCH: usize = 1 << 8;

/// The cases that are classified.
pub enum CoveredCases {
    /// Cases of the verification stream, rounded up to whole tiles.
    Stream {
        /// Seed of the stream.
        seed: u64,
        /// Cases.
        cases: u64,
    },
    /// Recorded cases.
    Recording(Box<Trace>),
}

/// The classes that cases exercise.
pub struct Coverage {
    /// Name of the model.
    pub model: String,
    /// All classes.
    pub classes: Classes,
    /// Counts of the cases.
    pub counts: Counts,
    /// Inputs for holes.
    pub filled: Filled,
}

impl Coverage {
    /// Coverage of an instruction by the model with this name, without cases so far.
    ///
    /// # Errors
    /// A model that is unknown or does not cover the instruction.
    pub fn new(model: &str, instruction: &Instruction) -> Result<Coverage> {
        let loaded = Model::load(model)?;
        let classes = Classes::new(loaded.evaluator(instruction)?);
        let counts = Counts::new(&classes);
        let filled = Filled { inputs: vec![None; classes.list().len()], tried: 0 };
        Ok(Coverage { model: model.into(), classes, counts, filled })
    }

    /// Classifies all cases. After an interruption the counts are those of the cases so far.
    ///
    /// # Errors
    /// An interruption.
    pub fn count(&mut self, cases: &CoveredCases, watch: &mut dyn FnMut(Stage)) -> Result<()> {
        let instruction = self.classes.instruction().clone();
        let (part, tiles) = match cases {
            CoveredCases::Stream { cases, .. } => {
                (instruction.clone(), cases.div_ceil((instruction.m * instruction.n) as u64))
            }
            CoveredCases::Recording(trace) => {
                (Instruction { m: trace.m, n: trace.n, ..instruction.clone() }, trace.count() as u64)
            }
        };
        let each = part.m * part.n;
        let together = (STEP / each).max(1) as u64;
        for first in (0..tiles).step_by(together as usize) {
            let done = first * each as u64;
            watch(Stage { what: "classifying cases", done, total: tiles * each as u64 });
            interrupt::check()?;
            let count = together.min(tiles - first) as usize;
            let (inputs, recorded): (Tiles, Option<Codes>) = match cases {
                CoveredCases::Stream { seed, .. } => {
                    (Sequence::Random { seed: *seed }.tiles(&part, first, count), None)
                }
                CoveredCases::Recording(trace) => {
                    let (from, to) = (first as usize, first as usize + count);
                    (trace.tiles(from, to), Some(trace.d.slice(from * each, to * each)))
                }
            };
            let all = count * each;
            let add = |counts: &mut Counts, batch: usize| {
                for at in batch * BATCH..all.min((batch + 1) * BATCH) {
                    let case = inputs.case(&part, at / each, at % each / part.n, at % part.n);
                    let code = recorded.as_ref().map(|codes| codes.get(at));
                    counts.add(&self.classes, done + at as u64, &case, code);
                }
            };
            let sums: Vec<Counts> = parallel::fold(all.div_ceil(BATCH), || Counts::new(&self.classes), add).collect();
            sums.into_iter().for_each(|sum| self.counts.merge(sum));
        }
        Ok(())
    }

    /// Searches at most `limit` inputs for the holes.
    ///
    /// # Errors
    /// An interruption; the inputs so far stay.
    pub fn fill(&mut self, seed: u64, limit: u64) -> Result<()> {
        fill(&self.classes, &self.counts, seed, limit, &mut self.filled)
    }

    /// The inputs that fill holes, as tiles of one element with the model's results.
    /// `None` if there are none.
    ///
    /// # Errors
    /// The inputs are no recording.
    pub fn recording(&self, source: &str) -> Result<Option<Trace>> {
        let mut inputs = self.filled.inputs.iter().flatten().cloned().collect::<Vec<_>>();
        let mut seen = std::collections::HashSet::new();
        inputs.retain(|case| seen.insert(case.clone()));
        if inputs.is_empty() {
            return Ok(None);
        }
        let metadata = [("device", format!("model:{}", self.model)), ("source", source.into())];
        let metadata: BTreeMap<String, String> = metadata.into_iter().map(|(key, value)| (key.into(), value)).collect();
        let evaluator = self.classes.evaluator();
        Trace::of_cases(self.classes.instruction(), &inputs, &|case| evaluator.dot(case), metadata).map(Some)
    }
}

/// The answer in one sentence; an error if there are no cases.
///
/// # Errors
/// No case was classified.
pub fn answer(coverage: &Coverage) -> Result<String> {
    use crate::report::counted;
    let all = coverage.counts.classes.len();
    if coverage.counts.cases == 0 {
        return Err(Error::request("no case was classified"));
    }
    let exercised = coverage.counts.classes.iter().filter(|class| class.cases > 0).count();
    let filled = coverage.filled.inputs.iter().flatten().count();
    let left = all - exercised - filled;
    let mut text = format!(
        "{} of {} exercise {exercised} of {all} classes ({:.1} %).",
        counted(coverage.counts.cases, "case"),
        coverage.classes.instruction(),
        100.0 * exercised as f64 / all as f64
    );
    if filled > 0 {
        text += &format!(" Inputs are named for {filled} of the others.");
    }
    if left > 0 {
        text += &match coverage.filled.tried {
            0 => format!(" No input was searched for {left}."),
            tried => format!(" A search of {} did not reach {left}.", counted(tried, "input")),
        };
    }
    Ok(text)
}
