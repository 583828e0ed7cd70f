//! The shipped arithmetic that is nearest to a rule.

use super::{
    Identification,
    candidate::evaluator,
    starts::{self, Start},
};
use crate::{
    arithmetic::{KeyValue, Rule},
    base::interrupt,
    comparison::{Nans, with_one_nan},
    distinction::{observable, properties},
    isa::{Codes, Instruction},
    rule::shown,
};

/// The nearest shipped arithmetic, and how a rule differs from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// The shipped model and the instruction that has the nearest rule.
    pub of: (String, String),
    /// True if both are the same arithmetic.
    pub same: bool,
    /// The arithmetic and the keys that differ.
    /// Examples: `as hopper`, `like hopper, but alignment.bits = 24 instead of 25`.
    pub words: String,
    /// The comparison in a sentence, which names properties instead of keys.
    pub sentence: String,
}

/// Finds the shipped arithmetic that equals the rule that was found, or the nearest one.
///
/// If several models have it, the model of the device's own generation comes first. After an interruption the nearest one so far is
/// returned.
pub fn likeness(identification: &Identification) -> Option<Likeness> {
    let (part, rule) = (identification.asked.part(), identification.rule.as_ref()?);
    if let Some(of) = &identification.known {
        return Some(same(of.clone(), &part));
    }
    let mut nearest: Option<(bool, usize, Likeness)> = None;
    for start in starts::known(&part, identification.generation.as_deref(), &identification.withheld) {
        if interrupt::pending().is_some() {
            break;
        }
        let Some(of) = start.known else { continue };
        let Some(mut keys) = observable([rule, &start.rule], &part) else { continue };
        keys.retain(|(key, _)| identification.is_measured(key));
        if keys.is_empty() {
            return Some(same(of, &part));
        }
        // A rule that gives every answer is preferred to one that differs in fewer keys.
        let differs = identification.misses > 0 || !identification.is_given_by(&start.rule);
        if nearest.as_ref().is_none_or(|(other, count, _)| (differs, keys.len()) < (*other, *count)) {
            nearest = Some((differs, keys.len(), near(of, &part, &keys, differs)));
        }
    }
    nearest.map(|(.., likeness)| likeness)
}

/// The likeness of a rule that equals a shipped one.
fn same(of: (String, String), part: &Instruction) -> Likeness {
    let sentence = format!("Shipped rule: {}.", short(&of, part));
    Likeness { words: format!("as {}", called(&of, part)), of, same: true, sentence }
}

/// The likeness of a rule that differs from a shipped one in these keys.
fn near(of: (String, String), part: &Instruction, keys: &[(String, [Option<KeyValue>; 2])], differs: bool) -> Likeness {
    let name = called(&of, part);
    let like = if differs { format!("like {name}") } else { format!("as {name} in all answers") };
    let words = format!("{like}, but {}", keys.iter().map(difference).collect::<Vec<_>>().join("; "));
    let properties = properties(keys.iter().map(|(key, _)| &key[..]));
    let but = if differs { "" } else { ", though no answer shows the difference" };
    let sentence = format!("Nearest shipped rule: {}, from which it differs in {properties}{but}.", short(&of, part));
    Likeness { of, same: false, words, sentence }
}

/// A shipped arithmetic in words: by its model, and by the instruction if it is another one.
fn called((model, instruction): &(String, String), part: &Instruction) -> String {
    if *instruction == part.name { model.clone() } else { format!("{model} computes {instruction}") }
}

/// A shipped arithmetic by its name: `hopper`, or `hopper/INSTRUCTION` if it is of another instruction.
fn short((model, instruction): &(String, String), part: &Instruction) -> String {
    if *instruction == part.name { model.clone() } else { format!("{model}/{instruction}") }
}

impl Identification {
    /// The shipped arithmetics of the instruction itself that give every answer, by model.
    pub fn agreeing(&self) -> Vec<String> {
        let part = self.asked.part();
        let known_of_part = |start: &Start| start.known.clone().filter(|(_, instruction)| *instruction == part.name);
        let agrees =
            |start: &Start| known_of_part(start).filter(|_| self.is_given_by(&start.rule)).map(|of| called(&of, &part));
        starts::known(&part, self.generation.as_deref(), &self.withheld).iter().filter_map(agrees).collect()
    }

    /// True if a rule gives every answer.
    fn is_given_by(&self, rule: &Rule) -> bool {
        let answers = |d: Codes| match self.nans {
            Nans::ByCode => d,
            Nans::Alike => with_one_nan(self.instruction.d, d),
        };
        evaluator(rule, &self.asked.part())
            .is_some_and(|other| answers(other.execute(&self.asked.inputs)).as_bytes() == self.asked.d.as_bytes())
    }
}

/// A key in which two rules differ, with both values.
fn difference((key, [value, other]): &(String, [Option<KeyValue>; 2])) -> String {
    match (value, other) {
        (Some(_), Some(_)) => format!("{key} = {} instead of {}", shown(value.as_ref()), shown(other.as_ref())),
        (Some(_), None) => format!("with {key} = {}", shown(value.as_ref())),
        (None, _) => format!("without {key}"),
    }
}
