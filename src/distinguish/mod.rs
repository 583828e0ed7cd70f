//! Two arithmetics told apart: the smallest inputs on which they differ, one for each separate reason, or a proof that there are none.
//!
//! Of two models both rules are known: they are compared key by key. A key is a reason where an input shows it: the first rule with
//! the other's value of this key gives the other's result, or the second rule with the first's value gives the first's (best both). What no
//! operands can show is proved ([`mod@crate::power`]). Where rules have shapes that nothing lies between, and of devices whose arithmetic
//! nobody knows, inputs are told apart by the kind of the difference alone. Every input is reduced to the fewest terms, then to the simplest
//! values ([`crate::comparison::shrink`]).
//!
//! [`kit()`] is the shortest list of inputs that tells all known arithmetics of an instruction's operands apart.

mod answers;
mod candidates;
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

pub use candidates::{Candidate, Origin, candidates};
pub use generations::{Agreement, generations};
pub use kind::DifferenceKind;
pub use kit::{Kit, Known, kit};
pub use rules::{Unobservable, observable};
pub use shared::shared;

use answers::{Answerer, Arithmetic, Inputs};
use rules::Rules;
use search::{Explains, Shown, Suspect, Two, by_kind, inputs, suspects};
use toml::Value;

use std::time::{Duration, Instant};

use crate::{
    Error, Result,
    arithmetic::Model,
    base::{named::Named, sentence::capitalised},
    comparison::{Complexity, Subject},
    device::Device,
    explain,
    isa::{Case, Instruction},
    power::Changed,
};

/// Rows and columns of the inputs of two models, at most: with more the cases of a tile are more alike.
const SHAPE: usize = 8;

/// One of two that are told apart: an instruction on a device.
pub struct Side<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// The instruction.
    pub instruction: &'a Instruction,
}

/// How long two are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Cases of the verification stream, beside the corners.
    pub cases: u64,
    /// The seed of the stream.
    pub seed: u64,
    /// How long inputs are tried where a device is asked; `None`: until all are.
    pub time: Option<Duration>,
}

/// What became of telling two apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Distinction {
    /// The operands that both share.
    pub shared: Instruction,
    /// Whether they differ.
    pub verdict: Verdict,
    /// The reasons, each with an input that shows it; and those that no input showed.
    pub reasons: Vec<Reason>,
    /// Keys in which two rules differ, and which no operands show.
    pub unobservable: Vec<Unobservable>,
    /// Inputs that both were asked.
    pub tried: u64,
    /// What ended it early: a device failed; an interruption. What inputs show may then not be reduced.
    pub stopped: Option<Error>,
}

/// Whether two differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They do.
    Differ,
    /// They give the same results for all operands, for this reason.
    Same(String),
    /// No input was found on which they do.
    NotFound,
}

/// Why two differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// The keys of their rules, with their values in both; none where a rule is not known.
    pub keys: Vec<(String, [Option<Value>; 2])>,
    /// The kind of the difference, where the keys are all that the rules differ in, or are not known.
    pub kind: Option<DifferenceKind>,
    /// The smallest input that shows it; `None`: none was found.
    pub witness: Option<Witness>,
}

/// An input on which two differ, with their results.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// The operands.
    pub case: Case,
    /// D of both.
    pub d: [u64; 2],
    /// The correctly rounded exact result; `None` where D has no code for it.
    pub exact: Option<u64>,
    /// Whether the reason alone explains both results: it would do without every other one.
    pub alone: bool,
    /// The first step at which both differ, with its values, where both are models.
    pub step: Option<String>,
}

impl Verdict {
    /// The words that reports print.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Differ => "differ",
            Verdict::Same(_) => "the same",
            Verdict::NotFound => "no difference found",
        }
    }
}

impl Reason {
    /// Why, in one sentence, of the sides of these names.
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
                    let with = format!("and what goes with it ({})", others.join(", "));
                    return format!("{what}: {x} in {}, {y} in {}, {with}{kind}.", names[0], names[1]);
                }
                let own = |(key, values): &(String, [Option<Value>; 2])| match values {
                    [Some(Value::Table(_)), _] | [_, Some(Value::Table(_))] => words::words(key),
                    _ => {
                        let [x, y] = words::values(key, values);
                        format!("{} ({x} in {}, {y} in {})", words::words(key), names[0], names[1])
                    }
                };
                let all: Vec<String> = several.iter().map(own).collect();
                format!("{}{kind}.", capitalised(&all.join("; ")))
            }
        }
    }
}

/// Tells two apart.
///
/// # Errors
/// The instructions have other operands, or one of them is not the device's; a device fails; a signal.
pub fn distinguish(x: Side, y: Side, search: &Search) -> Result<Distinction> {
    let shared = shared(x.instruction, y.instruction)?;
    x.lacking()?;
    y.lacking()?;
    match [x.model(), y.model()] {
        [Some(one), Some(other)] => models([(&one, x.instruction), (&other, y.instruction)], shared, search),
        models => {
            // Of one lifetime.
            let x = Side { device: &mut *x.device, ..x };
            let y = Side { device: &mut *y.device, ..y };
            devices([x, y], models, shared, search)
        }
    }
}

impl Side<'_> {
    /// The model that is simulated, with the instruction's rule.
    fn model(&self) -> Option<Model> {
        self.device.model().cloned()
    }

    /// Refuses a model that does not cover the instruction.
    fn lacking(&self) -> Result<()> {
        self.device.model().map_or(Ok(()), |model| model.evaluator(self.instruction).map(drop))
    }
}

/// Tells two models apart, of each the rule of an instruction.
fn models(sides: [(&Model, &Instruction); 2], shared: Instruction, search: &Search) -> Result<Distinction> {
    let i = Instruction { m: shared.m.min(SHAPE), n: shared.n.min(SHAPE), ..shared };
    let [x, y] = sides.map(|(model, own)| Changed::of(model, own).map(|rule| rule.table));
    // Both programs are of an instruction of one name, so that nothing but the arithmetic tells them apart.
    let instructions = sides.map(|(_, own)| Instruction { k: own.k, ..i.clone() });
    let mut rules = Rules { tables: [x?, y?], instructions, shape: (i.m, i.n) };
    between(&mut rules, i, search)
}

/// The keys that no operands show, and why the two rules have the same results for all operands, if that is known.
fn proof(rules: &mut Rules) -> (Vec<Unobservable>, Option<String>) {
    if let Some(reason) = rules.equal() {
        return (Vec::new(), Some(reason));
    }
    let unobservable = rules.settle();
    let keys: Vec<&str> = unobservable.iter().map(|own| &own.key[..]).collect();
    let proved = rules.equal().map(|_| format!("no operands show that {} differ", keys.join(" and ")));
    (unobservable, proved)
}

/// The arithmetics of two rules, as what answers, and themselves.
fn two(rules: &Rules, i: &Instruction) -> Result<(Two<'static>, [Arithmetic; 2])> {
    let sides = [rules::Which::X, rules::Which::Y].map(|which| rules.between(which, &[]));
    let [Some(x), Some(y)] = sides else {
        return Err(Error::request(format!("a rule does not hold for {i} where it is a part of a longer instruction")));
    };
    let answerers = [&x, &y].map(|own| Answerer::Known(Box::new(own.clone())));
    Ok((Two { i: i.clone(), answerers }, [x, y]))
}

/// Tells the arithmetics of two rules apart.
fn between(rules: &mut Rules, i: Instruction, search: &Search) -> Result<Distinction> {
    let same = |reason: String, unobservable, i| Distinction {
        shared: i,
        verdict: Verdict::Same(reason),
        reasons: Vec::new(),
        unobservable,
        tried: 0,
        stopped: None,
    };
    let (unobservable, proved) = proof(rules);
    if let Some(reason) = proved {
        return Ok(same(reason, unobservable, i));
    }
    let (mut two, [x, y]) = two(rules, &i)?;
    // Every input, where there are few.
    let asked = || -> Box<dyn Iterator<Item = Inputs>> {
        match exhaustive::inputs(&i) {
            Some(all) => Box::new(all),
            None => Box::new(inputs(&i, search.seed, search.cases)),
        }
    };
    let mut suspects = suspects(rules);
    if suspects.is_empty() {
        suspects = by_kind(&[]);
    }
    let mut found = two.search(&suspects, asked())?;
    if found.differing == 0 && found.stopped.is_none() && exhaustive::inputs(&i).is_some() {
        return Ok(same(format!("all {} inputs give the same results", found.tried), unobservable, i));
    }
    // Keys that show only together.
    let hidden = |(suspect, shown): (&Suspect, &Option<Shown>)| {
        (shown.is_none() && suspect.kind.is_none()).then(|| suspect.keys.clone())
    };
    let hidden: Vec<Vec<String>> = suspects.iter().zip(&found.shown).filter_map(hidden).collect();
    if found.differing > 0 && hidden.len() > 1 && found.stopped.is_none() {
        let keys = hidden.concat();
        let both = [rules::Which::X, rules::Which::Y].map(|which| rules.between(which, &keys));
        if let [Some(from_x), Some(from_y)] = both {
            let together = [Suspect { keys, kind: None, between: Some([from_x, from_y]) }];
            let mut more = two.search(&together, asked())?;
            found.stopped = more.stopped;
            if let Some(shown) = more.shown.remove(0) {
                (suspects, found.shown) = suspects
                    .into_iter()
                    .zip(found.shown)
                    .filter(|(_, shown)| shown.is_some())
                    .chain(together.into_iter().map(|suspect| (suspect, Some(shown.clone()))))
                    .unzip();
            }
        }
    }
    let mut reasons = reasons(&two.i, suspects, found.shown, Some(rules), Some([&x, &y]));
    // Known arithmetics that differ in finite results do so in what these become at the ends of the range.
    let numbers = |reason: &Reason| reason.kind == Some(DifferenceKind::Finite);
    if reasons.iter().any(numbers) {
        reasons.retain(|reason| !matches!(reason.kind, Some(DifferenceKind::Zero | DifferenceKind::NonFinite)));
    }
    let verdict = if found.differing > 0 { Verdict::Differ } else { Verdict::NotFound };
    Ok(Distinction { shared: i, verdict, reasons, unobservable, tried: found.tried, stopped: found.stopped })
}

/// Whether the arithmetics of two rules differ, without the reasons.
fn whether(rules: &mut Rules, i: &Instruction, search: &Search) -> Result<Verdict> {
    if let Some(reason) = proof(rules).1 {
        return Ok(Verdict::Same(reason));
    }
    let mut two = two(rules, i)?.0;
    for batch in inputs(i, search.seed, search.cases) {
        let found = two.search(&[], std::iter::once(batch))?;
        found.stopped.map_or(Ok(()), Err)?;
        if found.differing > 0 {
            return Ok(Verdict::Differ);
        }
    }
    Ok(Verdict::NotFound)
}

/// Tells two apart of which one at least is a device whose arithmetic is not known.
fn devices([x, y]: [Side; 2], models: [Option<Model>; 2], i: Instruction, search: &Search) -> Result<Distinction> {
    let mut answerers = Vec::new();
    for (side, model) in [x, y].into_iter().zip(&models) {
        answerers.push(match model {
            Some(model) => {
                let wide = Instruction { k: side.instruction.k, ..i.clone() };
                let rule = model.rule(side.instruction).ok_or_else(|| model.lacks(&i.name, i.support))?;
                Answerer::Known(Box::new(Arithmetic::of(rule, &wide, i.m, i.n).map_err(Error::request)?))
            }
            None => {
                side.device.prepare(side.instruction)?;
                Answerer::Device(side.device, side.instruction)
            }
        });
    }
    let Ok(answerers) = <[Answerer; 2]>::try_from(answerers) else { unreachable!("there are two sides") };
    let mut two = Two { i: i.clone(), answerers };
    let suspects = by_kind(&[]);
    let (start, time) = (Instant::now(), search.time);
    let is_over = |_: &Inputs| time.is_some_and(|time| start.elapsed() >= time);
    let found = two.search(&suspects, inputs(&i, search.seed, search.cases).take_while(|inputs| !is_over(inputs)))?;
    let reasons = reasons(&two.i, suspects, found.shown, None, None);
    let verdict = if found.differing > 0 { Verdict::Differ } else { Verdict::NotFound };
    let (tried, stopped) = (found.tried, found.stopped);
    Ok(Distinction { shared: i, verdict, reasons, unobservable: Vec::new(), tried, stopped })
}

/// The reasons that inputs show, and the keys that none shows.
fn reasons(
    i: &Instruction,
    suspects: Vec<Suspect>,
    shown: Vec<Option<Shown>>,
    rules: Option<&Rules>,
    known: Option<[&Arithmetic; 2]>,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for (suspect, shown) in suspects.into_iter().zip(shown) {
        // A kind of difference that there is none of is no reason.
        if shown.is_none() && suspect.kind.is_some() {
            continue;
        }
        let values = |key: String| {
            let values = rules.map_or([None, None], |rules| rules.values(&key));
            (key, values)
        };
        let witness = shown.map(|Shown { explains, case, d }| Witness {
            d,
            exact: Subject::Matrix(i).exact(&case),
            alone: explains == Explains::Alone,
            step: known.and_then(|both| step(both, &case)),
            case,
        });
        reasons.push(Reason { keys: suspect.keys.into_iter().map(values).collect(), kind: suspect.kind, witness });
    }
    // Numbers before the signs of zeros and NaN; simple inputs first, and what none shows last.
    let cost = |reason: &Reason| {
        let witness = reason.witness.as_ref();
        let kind = reason.kind.and_then(|kind| DifferenceKind::ALL.iter().position(|other| *other == kind));
        (witness.is_none(), kind, witness.map(|witness| Complexity::of(i, &witness.case)))
    };
    reasons.sort_by_cached_key(cost);
    reasons
}

/// The first step at which two arithmetics differ on a case: `sum: 0 and 2^-24`.
fn step(both: [&Arithmetic; 2], case: &Case) -> Option<String> {
    let said = both.map(|own| {
        let i = &own.evaluator().program().instruction;
        own.evaluator().explain(&shared::widened(case, i))
    });
    explain::rows(None, &said).iter().find_map(explain::StepRow::difference)
}
