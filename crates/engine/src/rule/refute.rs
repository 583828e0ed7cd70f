//! Runs of changed rules over data, until each is refuted.

use std::{ops::Range, path::Path};

use super::{Change, ChangePair, Changed, RulePair, changed, changes, pair::pairs, proof};
use crate::{
    Result, Stage,
    arithmetic::{Evaluator, Model},
    base::{
        parallel,
        work::{self, Pace},
    },
    inputs::Sequence,
    isa::{Case, Codes, Instruction, Tiles},
    trace::Trace,
};

/// Outputs of the first batch, which refutes most changes, and of the largest.
const FIRST_BATCH: u64 = 1 << 8;
const LARGEST_BATCH: u64 = 1 << 15;

/// Data that can refute a change.
pub struct RefutingData {
    /// File, or instruction and seed.
    pub name: String,
    /// Instruction with the size of its tiles.
    part: Instruction,
    data: Data,
    /// True if changes that are proved unobservable are not compared.
    trusts_proofs: bool,
}

enum Data {
    /// Recorded inputs and outputs.
    Trace(Box<Trace>),
    /// First tiles of the verification stream, whose outputs the unchanged rule gives.
    Stream { sequence: Sequence, tiles: u64 },
}

impl RefutingData {
    /// Reads recordings.
    ///
    /// # Errors
    /// A file that is not a recording.
    pub fn read(files: &[String], watch: &mut dyn FnMut(Stage)) -> Result<Vec<RefutingData>> {
        let read = |file: &String| {
            watch(Stage::of(&format!("reading {file}")));
            Ok(RefutingData::recorded(file, Trace::read(Path::new(file))?))
        };
        files.iter().map(read).collect()
    }

    /// Makes data of a recording.
    pub fn recorded(name: &str, trace: Trace) -> RefutingData {
        let part = Instruction { m: trace.m, n: trace.n, ..trace.instruction.clone() };
        RefutingData { name: name.into(), part, data: Data::Trace(Box::new(trace)), trusts_proofs: false }
    }

    /// Makes data of `cases` cases of the verification stream, rounded up to whole tiles.
    pub fn stream(instruction: &Instruction, seed: u64, cases: u64) -> RefutingData {
        let tiles = cases.div_ceil((instruction.m * instruction.n) as u64);
        let data = Data::Stream { sequence: Sequence::Random { seed }, tiles };
        let name = format!("{instruction}, seed {seed}");
        RefutingData { name, part: instruction.clone(), data, trusts_proofs: false }
    }

    /// The same data, which no change meets that is proved unobservable.
    #[must_use]
    pub fn trusting_proofs(self) -> RefutingData {
        RefutingData { trusts_proofs: true, ..self }
    }

    /// The instruction with the size of its tiles.
    pub fn instruction(&self) -> &Instruction {
        &self.part
    }

    fn tiles(&self) -> u64 {
        match &self.data {
            Data::Trace(trace) => trace.count() as u64,
            Data::Stream { tiles, .. } => *tiles,
        }
    }

    /// Outputs.
    pub fn cases(&self) -> u64 {
        self.tiles() * self.each()
    }

    /// Operands and output of a case; the unchanged rule is `original`.
    pub(super) fn witness(&self, place: &Refutation, original: &Candidate) -> (Case, u64) {
        let (tiles, recorded) = self.batch(place.tile, place.tile + 1);
        let (row, column) = (place.row as usize, place.column as usize);
        let case = tiles.case(&self.part, 0, row, column);
        let output = recorded.map(|codes| codes.get(row * self.part.n + column));
        let given = || original.evaluators[place.source].as_ref().map_or(0, |evaluator| evaluator.dot(&case));
        (case.clone(), output.unwrap_or_else(given))
    }

    fn each(&self) -> u64 {
        (self.part.m * self.part.n) as u64
    }

    /// Inputs of the tiles `from..to`, and recorded outputs.
    fn batch(&self, from: u64, to: u64) -> (Tiles, Option<Codes>) {
        match &self.data {
            Data::Trace(trace) => {
                let (from, to, each) = (from as usize, to as usize, self.each() as usize);
                (trace.tiles(from, to), Some(trace.d.slice(from * each, to * each)))
            }
            Data::Stream { sequence, .. } => (sequence.tiles(&self.part, from, (to - from) as usize), None),
        }
    }
}

/// Place of an output that refutes a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Refutation {
    /// Source, by its place in the list.
    pub source: usize,
    /// Tile.
    pub tile: u64,
    /// Row of D.
    pub row: u64,
    /// Column of D.
    pub column: u64,
    /// Number of the case, from 1, over all sources of the rule.
    pub case: u64,
}

impl Refutation {
    /// The place of an output of the only source, by its number.
    pub(super) fn of(output: u64, part: &Instruction) -> Refutation {
        let (each, n) = ((part.m * part.n) as u64, part.n as u64);
        let (tile, row, column) = (output / each, output % each / n, output % n);
        Refutation { source: 0, tile, row, column, case: output + 1 }
    }
}

/// The verdict on a change.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeVerdict {
    /// The first output that contradicts it.
    Refuted(Refutation),
    /// No output contradicts it.
    Survives,
    /// No operands can show it, for this reason.
    CannotBeObserved(String),
}

/// A rule and the verdicts on its changes.
#[derive(Debug, Clone)]
pub struct Tested {
    /// The rule.
    pub rule: Changed,
    /// Patterns of the rule.
    pub patterns: Vec<String>,
    /// Sources with instructions of the rule, by their places in the list.
    pub sources: Vec<usize>,
    /// Compared outputs of these sources.
    pub cases: u64,
    /// Output that refutes the unchanged rule.
    pub refuted: Option<Refutation>,
    /// Changes with their verdicts.
    pub changes: Vec<(Change, ChangeVerdict)>,
    /// Pairs of changes of near keys that no output contradicts, while one of the keys is decided alone.
    pub pairs: Vec<ChangePair>,
}

/// Tests the rules of `model` for which `sources` has data, and adds each to `tested`.
///
/// # Errors
/// The model does not cover an instruction; an interruption, after which the last rule has the cases until then.
pub fn refute(
    model: &Model,
    sources: &[RefutingData],
    tested: &mut Vec<Tested>,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let mut all: Vec<Tested> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let rule = Changed::of(model, &source.part)?;
        match all.iter_mut().find(|tested| tested.rule.index == rule.index) {
            Some(tested) => tested.sources.push(at),
            None => {
                let patterns = model.rules[rule.index].instructions.clone();
                let (changes, pairs) = (Vec::new(), Vec::new());
                all.push(Tested { rule, patterns, sources: vec![at], cases: 0, refuted: None, changes, pairs });
            }
        }
    }
    let (mut done, total) = (0, sources.iter().map(RefutingData::cases).sum());
    for mut rule in all {
        let what = format!("changing rule {} of {}", rule.rule.index + 1, model.name);
        let outcome = test(model, sources, &mut rule, &mut |cases| {
            done += cases;
            progress(Stage { what: &what, done, total });
        });
        if rule.cases > 0 {
            tested.push(rule);
        }
        outcome?;
    }
    Ok(())
}

/// The unchanged rule, a change or two changes under test.
pub(super) struct Candidate {
    pub(super) changes: Vec<Change>,
    /// Evaluator for each source of the rule; `None` if the changed rule does not apply to its instruction.
    pub(super) evaluators: Vec<Option<Evaluator>>,
    pub(super) place: Option<Refutation>,
    pub(super) proof: Option<String>,
}

fn test(model: &Model, sources: &[RefutingData], tested: &mut Tested, compared: &mut dyn FnMut(u64)) -> Result<()> {
    compared(0);
    let tested_sources: Vec<&RefutingData> = tested.sources.iter().map(|at| &sources[*at]).collect();
    let truths = tested_sources.iter().map(|source| model.evaluator(&source.part)).collect::<Result<Vec<_>>>()?;
    let mut all: Vec<Change> = Vec::new();
    for source in &tested_sources {
        for change in changes(&tested.rule.rule, &source.part) {
            if !all.iter().any(|known| known.key == change.key && known.to == change.to) {
                all.push(change);
            }
        }
    }
    let rule = &tested.rule;
    let evaluators = truths.iter().cloned().map(Some).collect();
    let original = Candidate { changes: Vec::new(), evaluators, place: None, proof: None };
    let changed = work::map(all, |change| Ok(candidate(rule, change, &tested_sources, &truths)))?;
    let mut candidates: Vec<Candidate> = std::iter::once(original).chain(changed.into_iter().flatten()).collect();
    let refute_all = |candidates: &mut [Candidate], compared: &mut dyn FnMut(u64)| {
        let mut before = 0;
        let outcome = tested_sources.iter().zip(&truths).enumerate().try_for_each(|(number, (source, truth))| {
            compare(source, number, truth, candidates, &mut |cases| {
                before += cases;
                compared(cases);
                before
            })
        });
        (before, outcome)
    };
    let (cases, mut outcome) = refute_all(&mut candidates, compared);
    (tested.cases, tested.refuted) = (cases, candidates[0].place);
    tested.changes = candidates.iter().filter_map(|one| Some((one.changes.first()?.clone(), verdict(one)))).collect();
    if tested.refuted.is_none() {
        let mut joint = pairs(tested, &candidates, &tested_sources);
        if outcome.is_ok() && !joint.is_empty() {
            outcome = refute_all(&mut joint, &mut |_| ()).1;
        }
        joint.retain(|pair| pair.place.is_none());
        tested.pairs = joint.into_iter().filter_map(|pair| Some(ChangePair(pair.changes.try_into().ok()?))).collect();
    }
    let refutations = tested.changes.iter_mut().filter_map(|(_, verdict)| match verdict {
        ChangeVerdict::Refuted(place) => Some(place),
        _ => None,
    });
    refutations.chain(&mut tested.refuted).for_each(|place| place.source = tested.sources[place.source]);
    outcome
}

fn verdict(candidate: &Candidate) -> ChangeVerdict {
    match (candidate.place, &candidate.proof) {
        (Some(place), _) => ChangeVerdict::Refuted(place),
        (None, Some(reason)) => ChangeVerdict::CannotBeObserved(reason.clone()),
        (None, None) => ChangeVerdict::Survives,
    }
}

/// Makes the candidate of a change; `None` if it gives no rule for any source.
fn candidate(rule: &Changed, change: Change, sources: &[&RefutingData], truths: &[Evaluator]) -> Option<Candidate> {
    let changed = changed(&rule.rule, [&change])?;
    let evaluators: Vec<Option<Evaluator>> =
        sources.iter().map(|source| Evaluator::of(&changed, &source.part).ok()).collect();
    let reasons = sources.iter().zip(truths).zip(&evaluators).filter_map(|((source, truth), other)| {
        let evaluators = [truth, other.as_ref()?];
        let rules = [&rule.rule, &changed];
        Some(proof(&RulePair { instruction: &source.part, rules, evaluators }, &change.key))
    });
    // A change is unobservable only if it is for every instruction.
    let proof = reasons.collect::<Option<Vec<String>>>().and_then(|reasons| reasons.into_iter().next());
    let is_rule = evaluators.iter().any(Option::is_some);
    is_rule.then_some(Candidate { changes: vec![change], evaluators, place: None, proof })
}

/// Compares the outputs of a source with every candidate that is not refuted.
/// `compared` adds to the cases of all sources and returns their number.
///
/// # Errors
/// An interruption.
fn compare(
    source: &RefutingData,
    number: usize,
    truth: &Evaluator,
    candidates: &mut [Candidate],
    compared: &mut dyn FnMut(u64) -> u64,
) -> Result<()> {
    let each = source.each();
    let (pace, mut before) = (Pace::new(FIRST_BATCH / each, LARGEST_BATCH / each), compared(0));
    work::ranges(source.tiles(), pace, |Range { start: from, end: to }| {
        let (tiles, recorded) = source.batch(from, to);
        let expected = recorded.unwrap_or_else(|| truth.execute(&tiles));
        // Neighbours are run even if a proof says that they cannot be refuted: that tests the proof.
        let standing = |candidate: &&mut Candidate| {
            let is_trusted = source.trusts_proofs || candidate.changes.iter().any(|change| change.ranged);
            candidate.place.is_none() && !(candidate.proof.is_some() && is_trusted)
        };
        parallel::each(candidates.iter_mut().filter(standing), |candidate| {
            let Some(evaluator) = &candidate.evaluators[number] else { return };
            let outputs = evaluator.execute_here(&tiles);
            if outputs.as_bytes() == expected.as_bytes() {
                return;
            }
            let differs = (0..expected.len()).find(|at| outputs.get(*at) != expected.get(*at));
            candidate.place = differs.map(|at| {
                let (place, case) = (Refutation::of(from * each + at as u64, &source.part), before + at as u64 + 1);
                Refutation { source: number, case, ..place }
            });
        });
        before = compared((to - from) * each);
        Ok(())
    })
}
