//! The smallest inputs on which two arithmetics differ, one for each reason, or a proof of equality.
//!
//! - Two models: their rules are compared key by key. A key is a reason if an input confirms it: the first rule with the second's value
//!   of this key gives the second's result, or the reverse (best: both). Keys that no operands show are proved to be so
//!   ([`crate::rule::proof`]).
//! - Devices, and rules without a rule between them: the kinds of differences are the reasons.
//!
//! Every input is reduced to the fewest terms, then to the simplest values ([`crate::comparison::shrink`]).
//!
//! [`kit()`] is a short list of inputs that separates all known arithmetics of an instruction's operands.

mod answers;
mod candidates;
mod devices;
mod exhaustive;
mod generations;
mod kind;
mod kit;
mod padding;
mod rules;
mod search;
mod shared;
pub mod tables;
mod words;

pub use candidates::{ArithmeticOrigin, KnownArithmetic, candidates};
pub use devices::{DevicePair, DifferenceCause, InstructionDistinction};
pub use generations::{ModelAgreement, SharedKit, ShippedKnowledge, generations, shipped_knowledge};
pub use kind::DifferenceKind;
pub use kit::{AlikeArithmetics, Kit, kit};
pub use rules::{Unobservable, observable};
pub use shared::shared;
pub use words::properties;

use answers::{Answerer, Evaluators, InputBatch};
use rules::{RuleSide, Rules};
use search::{AnsweringPair, Explains, SuspectWitness, SuspectedReason, WitnessesFound, by_kind, inputs, suspects};
use std::{
    mem::take,
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    arithmetic::{KeyValue, Model},
    base::{named::Named, sentence::capitalised, work::UNASKED},
    comparison::{Complexity, Subject},
    device::Device,
    isa::{Case, Instruction},
    rule::Changed,
    steps,
};

/// Most rows and columns of the inputs of models: the cases of larger tiles are more alike.
const SHAPE: usize = 8;

/// Cases of the stream where no number is given.
const DEFAULT_CASES: u64 = 1 << 17;

/// An instruction on a device: one side of a comparison.
pub struct DeviceInstruction<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// The instruction.
    pub instruction: &'a Instruction,
}

/// Limits of the search for inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Cases of the verification stream, tried after the corners.
    pub cases: u64,
    /// The seed of the stream.
    pub seed: u64,
    /// Longest time that devices are asked new inputs; `None` for no limit.
    pub time: Option<Duration>,
}

impl SearchLimits {
    /// Limits for `cases` cases from `seed`; without `cases`, 131,072, or one minute of a device.
    pub fn new(cases: Option<u64>, seed: Option<u64>) -> SearchLimits {
        let time = if cases.is_some() { None } else { Some(UNASKED) };
        SearchLimits { cases: cases.unwrap_or(DEFAULT_CASES), seed: seed.unwrap_or(0), time }
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Distinction {
    /// The shared operands.
    pub shared: Instruction,
    /// True if they differ.
    pub verdict: DistinctionVerdict,
    /// The reasons: those with a witness, then keys that no tried input showed.
    pub reasons: Vec<DifferenceReason>,
    /// Keys that differ, and that no operands show.
    pub unobservable: Vec<Unobservable>,
    /// Number of inputs that both sides answered.
    pub tried: u64,
    /// The failure or interruption that ended the search; witnesses may then not be reduced.
    pub stopped: Option<Error>,
}

/// True if two differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DistinctionVerdict {
    /// An input gives different results.
    Differ,
    /// All operands give the same results; the proof.
    Same(String),
    /// All tried inputs give the same results, and equality is not proved.
    NotFound,
}

/// A reason why two sides differ.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceReason {
    /// The keys, with their values in both rules; empty where a rule is not known.
    pub keys: Vec<(String, [Option<KeyValue>; 2])>,
    /// The kind of the difference, where it is the reason.
    pub kind: Option<DifferenceKind>,
    /// The smallest input that confirms it, if one was found.
    pub witness: Option<Witness>,
}

/// An input on which two sides differ, with their results.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// The operands.
    pub case: Case,
    /// D of both sides.
    pub d: [u64; 2],
    /// The correctly rounded exact result; `None` where D has no code for it.
    pub exact: Option<u64>,
    /// True if this reason alone explains both results.
    pub alone: bool,
    /// The first step that differs, with both values; models only.
    pub step: Option<String>,
}

impl Distinction {
    /// Equality, with its proof.
    fn same(shared: Instruction, proof: String, unobservable: Vec<Unobservable>) -> Distinction {
        let verdict = DistinctionVerdict::Same(proof);
        Distinction { shared, verdict, reasons: Vec::new(), unobservable, tried: 0, stopped: None }
    }

    /// The result of a search.
    fn of(
        shared: Instruction,
        WitnessesFound { tried, differing, stopped, .. }: WitnessesFound,
        reasons: Vec<DifferenceReason>,
        unobservable: Vec<Unobservable>,
    ) -> Distinction {
        let verdict = if differing > 0 { DistinctionVerdict::Differ } else { DistinctionVerdict::NotFound };
        Distinction { shared, verdict, reasons, unobservable, tried, stopped }
    }
}

impl DistinctionVerdict {
    /// The words for it in reports.
    pub fn name(&self) -> &'static str {
        match self {
            DistinctionVerdict::Differ => "differ",
            DistinctionVerdict::Same(_) => "the same",
            DistinctionVerdict::NotFound => "no difference found",
        }
    }
}

impl DifferenceReason {
    /// The reason in one sentence, for sides with these names.
    pub fn sentence(&self, names: [&str; 2]) -> String {
        let kind = self.kind.map_or_else(String::new, |kind| format!(" ({})", kind.name()));
        match &self.keys[..] {
            [] => format!("{}.", self.kind.map_or("Results differ", Named::meaning)),
            [(key, values)] => {
                let [x, y] = words::values(key, values);
                format!("{}: {x} in {}, {y} in {}{kind}.", capitalised(&words::words(key)), names[0], names[1])
            }
            several => {
                if let Some((key, values)) = several.iter().find(|(key, _)| key == "step") {
                    let [x, y] = words::values(key, values);
                    let others: Vec<&str> =
                        several.iter().map(|(key, _)| &key[..]).filter(|key| *key != "step").collect();
                    let what = capitalised(&words::words(key));
                    let with = format!("and the keys that depend on it ({})", others.join(", "));
                    return format!("{what}: {x} in {}, {y} in {}, {with}{kind}.", names[0], names[1]);
                }
                let each = |(key, values): &(String, [Option<KeyValue>; 2])| {
                    let [x, y] = words::values(key, values);
                    format!("{} ({x} in {}, {y} in {})", words::words(key), names[0], names[1])
                };
                let all: Vec<String> = several.iter().map(each).collect();
                format!("{}{kind}.", capitalised(&all.join("; ")))
            }
        }
    }
}

/// Compares two sides.
///
/// # Errors
/// The instructions have different operands; a device lacks its instruction, or fails; an interruption.
pub fn distinguish(x: DeviceInstruction, y: DeviceInstruction, search: &SearchLimits) -> Result<Distinction> {
    let shared = shared(x.instruction, y.instruction)?;
    x.lacking()?;
    y.lacking()?;
    match [x.model(), y.model()] {
        [Some(one), Some(other)] => models([(&one, x.instruction), (&other, y.instruction)], shared, search),
        models => {
            // Both sides need one lifetime.
            let x = DeviceInstruction { device: &mut *x.device, ..x };
            let y = DeviceInstruction { device: &mut *y.device, ..y };
            devices([x, y], models, shared, search)
        }
    }
}

impl DeviceInstruction<'_> {
    /// The model that the device simulates.
    fn model(&self) -> Option<Model> {
        self.device.model().cloned()
    }

    /// Refuses a model that does not cover the instruction.
    fn lacking(&self) -> Result<()> {
        self.device.model().map_or(Ok(()), |model| model.evaluator(self.instruction).map(drop))
    }
}

/// Compares the rules of two models.
fn models(sides: [(&Model, &Instruction); 2], shared: Instruction, search: &SearchLimits) -> Result<Distinction> {
    let i = Instruction { m: shared.m.min(SHAPE), n: shared.n.min(SHAPE), ..shared };
    let [x, y] = sides.map(|(model, instruction)| Changed::of(model, instruction).map(|rule| rule.rule));
    // One name for both, because programs of different names are never equal.
    let instructions = sides.map(|(_, instruction)| Instruction { k: instruction.k, ..i.clone() });
    let mut rules = Rules { rules: [x?, y?], instructions, shape: (i.m, i.n) };
    between(&mut rules, i, search)
}

/// The keys that no operands show, and the proof that both rules are equal, if there is one.
fn proof(rules: &mut Rules) -> (Vec<Unobservable>, Option<String>) {
    if let Some(reason) = rules.equal() {
        return (Vec::new(), Some(reason));
    }
    let unobservable = rules.settle();
    let keys: Vec<&str> = unobservable.iter().map(|entry| &entry.key[..]).collect();
    let proved = rules.equal().map(|_| format!("no operands show the difference in {}", keys.join(" and ")));
    (unobservable, proved)
}

/// The evaluators of two rules, also as sources of answers.
fn two(rules: &Rules, i: &Instruction) -> Result<(AnsweringPair<'static>, [Evaluators; 2])> {
    let sides = [RuleSide::X, RuleSide::Y].map(|which| rules.between(which, &[]));
    let [Some(x), Some(y)] = sides else {
        return Err(Error::request(format!("{i}: a rule of the longer instruction does not fit the shared k")));
    };
    let answerers = [&x, &y].map(|evaluators| Answerer::Model(Box::new(evaluators.clone())));
    Ok((AnsweringPair { i: i.clone(), answerers }, [x, y]))
}

/// Compares two rules.
fn between(rules: &mut Rules, i: Instruction, search: &SearchLimits) -> Result<Distinction> {
    let (unobservable, proved) = proof(rules);
    if let Some(reason) = proved {
        return Ok(Distinction::same(i, reason, unobservable));
    }
    let (mut two, [x, y]) = two(rules, &i)?;
    // All inputs, where there are few.
    let asked = || -> Box<dyn Iterator<Item = InputBatch>> {
        match exhaustive::inputs(&i) {
            Some(all) => Box::new(all),
            None => Box::new(inputs(&i, search.seed, search.cases)),
        }
    };
    let mut suspects = suspects(rules);
    if suspects.is_empty() {
        suspects = by_kind(&[]);
    }
    let mut outcome = two.search(&suspects, asked())?;
    if outcome.differing == 0 && outcome.stopped.is_none() && exhaustive::inputs(&i).is_some() {
        let proof = format!("all {} inputs give the same results", outcome.tried);
        return Ok(Distinction::same(i, proof, unobservable));
    }
    // Some keys show only together.
    let hidden = |(suspect, shown): (&SuspectedReason, &Option<SuspectWitness>)| {
        (shown.is_none() && suspect.kind.is_none()).then(|| suspect.keys.clone())
    };
    let hidden: Vec<Vec<String>> = suspects.iter().zip(&outcome.shown).filter_map(hidden).collect();
    if outcome.differing > 0 && hidden.len() > 1 && outcome.stopped.is_none() {
        let keys = hidden.concat();
        let both = [RuleSide::X, RuleSide::Y].map(|which| rules.between(which, &keys));
        if let [Some(from_x), Some(from_y)] = both {
            let together = [SuspectedReason { keys, kind: None, between: Some([from_x, from_y]) }];
            let mut more = two.search(&together, asked())?;
            outcome.stopped = more.stopped;
            if let Some(shown) = more.shown.remove(0) {
                (suspects, outcome.shown) = suspects
                    .into_iter()
                    .zip(outcome.shown)
                    .filter(|(_, shown)| shown.is_some())
                    .chain(together.into_iter().map(|suspect| (suspect, Some(shown.clone()))))
                    .unzip();
            }
        }
    }
    let mut reasons = reasons(&i, suspects, take(&mut outcome.shown), Some(rules), Some([&x, &y]));
    // Different finite results become different zeros and infinities at the ends of the range: no further reason.
    let numbers = |reason: &DifferenceReason| reason.kind == Some(DifferenceKind::Finite);
    if reasons.iter().any(numbers) {
        reasons.retain(|reason| !matches!(reason.kind, Some(DifferenceKind::Zero | DifferenceKind::NonFinite)));
    }
    Ok(Distinction::of(i, outcome, reasons, unobservable))
}

/// Compares two rules without looking for reasons.
fn whether(rules: &mut Rules, i: &Instruction, search: &SearchLimits) -> Result<DistinctionVerdict> {
    if let Some(reason) = proof(rules).1 {
        return Ok(DistinctionVerdict::Same(reason));
    }
    let mut two = two(rules, i)?.0;
    for batch in inputs(i, search.seed, search.cases) {
        let outcome = two.search(&[], std::iter::once(batch))?;
        outcome.stopped.map_or(Ok(()), Err)?;
        if outcome.differing > 0 {
            return Ok(DistinctionVerdict::Differ);
        }
    }
    Ok(DistinctionVerdict::NotFound)
}

/// Compares two sides, one of them at least a device without a known rule.
fn devices(
    [x, y]: [DeviceInstruction; 2],
    models: [Option<Model>; 2],
    i: Instruction,
    search: &SearchLimits,
) -> Result<Distinction> {
    let mut answerers = Vec::new();
    for (side, model) in [x, y].into_iter().zip(&models) {
        answerers.push(match model {
            Some(model) => {
                let wide = Instruction { k: side.instruction.k, ..i.clone() };
                let rule = model.rule(side.instruction).ok_or_else(|| model.lacks(&i.name, i.support))?;
                Answerer::Model(Box::new(Evaluators::of(rule, &wide, i.m, i.n).map_err(Error::request)?))
            }
            None => {
                side.device.prepare(side.instruction)?;
                Answerer::Device(side.device, side.instruction)
            }
        });
    }
    let Ok(answerers) = <[Answerer; 2]>::try_from(answerers) else { unreachable!("there are two sides") };
    let mut two = AnsweringPair { i: i.clone(), answerers };
    let suspects = by_kind(&[]);
    let (start, time) = (Instant::now(), search.time);
    let is_over = |_: &InputBatch| time.is_some_and(|time| start.elapsed() >= time);
    let asked = inputs(&i, search.seed, search.cases).take_while(|inputs| !is_over(inputs));
    let mut outcome = two.search(&suspects, asked)?;
    let reasons = reasons(&i, suspects, take(&mut outcome.shown), None, None);
    Ok(Distinction::of(i, outcome, reasons, Vec::new()))
}

/// The reasons with a witness, and the keys without one.
fn reasons(
    i: &Instruction,
    suspects: Vec<SuspectedReason>,
    shown: Vec<Option<SuspectWitness>>,
    rules: Option<&Rules>,
    known: Option<[&Evaluators; 2]>,
) -> Vec<DifferenceReason> {
    let mut reasons = Vec::new();
    for (suspect, shown) in suspects.into_iter().zip(shown) {
        // A kind without a witness did not occur.
        if shown.is_none() && suspect.kind.is_some() {
            continue;
        }
        let values = |key: String| {
            let values = rules.map_or([None, None], |rules| rules.values(&key));
            (key, values)
        };
        let witness = shown.map(|SuspectWitness { explains, case, d }| Witness {
            d,
            exact: Subject::Matrix(i).exact(&case),
            alone: explains == Explains::Alone,
            step: known.and_then(|both| step(both, &case)),
            case,
        });
        reasons.push(DifferenceReason {
            keys: suspect.keys.into_iter().map(values).collect(),
            kind: suspect.kind,
            witness,
        });
    }
    // Finite results come first, then the other kinds; simple inputs come first, keys without an input last.
    let cost = |reason: &DifferenceReason| {
        let witness = reason.witness.as_ref();
        let kind = reason.kind.and_then(|kind| DifferenceKind::ALL.iter().position(|other| *other == kind));
        (witness.is_none(), kind, witness.map(|witness| Complexity::of(i, &witness.case)))
    };
    reasons.sort_by_cached_key(cost);
    reasons
}

/// The first step that differs on a case: `sum: 0 and 2^-24`.
fn step(both: [&Evaluators; 2], case: &Case) -> Option<String> {
    let said = both.map(|evaluators| {
        let i = &evaluators.evaluator().program().instruction;
        evaluators.evaluator().explain(&shared::widened(case, i))
    });
    steps::rows(None, &said).iter().find_map(steps::StepRow::difference)
}
