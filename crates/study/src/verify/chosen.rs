//! Chosen cases: those with certain classes, or that meet a condition, executed and compared.

use super::{
    condition::Condition,
    replay::{Replay, ReplayRequest},
};
use crate::{
    Error, Result, Stage,
    base::{interrupt, parallel},
    classes::{ClassFamily, Classes},
    comparison::{Listing, MismatchOrigin, Nans, Subject, counts_note},
    device::{Device, ModelDevice, selection},
    inputs::{Corners, Sequence},
    isa::{Case, Instruction},
    report::{Report, Table, counted, grouped},
    trace::Trace,
};

/// Cases that are drawn between two looks at an interruption.
const STEP: usize = 1 << 14;
/// Most drawn cases for a chosen one, so that a choice that nothing meets ends.
const MOST_DRAWN: u64 = 1 << 8;
/// Fewest cases that are drawn before a choice is given up.
const FEWEST_DRAWN: u64 = 1 << 18;

/// Choice of cases, and how they are compared.
#[derive(Debug, Clone)]
pub struct ChosenRequest {
    /// The instruction.
    pub instruction: Instruction,
    /// Families, one of which a case has; empty for all cases.
    pub families: Vec<ClassFamily>,
    /// Condition on the operands.
    pub condition: Option<Condition>,
    /// Chosen cases, at most.
    pub cases: u64,
    /// Seed of the stream.
    pub seed: u64,
    /// The model's name or file; `None`: the model of the device's generation.
    pub model: Option<String>,
    /// Causes of differences that are listed.
    pub keep: usize,
    /// Equality of NaN codes.
    pub nans: Nans,
}

/// Draws cases: the corners, then the stream. Returns those that are chosen, and the number drawn.
///
/// # Errors
/// An interruption.
pub fn choose(request: &ChosenRequest, classes: &Classes, watch: &mut dyn FnMut(Stage)) -> Result<(Vec<Case>, u64)> {
    let i = &request.instruction;
    let most = request.cases.saturating_mul(MOST_DRAWN).max(FEWEST_DRAWN);
    let each = i.m * i.n;
    let (mut chosen, mut drawn) = (Vec::new(), 0u64);
    let mut tile = 0u64;
    let mut batch = Corners::cases(i);
    while (chosen.len() as u64) < request.cases && drawn < if chosen.is_empty() { FEWEST_DRAWN } else { most } {
        watch(Stage { what: "choosing cases", done: chosen.len() as u64, total: request.cases });
        interrupt::check()?;
        drawn += batch.len() as u64;
        let fits = parallel::map(&batch, |case| is_chosen(request, classes, case));
        let fitting = batch.into_iter().zip(fits).filter(|(_, fits)| *fits).map(|(case, _)| case);
        chosen.extend(fitting.take(request.cases as usize - chosen.len()));
        let count = (STEP / each).max(1);
        let tiles = Sequence::Random { seed: request.seed }.tiles(i, tile, count);
        tile += count as u64;
        batch = (0..count * each).map(|at| tiles.case(i, at / each, at % each / i.n, at % i.n)).collect();
    }
    Ok((chosen, drawn))
}

/// True if a case has one of the classes, and the condition holds.
pub fn is_chosen(request: &ChosenRequest, classes: &Classes, case: &Case) -> bool {
    let dot = || classes.evaluator().dot(case);
    request.condition.as_ref().is_none_or(|condition| condition.holds(&request.instruction, case, &dot))
        && (request.families.is_empty() || classes.has_family(case, &request.families))
}

/// Chooses cases, executes them on `device`, and compares them with the model in every bit.
///
/// # Errors
/// A device or a model that lacks the instruction or fails; a choice that no drawn case meets; an interruption, after which the report
/// has the cases compared so far.
pub fn verify(
    request: &ChosenRequest,
    device: &mut dyn Device,
    report: &mut Report,
    watch: &mut dyn FnMut(Stage),
) -> Result<()> {
    let i = &request.instruction;
    let execution = device.prepare(i)?;
    let named = request.model.as_deref();
    let (name, model, note) = selection::model(named, device, std::slice::from_ref(i))?;
    report.notes.extend(note);
    report.notes.extend(request.nans.note());
    report.device = Some(device.identity().clone());
    let classes = Classes::new(model.evaluator(i)?);
    let (chosen, drawn) = choose(request, &classes, watch)?;
    if chosen.is_empty() {
        let drawn = grouped(drawn as i64);
        return Err(Error::request(format!(
            "none of {drawn} drawn cases of {i} is of this choice; widen ‹regime› or ‹where›"
        )));
    }
    let dot = |case: &Case| classes.evaluator().dot(case);
    let trace = Trace::of_cases(i, &chosen, &dot, Default::default())?;
    let mut judge = ModelDevice::open(&name)?;
    judge.prepare(i)?;
    watch(Stage::of(&format!(
        "verifying {} of {i} on {}",
        counted(chosen.len() as u64, "case"),
        device.identity().name
    )));
    let one = ReplayRequest { file: "", keep: request.keep, nans: request.nans };
    let mut replay = Replay::default();
    let outcome = replay.run(&trace, device, &mut judge, &one);
    let asked: Option<&mut dyn Device> = if outcome.is_ok() { Some(&mut *device) } else { None };
    let mut causes = Vec::new();
    let reduced = replay.causes(&trace, asked, &judge, &one, &mut causes);
    let mut row = replay.row(&trace, (device.identity(), &execution), &name, &one);
    (row.file, row.tiles, row.next_tile) = (None, None, None);
    (row.seed, row.cases) = (Some(request.seed.to_string()), Some(request.cases));
    let mut listing = Listing::default();
    for cause in &causes {
        listing.add(&Subject::Matrix(i), &MismatchOrigin::default(), cause);
    }
    report.notes.extend(counts_note(&i.name, replay.differing, &causes, request.keep as u64));
    report.seed = Some(request.seed);
    report.answer = Some(format!(
        "{} {} of {} chosen among {} drawn.",
        device.identity().name,
        match replay.differing {
            0 => format!("gives the results of {name} in all"),
            differing => format!("differs from {name} in {}", grouped(differing as i64)),
        },
        counted(replay.tiles as u64, "case"),
        grouped(drawn as i64)
    ));
    report.holds = replay.differing == 0;
    report.tables = vec![Table::of("Chosen cases compared in every bit", [row])];
    report.tables.extend(listing.table());
    outcome.and(reduced)
}
