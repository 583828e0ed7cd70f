//! Element-wise profile: one operation of a device, compared bit for bit with references.
//!
//! Source of the experiment: Sun et al., Dissecting Tensor Cores via Microbenchmarks (2022), section 8.1.

pub mod bit_table;
pub mod bits;
pub mod digests;
mod plan;
mod reference;
pub mod scalar;
mod statistics;
pub mod sweep;
pub mod sweep_table;
pub mod table;

use std::time::Instant;

use crate::{
    Result,
    arithmetic::Evaluator,
    base::{digest::fnv1a, interrupt, parallel},
    comparison::{Answer, Difference, Kinds, ResultPlace, Subject},
    device::{Batches, Device, Execution, Spot},
    inputs::{self, Batch, Distribution, Init, Op, Position, RandomStream},
    isa::{Codes, Instruction, MatrixShape},
};
pub use plan::{ProbePlan, Probed, SAMPLES};
use reference::SampleReferences;
pub use statistics::{HISTOGRAM_EDGES, Profile, SampleTally};

/// Samples drawn, executed and compared at a time, so that memory stays bounded.
const CHUNK: usize = 1 << 14;

/// Most samples of a probe.
pub const MAX_SAMPLES: u64 = 1_000_000_000_000;

/// One probe.
#[derive(Debug, Clone)]
pub struct ProbeRequest<'a> {
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The operation to isolate.
    pub op: Op,
    /// Distribution of the operands.
    pub distribution: Distribution,
    /// True if references see rounded operands.
    pub init: Init,
    /// Seed of the operands.
    pub seed: u64,
    /// Number of samples.
    pub samples: u64,
    /// Causes of mismatches that are listed.
    pub max_mismatches: usize,
}

/// The result of one probe.
#[derive(Debug, Clone)]
pub struct ProbeResult {
    /// The execution on the device.
    pub execution: Execution,
    /// Digest of every operand's bits: equal digests mean equal inputs.
    pub digest: u64,
    /// Digest of every code of D: equal digests of inputs and outputs mean equal arithmetic on them.
    pub outputs_digest: u64,
    /// Counts and measurements.
    pub profile: Profile,
    /// Kinds of elements of D that differ from the model, with tile numbers of the whole probe.
    pub kinds: Kinds,
}

/// Runs a probe on `device` for each of `inits`, until the time `until`; the tiles are executed once.
///
/// `results` cover the samples so far, also after an error.
///
/// # Errors
/// The errors of the device; [`Error::Interrupted`](crate::Error::Interrupted).
pub fn run_until(
    device: &mut dyn Device,
    model: Option<&Evaluator>,
    request: &ProbeRequest<'_>,
    inits: &[Init],
    until: Option<Instant>,
    results: &mut Vec<ProbeResult>,
) -> Result<()> {
    let i = request.instruction;
    let execution = device.prepare(i)?;
    let per_tile = request.op.samples_per_tile(i);
    let chunk = CHUNK.next_multiple_of(per_tile) as u64;
    let drawn = if inits.contains(&Init::Fp32) { Init::Fp32 } else { Init::Low };
    let mut profiles = vec![Profile::default(); inits.len()];
    // Shared by all initialisations.
    let mut outcome =
        ProbeResult { execution, digest: 0, outputs_digest: 0, profile: Profile::default(), kinds: Kinds::default() };
    let mut batches = Batches::default();
    let mut ended = Ok(());
    for (stream, start) in (0..request.samples).step_by(chunk as usize).enumerate() {
        if start > 0 {
            // A chunk may be one batch, between whose parts nothing asks.
            ended = interrupt::check();
            if ended.is_err() || until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        let samples = chunk.min(request.samples - start) as usize;
        let source = RandomStream { seed: request.seed, stream: stream as u64 };
        let mut batch = inputs::draw(i, request.op, request.distribution, drawn, source, samples);
        let mut d = Codes::zeros(i.d, 0);
        ended = batches.extend(device, i, MatrixShape { rows: i.m, columns: i.n }, &batch.tiles, until, &mut d);
        let executed = d.len() / (i.m * i.n);
        if executed == 0 {
            break;
        }
        let complete = executed == batch.tiles.count;
        if !complete {
            batch.tiles = batch.tiles.slice(0, executed);
            batch.samples.retain(|at| at.tile < executed);
        }
        outcome.digest = outcome.digest.rotate_left(1) ^ batch.tiles.digest();
        outcome.outputs_digest = outcome.outputs_digest.rotate_left(1) ^ fnv1a(d.as_bytes());
        if let Some(model) = model {
            compare_with_model(model, request, &batch, start / per_tile as u64, &d, &mut outcome);
        }
        for (init, profile) in inits.iter().zip(&mut profiles) {
            let references = || SampleReferences::new(request, *init);
            let tally = |references: &mut SampleReferences<'_>, at: &Position| references.tally(&batch, *at, &d);
            let tallies = parallel::map_with(&batch.samples, references, tally);
            // In order, so that sums do not depend on the number of threads.
            tallies.iter().for_each(|tally| profile.add(tally));
        }
        if !complete {
            break;
        }
    }
    let Profile { model, elements, element_mismatches, .. } = outcome.profile;
    let result = |profile| ProbeResult {
        profile: Profile { model, elements, element_mismatches, ..profile },
        ..outcome.clone()
    };
    results.extend(profiles.into_iter().filter(|profile| profile.samples > 0).map(result));
    ended
}

/// Compares every element of D with the model, not only the samples.
///
/// `first` is the number of the batch's first tile in the probe.
fn compare_with_model(
    model: &Evaluator,
    request: &ProbeRequest<'_>,
    batch: &Batch,
    first: u64,
    d: &Codes,
    outcome: &mut ProbeResult,
) {
    let i = request.instruction;
    let expected = model.execute(&batch.tiles);
    outcome.profile.elements += d.len() as u64;
    let compared = outcome.profile.model.get_or_insert_default();
    *compared += batch.samples.iter().filter(|at| d.get(at.index(i)) == expected.get(at.index(i))).count() as u64;
    if d == &expected {
        return;
    }
    for index in (0..d.len()).filter(|index| d.get(*index) != expected.get(*index)) {
        outcome.profile.element_mismatches += 1;
        if request.max_mismatches == 0 {
            continue;
        }
        let (tile, row, column) = (index / (i.m * i.n), index / i.n % i.m, index % i.n);
        let case = batch.tiles.case(i, tile, row, column);
        let spot = Spot { tile: first + tile as u64, row: row as u32, column: column as u32 };
        let answer = Answer { case, device: d.get(index), model: expected.get(index) };
        outcome.kinds.add(&Subject::Matrix(i), Difference::of(ResultPlace::Output(spot), answer));
    }
}
