//! Verification of recordings: every recorded output of a trace against another device, in every bit.
//!
//! A recording answers for its own operands only, so what differs cannot be reduced by asking it again. What can be done is said of it:
//! differences are grouped by their [`Signature`], each group with its simplest recorded case; and where a model gives every output that
//! was recorded, it stands in for the recording, and the case is reduced between the two models (see [`reduce`]).

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

/// Cases of a signature among which the simplest is looked for.
const MOST_LOOKED_AT: u64 = 10_000;

/// What comparing one trace with a device found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Outputs that were compared: all that were recorded, unless something stopped the comparison.
    pub compared: u64,
    /// Outputs whose codes differ.
    pub differing: u64,
    /// For each signature of them the simplest recorded case (among the first 10,000), and how many outputs have the signature: the first
    /// signatures in order of tile, row and column. `device` is the recorded code, `model` that of the device that was asked.
    pub differences: Vec<Difference>,
    /// How the device executed the instruction.
    pub execution: Execution,
    /// What stopped the comparison in the middle: a signal, or a device that failed.
    pub stopped: Option<Error>,
}

/// Compares every recorded output of `trace` with what `judge` computes from the recorded inputs, and keeps the first
/// `keep` signatures of those that differ. Codes are compared, not values: the signs of zeros count, and NaN codes as `nans` says.
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

/// Hands every output of `trace` for which `judge` computes another code to `found`, in order, until that says to stop; `tiles` is how
/// many were compared.
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

/// The output numbered `at` of a trace: a device's code of it, and that of the model.
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
    /// Where each signature stands in `groups`.
    known: BTreeMap<Signature, usize>,
    groups: Vec<(Complexity, Difference)>,
}

impl Groups {
    /// Adds a difference; of more than `keep` signatures the later ones are only counted by the caller.
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

/// Reduces the differences of a recording to minimal cases, where a model stands in for it: the one that it was recorded on, or the first
/// shipped one, that gives every recorded output. Returns its name; without such a model nothing is reduced. Differences that are reduced
/// to the same case become one.
///
/// A reduced case is one on which that model and `judge` differ: what the recorded device makes of it is not known.
///
/// # Errors
/// The device fails; an interruption. The differences are then reduced as far as they were until then.
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

/// Reduces each difference by `shrink`; those that are reduced to the same case become one. After an error the rest stays as it is.
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

/// Whether the recorded outputs are those of what they were compared with, in one sentence; `None` where not one was compared.
pub fn answer(rows: &[VerificationRow]) -> Option<String> {
    let sum = |count: fn(&VerificationRow) -> u64| rows.iter().map(count).sum::<u64>() as i64;
    let (compared, differing) = (grouped(sum(|row| row.compared)), sum(|row| row.differing));
    let first = rows.first()?;
    let model = match rows.iter().all(|row| row.model == first.model) {
        true => format!("those of {}", first.model),
        false => "those of the models of their devices".into(),
    };
    let of = match rows {
        [row] => row.file.clone().unwrap_or_default(),
        rows => format!("{} recordings", rows.len()),
    };
    let so_far = if rows.iter().all(|row| row.finished) { "" } else { " compared so far" };
    Some(match differing {
        0 => format!("All {compared} recorded outputs of {of}{so_far} are {model} in every bit."),
        _ => format!("{} of {compared} recorded outputs of {of}{so_far} differ from {model}.", grouped(differing)),
    })
}

/// The row of the table of what was compared for the trace in `file` and a device called `model`.
pub fn row(file: &str, trace: &Trace, model: &str, result: &Verification, nans: Nans) -> VerificationRow {
    VerificationRow {
        file: Some(file.into()),
        instruction: trace.instruction.name.clone(),
        device: DeviceName::Trace(file.into()).to_string(),
        device_description: trace.metadata.get("description").cloned().unwrap_or_default(),
        recorded_on: trace.metadata.get("device").cloned(),
        execution: crate::device::ExecutionKind::Recorded.name().into(),
        opcodes: Vec::new(),
        model: model.into(),
        model_name: None,
        model_digest: None,
        seed: None,
        position: None,
        cases: None,
        max_mismatches: None,
        shard: None,
        shards: None,
        tcnum: None,
        any_nan: nans == Nans::Alike,
        finished: result.stopped.is_none(),
        next_tile: None,
        tiles: Some(trace.count() as u64),
        compared: result.compared,
        agreeing: result.compared - result.differing,
        differing: result.differing,
        seconds: None,
        rate: None,
    }
}
