//! Sweep of a scalar instruction over its inputs, on a device or in simulation, compared with its rule.

use std::time::Instant;

use crate::{
    Error, Result,
    arithmetic::scalar_rule::{FastRule, ScalarRule},
    base::{
        digest::fnv1a,
        parallel,
        work::{self, Pace},
    },
    comparison::{Answer, Difference, Kinds, ResultPlace, Subject},
    device::{ChunkTally, Chunks, Device, DifferenceGroup, Execution, ExecutionKind, Swept},
    inputs::space::{CHUNK, Space},
    isa::{
        Case,
        scalar::{Form, container_bits},
    },
};

/// Chunks of a simulated sweep by default.
const SIMULATED_CHUNKS: u64 = 4;

/// One sweep.
#[derive(Debug, Clone, Copy)]
pub struct SweepRequest {
    /// The instruction.
    pub form: &'static Form,
    /// Seed of sampled inputs.
    pub seed: u64,
    /// The first input; `None`: chunks spread over all inputs.
    pub first: Option<u64>,
    /// Number of inputs, rounded up to whole chunks; `None`: all on hardware, a few chunks in simulation.
    pub cases: Option<u64>,
    /// Causes of differences that are listed.
    pub max_mismatches: usize,
}

/// The result of a sweep.
#[derive(Debug, Clone)]
pub struct SweepResult {
    /// The execution on the device.
    pub execution: Execution,
    /// The chunks that were swept.
    pub chunks: Chunks,
    /// Inputs that were executed.
    pub inputs: u64,
    /// Counts and digests.
    pub swept: Swept,
    /// Digest of the digests of all chunks.
    pub digest: u64,
    /// The causes of differences, each with its first result.
    pub differences: Vec<Difference>,
}

/// Sweeps an instruction on a device; `results` has the result so far, also after an error.
///
/// A device without scalar instructions simulates: the rule's exact evaluation is compared with the engine's.
///
/// # Errors
/// A request error for a form that nothing executes; whatever the device reports; an interruption.
pub fn run(device: &mut dyn Device, request: &SweepRequest, results: &mut Vec<SweepResult>) -> Result<()> {
    let SweepRequest { form, seed, .. } = *request;
    if let Some(missing) = form.missing() {
        return Err(Error::unavailable(format!("{form}: {missing}")));
    }
    let space = Space::new(form, seed);
    let Some(sweeps) = device.sweeps() else {
        // A model simulates the instructions of its generation.
        if let Some(model) = device.model().filter(|model| !model.has(form.support)) {
            return Err(model.lacks(&form.ptx, form.support));
        }
        let execution = Execution { kind: ExecutionKind::Simulated, opcodes: Vec::new() };
        let all = chunks(request, space.size(), SIMULATED_CHUNKS);
        let (swept, chunks, ended) = paced(all, &mut |chunks| Ok(simulate(form, seed, chunks)));
        let result =
            |difference: &DifferenceGroup| Ok(rule_and_engine(form, &space, difference.index, difference.lane).1);
        results.extend(outcome(request, execution, chunks, swept, result)?);
        return ended;
    };
    let mut sweeper = sweeps.sweeper(form, seed)?;
    let execution = sweeper.execution().clone();
    let all = chunks(request, space.size(), u64::MAX);
    let (swept, chunks, ended) = paced(all, &mut |chunks| sweeper.sweep(chunks));
    let result = |difference: &DifferenceGroup| {
        let registers = sweeper.results(difference.index / CHUNK)?;
        let bits = container_bits(form.result);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        Ok(registers[(difference.index % CHUNK) as usize] >> (bits as usize * difference.lane) & mask)
    };
    results.extend(outcome(request, execution, chunks, swept, result)?);
    ended
}

/// Sweeps chunks: the result, the swept chunks, and an ending error.
fn paced(all: Chunks, sweep: &mut dyn FnMut(Chunks) -> Result<Swept>) -> (Swept, Chunks, Result<()>) {
    let (mut swept, mut done) = (Swept::nothing(), 0);
    let outcome = work::ranges(all.count, Pace::new(1, all.count), |range| {
        let part = Chunks { first: all.first + range.start * all.step, count: range.end - range.start, ..all };
        swept.add(sweep(part)?);
        done = range.end;
        Ok(())
    });
    (swept, Chunks { count: done, ..all }, outcome)
}

fn chunks(request: &SweepRequest, size: u64, most: u64) -> Chunks {
    let wanted = request.cases.map(|cases| cases.div_ceil(CHUNK));
    match request.first {
        None => Chunks::spread(size, wanted.unwrap_or(most)),
        Some(first) => {
            let (first, all) = (first.min(size - 1) / CHUNK, size.div_ceil(CHUNK));
            Chunks { first, step: 1, count: wanted.unwrap_or(most).clamp(1, all - first) }
        }
    }
}

fn outcome(
    request: &SweepRequest,
    execution: Execution,
    chunks: Chunks,
    swept: Swept,
    mut result: impl FnMut(&DifferenceGroup) -> Result<u64>,
) -> Result<Option<SweepResult>> {
    if chunks.count == 0 {
        return Ok(None);
    }
    let form = request.form;
    let space = Space::new(form, request.seed);
    let (subject, mut kinds, mut differences) = (Subject::Scalar(form), Kinds::default(), Vec::new());
    for alike in &swept.differences {
        let [a, b, c] = space.operands(alike.index, alike.lane);
        let count = form.operation.operands();
        let b = if count > 1 { vec![b] } else { Vec::new() };
        let case = Case::dense(vec![a], b, if count > 2 { c } else { 0 });
        let model = rule_and_engine(form, &space, alike.index, alike.lane).0;
        let difference =
            Difference::of(ResultPlace::Lane(alike.index, alike.lane), Answer { case, device: result(alike)?, model });
        kinds.add(&subject, Difference { count: alike.count, ..difference });
    }
    kinds.causes(&subject, request.max_mismatches, &mut |_| Ok(()), &mut differences)?;
    let digest = fnv1a(swept.digests.iter().flat_map(|digest| digest.to_le_bytes()).collect::<Vec<u8>>().iter());
    Ok(Some(SweepResult { execution, chunks, inputs: chunks.inputs(space.size()), swept, digest, differences }))
}

fn rule_and_engine(form: &Form, space: &Space<'_>, index: u64, lane: usize) -> (u64, u64) {
    let rule = ScalarRule::new(form).expect("a swept instruction has a rule");
    let operands = space.operands(index, lane);
    let expected = rule.result(operands);
    (expected, FastRule::new(&rule).map_or(expected, |fast| fast.result(operands)))
}

/// A sweep on the processor: the rule evaluated exactly, and by the engine where it can.
pub fn simulate(form: &'static Form, seed: u64, chunks: Chunks) -> Swept {
    let start = Instant::now();
    let (space, rule) = (Space::new(form, seed), ScalarRule::new(form).expect("a swept instruction has a rule"));
    let fast = FastRule::new(&rule);
    let parts = parallel::map(chunks.numbers(), |number| simulate_chunk(&space, &rule, fast.as_ref(), number));
    ChunkTally::swept(parts, start.elapsed().as_secs_f64())
}

fn simulate_chunk(
    space: &Space<'_>,
    rule: &ScalarRule<'static>,
    fast: Option<&FastRule<'_>>,
    number: u64,
) -> ChunkTally {
    let form = rule.form();
    let bits = container_bits(form.result) as usize;
    let mut tally = ChunkTally::new(form);
    for index in number * CHUNK..((number + 1) * CHUNK).min(space.size()) {
        let mut register = 0;
        for lane in 0..form.lanes {
            let operands = space.operands(index, lane);
            let result = rule.result(operands);
            register |= result << (bits * lane);
            tally.add(index, lane, operands, result, fast.map_or(result, |fast| fast.result(operands)));
        }
        tally.digest(index, register);
    }
    tally
}
