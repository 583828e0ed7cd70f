//! Probes of several instructions, one after the other.

use std::{collections::HashSet, time::Instant};

use super::{ProbeRequest, ProbeResult, run_until, table::Probe};
use crate::{
    Result, Stage,
    arithmetic::Model,
    base::{interrupt, work::UNASKED},
    comparison::{Difference, Listing, MismatchOrigin, Subject},
    device::{Device, ExecutionKind},
    inputs::{Distribution, Init, Op},
    isa::Instruction,
};

/// Samples of each probe by default.
pub const SAMPLES: u64 = 10_000;

/// Probes of several instructions.
#[derive(Debug, Clone)]
pub struct ProbePlan<'a> {
    /// The instructions.
    pub instructions: &'a [Instruction],
    /// The operations to isolate.
    pub ops: Vec<Op>,
    /// Distributions of the operands.
    pub distributions: Vec<Distribution>,
    /// True if references see rounded operands.
    pub inits: Vec<Init>,
    /// Seed of the operands.
    pub seed: u64,
    /// Samples of each probe; `None`: [`SAMPLES`], or as many as a program answers in a minute.
    pub samples: Option<u64>,
    /// Causes of mismatches of each probe that are listed.
    pub max_mismatches: usize,
    /// True if instructions that the device lacks are left out.
    pub available: bool,
}

/// The results of a plan, whatever ended it.
#[derive(Default)]
pub struct Probed<'a> {
    /// The probes with their results.
    pub probes: Vec<Probe<'a>>,
    /// The causes of elements that differ from the model.
    pub listing: Listing,
    /// Instructions that were left out, and samples that were not taken.
    pub notes: Vec<String>,
    /// The listed differences, which a repeated option finds again.
    listed: HashSet<(String, &'static str, &'static str, Difference)>,
}

impl<'a> Probed<'a> {
    /// Runs a plan; `watch` is told each step.
    ///
    /// # Errors
    /// A device or model that lacks an instruction, a device that fails, [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn run(
        &mut self,
        plan: &ProbePlan<'a>,
        device: &mut dyn Device,
        model: &Model,
        watch: &dyn Fn(Stage),
    ) -> Result<()> {
        let each = plan.distributions.len() * plan.ops.len();
        let total = (plan.instructions.len() * each) as u64;
        let started = Instant::now();
        let mut done = 0;
        for instruction in plan.instructions {
            interrupt::check()?;
            // On a GPU its kernel is compiled meanwhile.
            let what = format!("preparing {instruction} on {}", device.identity().name);
            watch(Stage { what: &what, done, total });
            let external = match device.prepare(instruction) {
                Err(error) if plan.available && error.is_unavailable() => {
                    self.notes.push(error.to_string());
                    done += each as u64;
                    continue;
                }
                execution => execution?.kind == ExecutionKind::External,
            };
            let evaluator = model.evaluator(instruction)?;
            for requests in plan.requests(instruction) {
                let request = &requests[0];
                let (op, samples) = (request.op.name(), request.samples);
                let what = format!(
                    "probing {instruction} on {}: {samples} samples of {op}, {}, {}",
                    device.identity().name,
                    plan.inits.iter().map(|init| init.name()).collect::<Vec<_>>().join(" and "),
                    request.distribution.name(),
                );
                watch(Stage { what: &what, done, total });
                // Samples that nobody asked for take a share of a minute.
                let left = UNASKED.saturating_sub(started.elapsed()) / ((total - done) as u32).max(1);
                let until = (external && plan.samples.is_none()).then(|| Instant::now() + left);
                done += 1;
                let mut results = Vec::new();
                let outcome = run_until(device, Some(&evaluator), request, &plan.inits, until, &mut results);
                if let Some(first) = results.first() {
                    self.list(request, first)?;
                    if outcome.is_ok() && first.profile.samples < samples {
                        self.notes.push(format!(
                            "{instruction}, {op}: {} of {SAMPLES} samples were taken in a minute; ‹samples=N› takes N.",
                            first.profile.samples
                        ));
                    }
                }
                self.probes.extend(requests.into_iter().zip(results));
                outcome?;
            }
        }
        Ok(())
    }

    fn list(&mut self, request: &ProbeRequest, result: &ProbeResult) -> Result<()> {
        let (instruction, op, distribution) = (request.instruction, request.op.name(), request.distribution.name());
        let origin = MismatchOrigin { op: Some(op), distribution: Some(distribution), ..MismatchOrigin::default() };
        let (subject, mut causes) = (Subject::Matrix(instruction), Vec::new());
        result.kinds.clone().causes(&subject, request.max_mismatches, &mut |_| Ok(()), &mut causes)?;
        for cause in causes {
            if self.listed.insert((instruction.name.clone(), op, distribution, cause.clone())) {
                self.listing.add(&subject, &origin, &cause);
            }
        }
        Ok(())
    }
}

impl<'a> ProbePlan<'a> {
    /// The probes of an instruction; those that differ only in their initialisation are together.
    fn requests(&self, instruction: &'a Instruction) -> Vec<Vec<ProbeRequest<'a>>> {
        let pairs =
            self.distributions.iter().flat_map(|distribution| self.ops.iter().map(move |op| (*distribution, *op)));
        pairs
            .map(|(distribution, op)| {
                let request = |init: &Init| ProbeRequest {
                    instruction,
                    op,
                    distribution,
                    init: *init,
                    seed: self.seed,
                    samples: self.samples.unwrap_or(SAMPLES),
                    max_mismatches: self.max_mismatches,
                };
                self.inits.iter().map(request).collect()
            })
            .collect()
    }
}
