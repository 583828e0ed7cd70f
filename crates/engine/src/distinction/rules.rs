//! Two rules compared key by key, and the rules between them.

use std::cmp::Ordering;

use toml::{Table, Value};

use super::{answers::Evaluators, padding::without_zeros};
use crate::{
    arithmetic::{Evaluator, Rule, settings},
    isa::Instruction,
    rule::{RulePair, equal, get, proof, set},
};

/// Keys whose tables are compared as a whole.
const WHOLE: &[&str] = &["split", "parts"];
/// Keys that are no part of the arithmetic.
const NOTHING: &[&str] = &["instructions", "evidence"];

/// The rules of two arithmetics, and their instructions.
pub(super) struct Rules {
    /// The rules, as tables of a model file.
    pub(super) tables: [Table; 2],
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
    pub values: [Option<Value>; 2],
    /// Why no operands show it.
    pub reason: String,
}

/// Reads a rule from its table.
pub(super) fn rule(table: &Table) -> Option<Rule> {
    Rule::read(table).ok()
}

impl Rules {
    /// One rule with the other's values of these keys; `None` where the language refuses it.
    pub(super) fn between(&self, which: RuleSide, keys: &[String]) -> Option<Evaluators> {
        let (m, n) = self.shape;
        Evaluators::of(&rule(&self.table(which, keys))?, &self.instructions[which as usize], m, n).ok()
    }

    fn table(&self, which: RuleSide, keys: &[String]) -> Table {
        let other = &self.tables[1 - which as usize];
        let mut table = self.tables[which as usize].clone();
        for key in keys {
            set(&mut table, &key.split('.').collect::<Vec<_>>(), get(other, key).cloned());
        }
        table
    }

    /// The values of a key in both rules.
    pub(super) fn values(&self, key: &str) -> [Option<Value>; 2] {
        self.tables.each_ref().map(|table| get(table, key).cloned())
    }

    /// The keys that differ, in the order of the language's table; keys of nodes come last.
    pub(super) fn keys(&self) -> Vec<String> {
        let changed = settings().filter(|(_, setting)| setting.has_near_values());
        let order: Vec<String> = changed.map(|(path, _)| path).collect();
        let mut keys = Vec::new();
        differing("", &self.tables[0], &self.tables[1], &mut keys);
        let place = |key: &String| {
            let own = key.split('.').skip_while(|part| *part == "node").collect::<Vec<_>>();
            let known = |name: &str| order.iter().position(|key| key == name).unwrap_or(order.len());
            match key.starts_with("node.") {
                true => (own[..1].join("."), known(&own[1..].join("."))),
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
            self.tables[0] = self.table(RuleSide::X, std::slice::from_ref(&key));
            settled.push(Unobservable { key, values, reason });
        }
    }

    /// The proof that the second's value of a key does not change the first rule's results.
    fn unobservable(&self, key: &str) -> Option<String> {
        let i = &self.instructions[0];
        let rules = [rule(&self.tables[0])?, rule(&self.table(RuleSide::X, &[key.to_string()]))?];
        let [one, other] = rules.each_ref().map(|rule| Evaluator::of(rule, i).ok());
        let pair = RulePair { instruction: i, rules: [&rules[0], &rules[1]], evaluators: [&one?, &other?] };
        proof(&pair, key)
    }

    /// The proof that both programs compute the same, if they do.
    pub(super) fn equal(&self) -> Option<String> {
        let [x, y] = [0, 1].map(|at| Evaluator::of(&rule(&self.tables[at])?, &self.instructions[at]).ok());
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
pub fn observable(tables: [&Table; 2], instruction: &Instruction) -> Option<Vec<(String, [Option<Value>; 2])>> {
    let [x, y] = tables.map(|table| Evaluator::of(&rule(table)?, instruction).ok());
    if equal([x?.program(), y?.program()]).is_some() {
        return Some(Vec::new());
    }
    let instructions = [instruction.clone(), instruction.clone()];
    let mut rules = Rules { tables: tables.map(Table::clone), instructions, shape: (1, 1) };
    rules.settle();
    if rules.equal().is_some() {
        return Some(Vec::new());
    }
    Some(rules.keys().into_iter().map(|key| (rules.values(&key), key)).map(|(values, key)| (key, values)).collect())
}

/// Adds the keys that differ in two tables.
fn differing(place: &str, x: &Table, y: &Table, found: &mut Vec<String>) {
    let mut names: Vec<&String> = x.keys().chain(y.keys().filter(|key| !x.contains_key(*key))).collect();
    names.retain(|name| !(place.is_empty() && NOTHING.contains(&name.as_str())));
    for name in names {
        let key = format!("{place}{name}");
        match (x.get(name), y.get(name)) {
            (Some(Value::Table(x)), Some(Value::Table(y))) if !WHOLE.contains(&name.as_str()) => {
                differing(&format!("{key}."), x, y, found);
            }
            (x, y) if x != y => found.push(key),
            _ => {}
        }
    }
}
