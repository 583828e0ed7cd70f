//! The shipped arithmetic that a rule is most like, and the difference in words.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{
    Identification,
    candidate::evaluator,
    file::short,
    starts::{self, Start},
};
use crate::{base::sorting, isa::Instruction, power};

/// What a rule is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// The shipped model and the instruction that has the nearest rule.
    pub of: (String, String),
    /// Whether it is the same arithmetic.
    pub same: bool,
    /// In words: `as hopper`, `like hopper, but alignment.bits is 24 and not 25`.
    pub words: String,
}

/// What `rule` is like of the arithmetics that are known.
pub(super) fn likeness(rule: &Table, part: &Instruction, known: &[Start]) -> Option<Likeness> {
    let own = evaluator(rule, part)?;
    let mut nearest: Option<(usize, Likeness)> = None;
    for start in known {
        let Some(of) = start.known.clone() else { continue };
        let Some(other) = evaluator(&start.rule, part) else { continue };
        let called = called(&of, part);
        if power::equivalent(&own, &other) {
            return Some(Likeness { of, same: true, words: format!("as {called}") });
        }
        let differences = differences(rule, &start.rule);
        if nearest.as_ref().is_none_or(|(count, _)| differences.len() < *count) {
            let words = format!("like {called}, but {}", differences.join("; "));
            nearest = Some((differences.len(), Likeness { of, same: false, words }));
        }
    }
    nearest.map(|(_, likeness)| likeness)
}

/// A shipped arithmetic in words: by its model, and by the instruction where that is another.
fn called((model, instruction): &(String, String), part: &Instruction) -> String {
    if *instruction == part.name { model.clone() } else { format!("{model} has {instruction}") }
}

impl Identification {
    /// The shipped arithmetics that give every answer, by model: those of the instruction itself.
    pub fn agreeing(&self) -> Vec<String> {
        let part = self.asked.part();
        let own = |start: &Start| start.known.clone().filter(|(_, instruction)| *instruction == part.name);
        let agrees = |start: &Start| {
            let other = evaluator(&start.rule, &part)?;
            let gives_all = other.execute(&self.asked.inputs).as_bytes() == self.asked.d.as_bytes();
            own(start).filter(|_| gives_all).map(|of| called(&of, &part))
        };
        starts::known(&part).iter().filter_map(agrees).collect()
    }
}

/// The keys in which two rules differ, in words.
fn differences(one: &Table, other: &Table) -> Vec<String> {
    let [one, other] = [one, other].map(flat);
    let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
    sorting::by(&mut keys, Ord::cmp);
    keys.dedup();
    keys.into_iter()
        .filter(|key| one.get(*key) != other.get(*key))
        .map(|key| match (one.get(key), other.get(key)) {
            (Some(own), Some(value)) => format!("{key} is {own} and not {value}"),
            (Some(own), None) => format!("{key} is {own}"),
            (None, _) => format!("there is no {key}"),
        })
        .collect()
}

/// The values of a rule by their paths, but for what it covers.
fn flat(rule: &Table) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut left: Vec<(String, &Value)> = rule
        .iter()
        .filter(|(key, _)| !["instructions", "evidence"].contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value))
        .collect();
    while let Some((path, value)) = left.pop() {
        match value {
            Value::Table(table) => left.extend(table.iter().map(|(key, value)| (format!("{path}.{key}"), value))),
            Value::String(word) => drop(values.insert(path, word.clone())),
            other => drop(values.insert(path, short(other))),
        }
    }
    values
}
