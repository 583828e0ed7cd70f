//! Verification of one recording: every recorded output against another device, in every bit.
//!
//! A recording cannot be asked new questions: its causes are shown with their simplest recorded cases. If a model gives every recorded
//! output, it stands in for the recording, and the cases are reduced between two models (see [`causes`]).

use crate::campaign::shrink::{Compared, shrink};
use crate::{
    Error, Result,
    arithmetic::{Model, shipped},
    comparison::{Answer, Difference, Kinds, Nans, ResultPlace, Subject, VerificationRow, shrink::BUDGET},
    device::{Batches, Device, DeviceName, Execution, Spot},
    isa::MatrixShape,
    report::grouped,
    trace::Trace,
};

/// The comparison of one trace with a device.
#[derive(Debug, Clone)]
pub struct Verification {
    /// Outputs compared: all recorded ones, unless the comparison was stopped.
    pub compared: u64,
    /// Outputs whose codes differ.
    pub differing: u64,
    /// Kinds of differences; `device` is the recorded code, `model` the judge's.
    pub kinds: Kinds,
    /// Execution of the instruction by the judge.
    pub execution: Execution,
    /// The signal or failure that stopped the comparison.
    pub stopped: Option<Error>,
}

/// Compares every recorded output with that of `judge`, and groups the differences by kind.
/// Codes are compared, not values: signs of zeros count, and NaN codes as `nans` says.
///
/// # Errors
/// The device does not execute the instruction, fails, or answers short, before an output is compared; an interruption before that.
pub fn verify(trace: &Trace, judge: &mut dyn Device, nans: Nans) -> Result<Verification> {
    let execution = judge.prepare(&trace.instruction)?;
    let subject = Subject::Matrix(&trace.instruction);
    let (mut tiles, mut differing, mut kinds) = (0, 0, Kinds::default());
    let outcome = compare(trace, judge, nans, &mut tiles, &mut |difference| {
        differing += 1;
        kinds.add(&subject, difference);
        true
    });
    let compared = (tiles * trace.m * trace.n) as u64;
    let stopped = match outcome {
        Err(error) if tiles == 0 => return Err(error),
        outcome => outcome.err(),
    };
    Ok(Verification { compared, differing, kinds, execution, stopped })
}

/// Calls `receive` for every output that differs, in order, until it returns false.
/// `tiles` counts the compared tiles.
fn compare(
    trace: &Trace,
    judge: &mut dyn Device,
    nans: Nans,
    tiles: &mut usize,
    receive: &mut dyn FnMut(Difference) -> bool,
) -> Result<()> {
    let each = trace.m * trace.n;
    let mut batches = Batches::default();
    while *tiles < trace.count() {
        let (from, to) = (*tiles, trace.count().min(*tiles + batches.size(trace.part().tile_bytes())));
        let part = trace.tiles(from, to);
        let shape = MatrixShape { rows: trace.m, columns: trace.n };
        let computed = batches.execute(judge, &trace.instruction, shape, &part)?;
        *tiles = to;
        let recorded = trace.d.slice(from * each, to * each);
        if recorded == computed {
            continue;
        }
        let differs = |(at, code): &(usize, u64)| !nans.agree(trace.instruction.d, recorded.get(*at), *code);
        for (at, code) in computed.iter().enumerate().filter(differs) {
            if !receive(difference(trace, from * each + at, recorded.get(at), code)) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The difference at output number `at` of a trace: the codes of a device and of the model.
pub(super) fn difference(trace: &Trace, at: usize, device: u64, model: u64) -> Difference {
    let part = trace.part();
    let (tile, row, column) = (at / (part.m * part.n), at / part.n % part.m, at % part.n);
    let case = trace.inputs.case(&part, tile, row, column);
    let spot = Spot { tile: tile as u64, row: row as u32, column: column as u32 };
    Difference::of(ResultPlace::Output(spot), Answer { case, device, model })
}

/// Lists the first `keep` causes of differences in `causes`.
/// They are reduced with a model that gives every recorded output.
/// Returns its name; without such a model nothing is reduced.
///
/// The model and `judge` differ on a reduced case; the recorded device's answer to it is unknown.
///
/// # Errors
/// The device fails; an interruption. Causes that were not reduced are listed as found.
pub fn causes(
    trace: &Trace,
    judge: &mut dyn Device,
    verification: Verification,
    keep: usize,
    nans: Nans,
    causes: &mut Vec<Difference>,
) -> Result<Option<String>> {
    let subject = Subject::Matrix(&trace.instruction);
    let reduces = verification.differing > 0 && keep > 0 && verification.stopped.is_none();
    let model = if reduces { stand_in(trace, nans) } else { Ok(None) };
    let evaluator = match &model {
        Ok(Some(model)) => Some(model.evaluator(&trace.instruction)?),
        _ => None,
    };
    let outcome = verification.kinds.causes(
        &subject,
        keep,
        &mut |kind| {
            let Some(evaluator) = &evaluator else { return Ok(()) };
            let mut pair = Compared { device: judge, model: evaluator, instruction: &trace.instruction, nans };
            // The model stands in for the device that recorded.
            let swapped = |Answer { case, device, model }| Answer { case, device: model, model: device };
            kind.reduced = reduce(trace, &mut pair, kind)?.map(swapped);
            Ok(())
        },
        causes,
    );
    verification.stopped.map_or(Ok(()), Err).and(outcome)?;
    Ok(model?.map(|model| model.name))
}

/// Reduces the case of a difference in a recording.
///
/// # Errors
/// The device fails; an interruption.
pub(super) fn reduce(trace: &Trace, pair: &mut Compared, difference: &Difference) -> Result<Option<Answer>> {
    let Some(spot) = difference.place.spot() else { return Ok(None) };
    let tile = trace.padded(spot.tile as usize, spot.tile as usize + 1);
    let case = tile.case(&trace.instruction, 0, spot.row as usize, spot.column as usize);
    shrink(pair, &spot, &Answer { case, ..difference.original }, BUDGET)
}

/// The model that gives every recorded output.
fn stand_in(trace: &Trace, nans: Nans) -> Result<Option<Model>> {
    let recorder = trace.metadata.get("device").map(|device| DeviceName::from(device.as_str()));
    let shipped = shipped().map(str::to_string);
    for name in recorder.iter().filter_map(DeviceName::model).map(str::to_string).chain(shipped) {
        let Ok(mut device) = crate::device::ModelDevice::open(&name) else { continue };
        if device.prepare(&trace.instruction).is_err() {
            continue;
        }
        let mut agrees = true;
        compare(trace, &mut device, nans, &mut 0, &mut |_| {
            agrees = false;
            false
        })?;
        if agrees {
            return Ok(device.model().cloned());
        }
    }
    Ok(None)
}

/// The answer in one sentence; `None` if no output was compared.
pub fn answer(rows: &[VerificationRow]) -> Option<String> {
    let sum = |count: fn(&VerificationRow) -> u64| rows.iter().map(count).sum::<u64>() as i64;
    let (compared, differing) = (grouped(sum(|row| row.compared)), sum(|row| row.differing));
    let first = rows.first()?;
    let model = match rows.iter().all(|row| row.model == first.model) {
        true => first.model.clone(),
        false => "the models of their devices".into(),
    };
    let of = match rows {
        [row] => row.file.clone().unwrap_or_default(),
        rows => format!("{} recordings", rows.len()),
    };
    let so_far = if rows.iter().all(|row| row.finished) { "" } else { " compared so far" };
    Some(match differing {
        0 => format!("All {compared} recorded outputs of {of}{so_far} agree with {model} in every bit."),
        _ => format!("{} of {compared} recorded outputs of {of}{so_far} differ from {model}.", grouped(differing)),
    })
}

/// Makes the row of comparisons for the trace in `file` and a device called `model`.
pub fn row(file: &str, trace: &Trace, model: &str, result: &Verification, nans: Nans) -> VerificationRow {
    VerificationRow {
        file: Some(file.into()),
        instruction: trace.instruction.name.clone(),
        device: DeviceName::Trace(file.into()).to_string(),
        device_description: trace.metadata.get("description").cloned().unwrap_or_default(),
        recorded_on: trace.metadata.get("device").cloned(),
        execution: crate::device::ExecutionKind::Recorded.name().into(),
        model: model.into(),
        any_nan: nans == Nans::Alike,
        finished: result.stopped.is_none(),
        tiles: Some(trace.count() as u64),
        compared: result.compared,
        agreeing: result.compared - result.differing,
        differing: result.differing,
        ..VerificationRow::default()
    }
}
