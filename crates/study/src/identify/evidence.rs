//! The inputs that decided the keys of a rule, reduced and asked again.
//!
//! A reduced input has the fewest terms and the simplest values that still decide.

use std::time::Duration;

use super::Identification;
use crate::{
    Result,
    arithmetic::Evaluator,
    base::{interrupt, parallel},
    bench::Bench,
    comparison::shrink as reduction,
    device::{Batches, Device},
    inputs::Sequence,
    isa::{Case, Codes, Tiles},
    rule::{Change, ChangeVerdict, Tested},
};

/// Largest number of cases that one reduction tries.
const BUDGET: usize = 8_000;
/// Tiles of the stream that are searched for one that contradicts a pair of changes.
const LOOKED_THROUGH: usize = 1 << 9;

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
pub fn evidence(found: &Identification, tested: &Tested) -> Vec<Refuting> {
    let mut last: Vec<(&Change, u64)> = Vec::new();
    for (change, verdict) in &tested.changes {
        let ChangeVerdict::Refuted(at) = verdict else { continue };
        match last.iter_mut().find(|(other, _)| other.key == change.key) {
            Some(entry) if entry.1 > at.case => {}
            Some(entry) => *entry = (change, at.case),
            None => last.push((change, at.case)),
        }
    }
    let part = found.asked.part();
    let refuting = |(change, number): (&Change, u64)| {
        let output = number as usize - 1;
        let (tile, place) = (output / (part.m * part.n), output % (part.m * part.n));
        let case = found.asked.inputs.case(&part, tile, place / part.n, place % part.n);
        Refuting { change: change.clone(), case, answer: found.asked.d.get(output) }
    };
    last.into_iter().map(refuting).collect()
}

/// Reduces the inputs; the answers are the rule's, and inputs that cannot be reduced are left out.
pub fn reduced(found: &Identification, tested: &Tested, evidence: &[Refuting]) -> Vec<Refuting> {
    let part = found.asked.part();
    let Some(own) = found.model().and_then(|model| model.evaluator(&part).ok()) else { return Vec::new() };
    let simpler = |refuting: &Refuting| {
        let other = tested.rule.model(Some(&refuting.change))?.evaluator(&part).ok()?;
        let case = simplest(&refuting.case, [&own, &other])?;
        Some(Refuting { answer: own.dot(&case), case, change: refuting.change.clone() })
    };
    parallel::map(evidence, simpler).into_iter().flatten().collect()
}

/// Reduces a case on which two rules differ to the simplest one that is found.
fn simplest(case: &Case, [own, other]: [&Evaluator; 2]) -> Option<Case> {
    let i = &own.program().instruction;
    let differs = |case: &Case| own.dot(case) != other.dot(case);
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
    found: &mut Identification,
    evidence: &mut [Refuting],
    reduced: Vec<Refuting>,
    most: u64,
) -> Result<()> {
    let part = found.asked.part();
    let mut tiles = Tiles::zeros(&part, reduced.len().min(most as usize));
    for (at, refuting) in reduced.iter().enumerate().take(tiles.count) {
        tiles.place(&part, at, 0, 0, &refuting.case);
    }
    let answers = ask(device, found, &tiles, most)?;
    let each = part.m * part.n;
    let answered = answers.len() / each;
    for (at, refuting) in reduced.into_iter().enumerate().take(answered) {
        let own = evidence.iter_mut().find(|own| own.change.key == refuting.change.key);
        match own.filter(|_| answers.get(at * each) == refuting.answer) {
            Some(own) => *own = refuting,
            None => found.misses += 1,
        }
    }
    Ok(())
}

/// Asks the device for tiles of the stream on which open pairs of changes differ from the rule.
///
/// At most `most` tiles are asked. Pairs that an answer contradicts are no longer open; an answer that the rule does not give counts as
/// missed.
///
/// # Errors
/// The device fails, or is not a function of its operands.
pub fn ask_pairs(
    device: &mut dyn Device,
    found: &mut Identification,
    tested: &mut Tested,
    seed: u64,
    most: u64,
) -> Result<()> {
    let part = found.asked.part();
    let Some(own) = found.model().and_then(|model| model.evaluator(&part).ok()) else { return Ok(()) };
    let rule = &tested.rule.rule;
    let others: Vec<_> = tested.pairs.iter().map(|pair| pair.evaluator(rule, &part)).collect();
    let stream = Sequence::Random { seed }.tiles(&part, found.asked.count() as u64, LOOKED_THROUGH);
    let mut tiles = Tiles::zeros(&part, 0);
    for other in others.iter().flatten() {
        let differs = |tiles: &Tiles| other.execute(tiles).as_bytes() != own.execute(tiles).as_bytes();
        let all = (0..stream.count).map(|at| stream.slice(at, at + 1));
        if !differs(&tiles) {
            all.take_while(|_| interrupt::pending().is_none())
                .find(differs)
                .into_iter()
                .for_each(|tile| tiles.extend(&tile));
        }
    }
    let answers = ask(device, found, &tiles, most)?;
    let tiles = tiles.slice(0, answers.len() / (part.m * part.n));
    let mut agree = others
        .iter()
        .map(|other| other.as_ref().is_none_or(|other| other.execute(&tiles).as_bytes() == answers.as_bytes()));
    tested.pairs.retain(|_| agree.next() != Some(false));
    let given = own.execute(&tiles);
    found.misses += (0..answers.len()).filter(|at| given.get(*at) != answers.get(*at)).count();
    Ok(())
}

/// Asks the device for the first of these tiles, at most `most`, and adds them to the asked tiles.
fn ask(device: &mut dyn Device, found: &mut Identification, tiles: &Tiles, most: u64) -> Result<Codes> {
    let part = found.asked.part();
    if tiles.count == 0 || most == 0 {
        return Ok(Codes::zeros(part.d, 0));
    }
    device.prepare(&found.instruction)?;
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, &found.instruction).within(most, Duration::MAX);
    bench.recall(&found.asked.inputs, &found.asked.d)?;
    let answers = bench.ask(tiles)?;
    found.executions += bench.executions();
    found.asked.inputs.extend(&tiles.slice(0, answers.len() / (part.m * part.n)));
    found.asked.d.extend(&answers);
    Ok(answers)
}
