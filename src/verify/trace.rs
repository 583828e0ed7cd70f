//! Verification of one recording: every recorded output against another device, in every bit.
//!
//! A recording cannot be asked new questions. Its differences are therefore grouped by [`Signature`], each with its simplest recorded
//! case. If a model gives every recorded output, it stands in for the recording, and the case is reduced between two models (see
//! [`reduce`]).

use std::collections::BTreeMap;

use super::shrink::{Compared, shrink};
use crate::{
    Error, Result,
    arithmetic::{Model, shipped},
    comparison::{
        Answer, Complexity, Difference, Nans, ResultPlace, Signature, Subject, VerificationRow, shrink::BUDGET,
    },
    device::{Batches, Device, DeviceName, Execution, Spot},
    isa::Case,
    report::grouped,
    trace::Trace,
};

/// Cases of a signature among which the simplest is found.
const MOST_LOOKED_AT: u64 = 10_000;

/// The comparison of one trace with a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Outputs compared: all recorded ones, unless the comparison was stopped.
    pub compared: u64,
    /// Outputs whose codes differ.
    pub differing: u64,
    /// The simplest of the first 10,000 cases of each signature, with its count.
    /// `device` is the recorded code, `model` the judge's.
    pub differences: Vec<Difference>,
    /// Execution of the instruction by the judge.
    pub execution: Execution,
    /// The signal or failure that stopped the comparison.
    pub stopped: Option<Error>,
}

/// Compares every recorded output with that of `judge`, and keeps `keep` signatures of differences.
/// Codes are compared, not values: signs of zeros count, and NaN codes as `nans` says.
///
/// # Errors
/// The device does not execute the instruction, fails, or answers short, before an output is compared; an interruption before that.
pub fn verify(trace: &Trace, judge: &mut dyn Device, keep: usize, nans: Nans) -> Result<Verification> {
    let execution = judge.prepare(&trace.instruction)?;
    let (mut tiles, mut differing, mut groups) = (0, 0, Groups::default());
    let outcome = compare(trace, judge, nans, &mut tiles, &mut |difference| {
        differing += 1;
        groups.add(trace, difference, keep);
        true
    });
    let compared = (tiles * trace.m * trace.n) as u64;
    let stopped = match outcome {
        Err(error) if tiles == 0 => return Err(error),
        outcome => outcome.err(),
    };
    Ok(Verification { compared, differing, differences: groups.differences(), execution, stopped })
}

/// Calls `found` for every output that differs, in order, until it returns false.
/// `tiles` counts the compared tiles.
fn compare(
    trace: &Trace,
    judge: &mut dyn Device,
    nans: Nans,
    tiles: &mut usize,
    found: &mut dyn FnMut(Difference) -> bool,
) -> Result<()> {
    let each = trace.m * trace.n;
    let mut batches = Batches::default();
    while *tiles < trace.count() {
        let (from, to) = (*tiles, trace.count().min(*tiles + batches.size(trace.part().tile_bytes())));
        let part = trace.tiles(from, to);
        let computed = batches.execute(judge, &trace.instruction, (trace.m, trace.n), &part)?;
        *tiles = to;
        let recorded = trace.d.slice(from * each, to * each);
        if recorded == computed {
            continue;
        }
        let differs = |(at, code): &(usize, u64)| !nans.agree(trace.instruction.d, recorded.get(*at), *code);
        for (at, code) in computed.iter().enumerate().filter(differs) {
            let answers = (recorded.get(at), code);
            if !found(difference(trace, from * each + at, answers)) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The difference at output number `at` of a trace: the codes of a device and of the model.
pub(super) fn difference(trace: &Trace, at: usize, (device, model): (u64, u64)) -> Difference {
    let part = trace.part();
    let (tile, row, column) = (at / (part.m * part.n), at / part.n % part.m, at % part.n);
    let case = trace.inputs.case(&part, tile, row, column);
    let spot = Spot { tile: tile as u64, row: row as u32, column: column as u32 };
    Difference::found(ResultPlace::Output(spot), Answer { case, device, model })
}

/// Differences by their signatures.
#[derive(Default)]
pub(super) struct Groups {
    /// Place of each signature in `groups`.
    known: BTreeMap<Signature, usize>,
    groups: Vec<(Complexity, Difference)>,
}

impl Groups {
    /// Adds a difference, unless it has a new signature beyond `keep`.
    pub(super) fn add(&mut self, trace: &Trace, difference: Difference, keep: usize) {
        let instruction = &trace.instruction;
        let signature = Signature::of(&Subject::Matrix(instruction), &difference.found);
        let Some(&at) = self.known.get(&signature) else {
            if self.groups.len() < keep {
                self.known.insert(signature, self.groups.len());
                self.groups.push((Complexity::of(instruction, &difference.found.case), difference));
            }
            return;
        };
        let (cost, simplest) = &mut self.groups[at];
        let count = simplest.count + 1;
        if count <= MOST_LOOKED_AT {
            let other = Complexity::of(instruction, &difference.found.case);
            if other < *cost {
                (*cost, *simplest) = (other, difference);
            }
        }
        simplest.count = count;
    }

    pub(super) fn differences(self) -> Vec<Difference> {
        self.groups.into_iter().map(|(_, difference)| difference).collect()
    }
}

/// Reduces the differences of a recording with a model that gives every recorded output.
/// Returns its name; without such a model nothing is reduced. Differences with the same reduced case become one.
///
/// The model and `judge` differ on a reduced case; the recorded device's answer to it is unknown.
///
/// # Errors
/// The device fails; an interruption. Differences that were reduced before stay so.
pub fn reduce(trace: &Trace, judge: &mut dyn Device, found: &mut Verification, nans: Nans) -> Result<Option<String>> {
    if found.differences.is_empty() {
        return Ok(None);
    }
    let Some(model) = stand_in(trace, nans)? else { return Ok(None) };
    let evaluator = model.evaluator(&trace.instruction)?;
    let mut pair = Compared { device: judge, model: &evaluator, instruction: &trace.instruction, nans };
    // The model stands in for the device that recorded.
    let swapped = |Answer { case, device, model }| Answer { case, device: model, model: device };
    reduce_with(trace, &mut found.differences, &mut |spot, case| {
        Ok(shrink(&mut pair, spot, case, BUDGET)?.map(swapped))
    })?;
    Ok(Some(model.name))
}

/// Reduces each difference by `shrink`; differences with the same reduced case become one.
/// After an error the rest stays.
pub(super) fn reduce_with(
    trace: &Trace,
    differences: &mut Vec<Difference>,
    shrink: &mut dyn FnMut(&Spot, &Case) -> Result<Option<Answer>>,
) -> Result<()> {
    let outcome = differences.iter_mut().try_for_each(|difference| {
        if let ResultPlace::Output(spot) = difference.place {
            let tile = trace.padded(spot.tile as usize, spot.tile as usize + 1);
            let case = tile.case(&trace.instruction, 0, spot.row as usize, spot.column as usize);
            difference.reduced = shrink(&spot, &case)?;
        }
        Ok(())
    });
    let mut reduced: Vec<Difference> = Vec::new();
    for difference in std::mem::take(differences) {
        let same = |other: &&mut Difference| other.reduced.is_some() && other.reduced == difference.reduced;
        match reduced.iter_mut().find(same) {
            Some(other) => other.count += difference.count,
            None => reduced.push(difference),
        }
    }
    *differences = reduced;
    outcome
}

/// The model that gives every recorded output.
fn stand_in(trace: &Trace, nans: Nans) -> Result<Option<Model>> {
    let own = trace.metadata.get("device").map(|device| DeviceName::from(device.as_str()));
    let shipped = shipped().map(str::to_string);
    for name in own.iter().filter_map(DeviceName::model).map(str::to_string).chain(shipped) {
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
