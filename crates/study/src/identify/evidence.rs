//! The inputs that decided the keys of a rule, reduced and asked again.
//!
//! A reduced input has the fewest terms and the simplest values that still decide.

use std::time::Duration;

use super::Identification;
use crate::{
    Result,
    arithmetic::Evaluator,
    base::parallel,
    bench::Bench,
    comparison::shrink as reduction,
    device::{Batches, Device},
    inputs::Sequence,
    isa::{Case, Codes, Tiles},
    rule::{Change, ChangeVerdict, Tested, deciding, searched_survivors},
};

/// Largest number of cases that one reduction tries.
const BUDGET: usize = 8_000;
/// Tiles of the stream that are searched for one on which open rules differ.
pub(super) const LOOKED_THROUGH: usize = 1 << 9;
/// Largest number of times that open rules are asked for.
const ROUNDS: usize = 8;
/// Tiles by which values that only a search tries are sifted.
const FEW: usize = 24;

/// An input that refutes another value of a key.
#[derive(Debug, Clone)]
pub struct Refuting {
    /// The change that it refutes: of all refuted changes of a key, the last one.
    pub change: Change,
    /// The operands.
    pub case: Case,
    /// The answer of the device.
    pub answer: u64,
}

/// Finds, for each key with refuted values, the asked input that refuted the last of them.
pub fn evidence(identification: &Identification, tested: &Tested) -> Vec<Refuting> {
    let mut last: Vec<(&Change, u64)> = Vec::new();
    for (change, verdict) in &tested.changes {
        let ChangeVerdict::Refuted(at) = verdict else { continue };
        match last.iter_mut().find(|(other, _)| other.key == change.key) {
            Some(entry) if entry.1 > at.case => {}
            Some(entry) => *entry = (change, at.case),
            None => last.push((change, at.case)),
        }
    }
    let part = identification.asked.part();
    let refuting = |(change, number): (&Change, u64)| {
        let output = number as usize - 1;
        let (tile, place) = (output / (part.m * part.n), output % (part.m * part.n));
        let case = identification.asked.inputs.case(&part, tile, place / part.n, place % part.n);
        Refuting { change: change.clone(), case, answer: identification.asked.d.get(output) }
    };
    last.into_iter().map(refuting).collect()
}

/// Reduces the inputs; the answers are the rule's, and inputs that cannot be reduced are left out.
pub fn reduced(identification: &Identification, tested: &Tested, evidence: &[Refuting]) -> Vec<Refuting> {
    let part = identification.asked.part();
    let Some(evaluator) = identification.model().and_then(|model| model.evaluator(&part).ok()) else {
        return Vec::new();
    };
    let simpler = |refuting: &Refuting| {
        let other = tested.rule.model(Some(&refuting.change))?.evaluator(&part).ok()?;
        let case = simplest(&refuting.case, [&evaluator, &other])?;
        Some(Refuting { answer: evaluator.dot(&case), case, change: refuting.change.clone() })
    };
    parallel::map(evidence, simpler).into_iter().flatten().collect()
}

/// Reduces a case on which two rules differ to the simplest one that is found.
fn simplest(case: &Case, [evaluator, other]: [&Evaluator; 2]) -> Option<Case> {
    let i = &evaluator.program().instruction;
    let differs = |case: &Case| evaluator.dot(case) != other.dot(case);
    reduction::shrink(i, case, BUDGET, &mut |cases| Ok(cases.iter().position(differs))).ok()?
}

/// Asks the device for reduced inputs, in at most `most` tiles.
///
/// A reduced input replaces its original if the device answers as the rule does; otherwise the rule misses one more output. The asked tiles
/// are added to the tiles of the search.
///
/// # Errors
/// The device fails, or is not a function of its operands.
pub fn ask_reduced(
    device: &mut dyn Device,
    identification: &mut Identification,
    evidence: &mut [Refuting],
    reduced: Vec<Refuting>,
    most: u64,
) -> Result<()> {
    let part = identification.asked.part();
    let mut tiles = Tiles::zeros(&part, reduced.len().min(most as usize));
    for (at, refuting) in reduced.iter().enumerate().take(tiles.count) {
        tiles.place(&part, at, 0, 0, &refuting.case);
    }
    let answers = ask(device, identification, &tiles, most)?;
    let each = part.m * part.n;
    let answered = answers.len() / each;
    for (at, refuting) in reduced.into_iter().enumerate().take(answered) {
        let entry = evidence.iter_mut().find(|entry| entry.change.key == refuting.change.key);
        match entry.filter(|_| answers.get(at * each) == refuting.answer) {
            Some(entry) => *entry = refuting,
            None => identification.misses += 1,
        }
    }
    Ok(())
}

/// Asks the device where the rules that give every answer differ, until no such tile is found.
///
/// At most `most` tiles are asked. Rules that an answer contradicts are no longer open; an answer that the rule does not give counts as
/// missed. They all give one answer to the questions of the measurement, which need not be asked again.
///
/// # Errors
/// The device fails, or is not a function of its operands.
pub fn ask_open(
    device: &mut dyn Device,
    identification: &mut Identification,
    tested: &mut Tested,
    seed: u64,
    most: u64,
) -> Result<()> {
    let part = identification.asked.part();
    let Some(evaluator) = identification.model().and_then(|model| model.evaluator(&part).ok()) else { return Ok(()) };
    let before = identification.executions;
    let stream = |from: usize, count| Sequence::Random { seed }.tiles(&part, from as u64, count);
    let unseen = stream(identification.asked.count(), FEW);
    let mut open = tested.survivors(&part);
    open.extend(searched_survivors(&tested.rule.rule, &evaluator, [&identification.asked.inputs, &unseen], |key| {
        identification.is_measured(key)
    }));
    for _ in 0..ROUNDS {
        let first = identification.asked.count();
        let (tiles, _) = deciding(&evaluator, &open, &stream(first, LOOKED_THROUGH));
        let left = most.saturating_sub(identification.executions - before);
        let answers = ask(device, identification, &tiles, left)?;
        let tiles = tiles.slice(0, answers.len() / (part.m * part.n));
        tested.judge(&mut open, &tiles, &answers, first);
        let given = evaluator.execute(&tiles);
        identification.misses += (0..answers.len()).filter(|at| given.get(*at) != answers.get(*at)).count();
        if identification.misses > 0 || open.is_empty() || answers.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Asks the device for the first of these tiles, at most `most`, and adds them to the asked tiles.
fn ask(device: &mut dyn Device, identification: &mut Identification, tiles: &Tiles, most: u64) -> Result<Codes> {
    let part = identification.asked.part();
    if tiles.count == 0 || most == 0 {
        return Ok(Codes::zeros(part.d, 0));
    }
    device.prepare(&identification.instruction)?;
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, &identification.instruction).within(most, Duration::MAX);
    bench.recall(&identification.asked.inputs, &identification.asked.d)?;
    let answers = bench.ask(tiles)?;
    identification.executions += bench.executions();
    identification.asked.inputs.extend(&tiles.slice(0, answers.len() / (part.m * part.n)));
    identification.asked.d.extend(&answers);
    Ok(answers)
}
