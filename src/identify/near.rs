//! The shipped arithmetic that a rule is most like, and the difference in words.

use toml::{Table, Value};

use super::{
    Identification,
    candidate::evaluator,
    file::short,
    starts::{self, Start},
};
use crate::{
    base::interrupt,
    comparison::{Nans, with_one_nan},
    distinguish::observable,
    isa::{Codes, Instruction},
};

/// What a rule is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// The shipped model and the instruction that has the nearest rule.
    pub of: (String, String),
    /// Whether it is the same arithmetic.
    pub same: bool,
    /// In words: `as hopper`, `like hopper, but alignment.bits = 24 instead of 25`.
    pub words: String,
}

/// What the rule that was found is like of the arithmetics that are known: the same one, or the nearest; where several models have it,
/// of that of the device's own generation, if one of them is. An interruption ends it with the nearest one until then.
pub fn likeness(found: &Identification) -> Option<Likeness> {
    let part = found.asked.part();
    if let Some(of) = &found.known {
        return Some(Likeness { of: of.clone(), same: true, words: format!("as {}", called(of, &part)) });
    }
    let mut nearest: Option<(bool, usize, Likeness)> = None;
    for start in starts::known(&part, found.generation.as_deref()) {
        if interrupt::pending().is_some() {
            break;
        }
        let Some(of) = start.known else { continue };
        let Some(mut keys) = observable([&found.rule, &start.rule], &part) else { continue };
        keys.retain(|(key, _)| found.is_measured(key));
        let called = called(&of, &part);
        if keys.is_empty() {
            return Some(Likeness { of, same: true, words: format!("as {called}") });
        }
        // Of a rule that gives every answer, one that does too is nearer.
        let differs = found.misses > 0 || !found.is_given_by(&start.rule);
        if nearest.as_ref().is_none_or(|(other, count, _)| (differs, keys.len()) < (*other, *count)) {
            let like = if differs { format!("like {called}") } else { format!("as {called} in all answers") };
            let words = format!("{like}, but {}", keys.iter().map(difference).collect::<Vec<_>>().join("; "));
            nearest = Some((differs, keys.len(), Likeness { of, same: false, words }));
        }
    }
    nearest.map(|(.., likeness)| likeness)
}

/// A shipped arithmetic in words: by its model, and by the instruction where that is another.
fn called((model, instruction): &(String, String), part: &Instruction) -> String {
    if *instruction == part.name { model.clone() } else { format!("{model} computes {instruction}") }
}

impl Identification {
    /// The shipped arithmetics that give every answer, by model: those of the instruction itself.
    pub fn agreeing(&self) -> Vec<String> {
        let part = self.asked.part();
        let own = |start: &Start| start.known.clone().filter(|(_, instruction)| *instruction == part.name);
        let agrees = |start: &Start| own(start).filter(|_| self.is_given_by(&start.rule)).map(|of| called(&of, &part));
        starts::known(&part, self.generation.as_deref()).iter().filter_map(agrees).collect()
    }

    /// Whether a rule gives every answer.
    fn is_given_by(&self, rule: &Table) -> bool {
        let answers = |d: Codes| match self.nans {
            Nans::ByCode => d,
            Nans::Alike => with_one_nan(self.instruction.d, d),
        };
        evaluator(rule, &self.asked.part())
            .is_some_and(|other| answers(other.execute(&self.asked.inputs)).as_bytes() == self.asked.d.as_bytes())
    }
}

/// A key in which two rules differ, in words.
fn difference((key, [own, other]): &(String, [Option<Value>; 2])) -> String {
    match (own.as_ref().map(word), other.as_ref().map(word)) {
        (Some(own), Some(value)) => format!("{key} = {own} instead of {value}"),
        (Some(own), None) => format!("with {key} = {own}"),
        (None, _) => format!("without {key}"),
    }
}

/// A value, words without quotation marks.
fn word(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        other => short(other),
    }
}
