//! The quick fingerprint: the known arithmetics that fit a device, by the test kit of an instruction.

use super::tables::FingerprintRow;
use crate::{
    Error, Result,
    bench::part,
    comparison::{Nans, Subject, operands},
    device::{Batches, Device, ask},
    distinction::{AlikeArithmetics, Kit, kit},
    inputs::{Corners, Sequence},
    isa::{Instruction, MatrixShape, Tiles},
};

/// Largest number of tiles that a device executes for a fingerprint.
pub const QUICK: usize = 64;

/// The outcome of a quick fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// The instruction.
    pub instruction: Instruction,
    /// The arithmetics that agree with every answer; each is a list of the models that have it.
    /// A list has shipped models and instructions. Several arithmetics may agree, because the kit does not separate all arithmetics.
    pub matching: Vec<Vec<(String, String)>>,
    /// Number of known arithmetics that the kit separates.
    pub known: usize,
    /// Number of inputs of the kit.
    pub inputs: usize,
    /// Number of further outputs compared with the arithmetics that give all answers of the kit.
    pub others: usize,
    /// The input, with D, that refuted the last known arithmetic: a further one, or one of the kit.
    pub refuted: Option<String>,
    /// Tiles that the device executed.
    pub executions: usize,
}

/// Asks the test kit of each instruction, as [`quick`].
/// Each outcome goes to `receive` at once.
///
/// # Errors
/// The first error that `receive` returns.
pub fn quick_all(
    device: &mut dyn Device,
    instructions: &[Instruction],
    (seed, nans): (u64, Nans),
    receive: &mut dyn FnMut(&Instruction, Result<Fingerprint>) -> Result<()>,
) -> Result<()> {
    if let Some(preparation) = device.preparation() {
        preparation.announce(instructions);
    }
    instructions.iter().try_for_each(|instruction| receive(instruction, quick(device, instruction, seed, nans)))
}

/// Asks the test kit of an instruction, and further tiles of the arithmetics with the same answers.
///
/// At most [`QUICK`] tiles are asked. If all NaN codes are equal, arithmetics that differ in nothing else all match.
///
/// # Errors
/// The device lacks the instruction, or fails; no arithmetic is known for its operands; a signal.
pub fn quick(device: &mut dyn Device, instruction: &Instruction, seed: u64, nans: Nans) -> Result<Fingerprint> {
    device.prepare(instruction)?;
    let i = instruction;
    let kit = kit(i)?;
    if kit.known.is_empty() {
        return Err(Error::request(format!(
            "no arithmetic is known for the operands of {i}; leave out ‹quick› to search for a rule"
        )));
    }
    let lanes = i.m.min(i.n);
    let mut batches = Batches::default();
    let asked = ask(device, &mut batches, i, &kit.cases, 0, 0, lanes)?;
    let mut fingerprint = Fingerprint {
        instruction: i.clone(),
        matching: Vec::new(),
        known: kit.known.len(),
        inputs: kit.cases.len(),
        others: 0,
        refuted: None,
        executions: kit.cases.len().div_ceil(lanes),
    };
    let alike = |x: &[u64], y: &[u64]| x.iter().zip(y).all(|(x, y)| nans.agree(i.d, *x, *y));
    let known: Vec<&AlikeArithmetics> = kit.known.iter().filter(|known| alike(&known.answers, &asked)).collect();
    if known.is_empty() {
        fingerprint.refuted = unlike(&kit, i, &asked, alike);
        return Ok(fingerprint);
    }
    let tiles = others(i, QUICK.saturating_sub(fingerprint.executions), seed);
    let part = part(i);
    let answers = batches.execute(device, i, MatrixShape { rows: part.m, columns: part.n }, &tiles)?;
    fingerprint.executions += tiles.count;
    fingerprint.others = answers.len();
    let generation = device.identity().generation.shipped_model().map(str::to_string);
    let generation = generation.as_deref();
    for candidate in known.iter().flat_map(|known| &known.candidates) {
        let mut differs = None;
        for at in 0..answers.len() {
            let (tile, row, column) = (at / (part.m * part.n), at / part.n % part.m, at % part.n);
            let case = tiles.case(&part, tile, row, column);
            if !nans.agree(i.d, candidate.evaluator().dot(&case), answers.get(at)) {
                let words = operands(&Subject::Matrix(i), &case);
                differs = Some(format!("{words}: {}", i.d.hex(answers.get(at))));
                break;
            }
        }
        match differs {
            None => {
                let origins =
                    candidate.origins.iter().map(|origin| (origin.model.to_string(), origin.instruction.clone()));
                let mut origins: Vec<(String, String)> = origins.collect();
                // The device's own model first.
                let is_of_device = |(model, name): &(String, String)| Some(&model[..]) == generation && *name == i.name;
                origins.sort_by_cached_key(|origin| !is_of_device(origin));
                fingerprint.matching.push(origins);
            }
            Some(_) => fingerprint.refuted = differs,
        }
    }
    fingerprint.matching.sort_by_key(|origins| origins.iter().all(|(model, _)| Some(&model[..]) != generation));
    Ok(fingerprint)
}

/// The first input of the kit that, with the inputs before it, refutes every known arithmetic; and D.
fn unlike(kit: &Kit, i: &Instruction, asked: &[u64], alike: impl Fn(&[u64], &[u64]) -> bool) -> Option<String> {
    let agree = |count: usize| kit.known.iter().any(|known| alike(&known.answers[..count], &asked[..count]));
    let at = (0..asked.len()).find(|at| !agree(at + 1))?;
    Some(format!("{}: {}", operands(&Subject::Matrix(i), &kit.cases[at]), i.d.hex(asked[at])))
}

/// Tiles of corners and of the verification stream, half of each.
fn others(i: &Instruction, count: usize, seed: u64) -> Tiles {
    let part = part(i);
    let corners = Corners::of(&part).tiles;
    let mut all = Tiles::zeros(&part, 0);
    let wanted = (count / 2).min(corners.count);
    for at in 0..wanted {
        let tile = at * corners.count / wanted;
        all.extend(&corners.slice(tile, tile + 1));
    }
    all.extend(&Sequence::Random { seed }.tiles(&part, 0, count - wanted));
    all
}

/// The row of a fingerprint.
pub fn fingerprint(fingerprint: &Fingerprint) -> FingerprintRow {
    let name = |(model, instruction): &(String, String)| match *instruction == fingerprint.instruction.name {
        true => model.clone(),
        false => format!("{model} ({instruction})"),
    };
    let words: Vec<String> =
        fingerprint.matching.iter().map(|origins| origins.iter().map(name).collect::<Vec<_>>().join(", ")).collect();
    FingerprintRow {
        instruction: fingerprint.instruction.name.clone(),
        arithmetic: (!words.is_empty()).then(|| words.join("; or ")),
        known: fingerprint.known,
        inputs: fingerprint.inputs,
        others: fingerprint.others,
        executions: fingerprint.executions,
        refuted: fingerprint.refuted.clone().filter(|_| fingerprint.matching.is_empty()),
    }
}
