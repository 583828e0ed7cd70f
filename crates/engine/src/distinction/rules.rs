//! Two rules compared key by key, and the rules between them.

use std::cmp::Ordering;

use super::{answers::Evaluators, padding::without_zeros};
use crate::{
    arithmetic::{Evaluator, KeyValue, Rule, settings},
    isa::Instruction,
    rule::{RulePair, equal, proof},
};

/// Keys that are no part of the arithmetic.
const NOTHING: &[&str] = &["instructions", "evidence"];

/// The rules of two arithmetics, and their instructions.
pub(super) struct Rules {
    /// The rules.
    pub(super) rules: [Rule; 2],
    /// The instructions, under one name.
    pub(super) instructions: [Instruction; 2],
    /// Rows and columns of the inputs.
    pub(super) shape: (usize, usize),
}

/// The first or the second of two rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleSide {
    X,
    Y,
}

/// A key that differs in two rules, and that no operands show.
#[derive(Debug, Clone, PartialEq)]
pub struct Unobservable {
    /// The key.
    pub key: String,
    /// Its values in both rules.
    pub values: [Option<KeyValue>; 2],
    /// Why no operands show it.
    pub reason: String,
}

impl Rules {
    /// One rule with the other's values of these keys; `None` where the language refuses it.
    pub(super) fn between(&self, which: RuleSide, keys: &[String]) -> Option<Evaluators> {
        let (m, n) = self.shape;
        Evaluators::of(&self.rule(which, keys)?, &self.instructions[which as usize], m, n).ok()
    }

    /// One rule with the other's values of these keys; `None` where a key cannot have the value.
    fn rule(&self, which: RuleSide, keys: &[String]) -> Option<Rule> {
        let other = &self.rules[1 - which as usize];
        let mut rule = self.rules[which as usize].clone();
        keys.iter().all(|key| rule.set(key, other.value(key).as_ref())).then_some(rule)
    }

    /// The values of a key in both rules.
    pub(super) fn values(&self, key: &str) -> [Option<KeyValue>; 2] {
        self.rules.each_ref().map(|rule| rule.value(key))
    }

    /// The keys that differ, in the order of the language's table; keys of nodes come last.
    pub(super) fn keys(&self) -> Vec<String> {
        let changed = settings().filter(|(_, setting)| setting.has_near_values());
        let order: Vec<String> = changed.map(|(path, _)| path).collect();
        let mut keys = Vec::new();
        let [mut x, mut y] = self.rules.each_ref().map(Rule::entries);
        [&mut x, &mut y].into_iter().for_each(|entries| entries.retain(|(key, _)| !NOTHING.contains(&&key[..])));
        differing("", &x, &y, &mut keys);
        let place = |key: &String| {
            let parts = key.split('.').skip_while(|part| *part == "node").collect::<Vec<_>>();
            let known = |name: &str| order.iter().position(|key| key == name).unwrap_or(order.len());
            match key.starts_with("node.") {
                true => (parts[..1].join("."), known(&parts[1..].join("."))),
                false => (String::new(), known(key)),
            }
        };
        keys.sort_by_cached_key(place);
        keys
    }

    /// Gives the first rule the second's values of all keys that no operands show, and returns these keys.
    ///
    /// Neither arithmetic changes. If no key differs afterwards, both are equal.
    pub(super) fn settle(&mut self) -> Vec<Unobservable> {
        let mut settled = Vec::new();
        let [x, y] = &self.instructions;
        if x.k != y.k {
            return settled;
        }
        loop {
            let next = self.keys().into_iter().find_map(|key| Some((self.unobservable(&key)?, key)));
            let Some((reason, key)) = next else { return settled };
            let values = self.values(&key);
            let Some(rule) = self.rule(RuleSide::X, std::slice::from_ref(&key)) else { return settled };
            self.rules[0] = rule;
            settled.push(Unobservable { key, values, reason });
        }
    }

    /// The proof that the second's value of a key does not change the first rule's results.
    fn unobservable(&self, key: &str) -> Option<String> {
        let i = &self.instructions[0];
        let rules = [&self.rules[0], &self.rule(RuleSide::X, &[key.to_string()])?];
        let [one, other] = rules.map(|rule| Evaluator::of(rule, i).ok());
        let pair = RulePair { instruction: i, rules, evaluators: [&one?, &other?] };
        proof(&pair, key)
    }

    /// The proof that both programs compute the same, if they do.
    pub(super) fn equal(&self) -> Option<String> {
        let [x, y] = [0, 1].map(|at| Evaluator::of(&self.rules[at], &self.instructions[at]).ok());
        let (x, y) = (x?, y?);
        let [x, y] = [x.program(), y.program()];
        match x.instruction.k.cmp(&y.instruction.k) {
            Ordering::Equal => equal([x, y]),
            Ordering::Less => equal([x, &without_zeros(y, &x.instruction)?]),
            Ordering::Greater => equal([&without_zeros(x, &y.instruction)?, y]),
        }
    }
}

/// The observable keys that differ in two rules of one instruction, with their values.
///
/// `None` where the language refuses a rule.
pub fn observable(rules: [&Rule; 2], instruction: &Instruction) -> Option<Vec<(String, [Option<KeyValue>; 2])>> {
    let [x, y] = rules.map(|rule| Evaluator::of(rule, instruction).ok());
    if equal([x?.program(), y?.program()]).is_some() {
        return Some(Vec::new());
    }
    let instructions = [instruction.clone(), instruction.clone()];
    let mut rules = Rules { rules: rules.map(Rule::clone), instructions, shape: (1, 1) };
    rules.settle();
    if rules.equal().is_some() {
        return Some(Vec::new());
    }
    Some(rules.keys().into_iter().map(|key| (rules.values(&key), key)).map(|(values, key)| (key, values)).collect())
}

/// Adds the keys that differ in two tables.
fn differing(place: &str, x: &[(String, KeyValue)], y: &[(String, KeyValue)], keys: &mut Vec<String>) {
    let value = |table: &[(String, KeyValue)], name: &str| {
        table.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    };
    let others = y.iter().filter(|(name, _)| value(x, name).is_none());
    for (name, _) in x.iter().chain(others) {
        let key = format!("{place}{name}");
        let [x, y] = [value(x, name), value(y, name)];
        match [&x, &y].map(|value| value.as_ref().and_then(KeyValue::entries)) {
            [Some(x), Some(y)] => differing(&format!("{key}."), &x, &y, keys),
            _ if x != y => keys.push(key),
            _ => {}
        }
    }
}
