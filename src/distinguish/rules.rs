//! Two rules key by key: in which they differ, and the rules between them.

use std::cmp::Ordering;

use toml::{Table, Value};

use super::{answers::Arithmetic, padding::without_zeros};
use crate::{
    arithmetic::{Evaluator, KEYS, Rule},
    isa::Instruction,
    power::{
        RulePair, equal, proof,
        values::{get, set},
    },
};

/// Keys whose tables say one thing.
const WHOLE: &[&str] = &["split", "parts"];
/// Keys that say nothing of the arithmetic.
const NOTHING: &[&str] = &["instructions", "evidence"];

/// The rules of two arithmetics, and what each is for.
pub(super) struct Rules {
    /// The rules, as model files write them.
    pub(super) tables: [Table; 2],
    /// The instructions, of one name.
    pub(super) instructions: [Instruction; 2],
    /// The rows and columns of the inputs.
    pub(super) shape: (usize, usize),
}

/// Which of two rules, or sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    X,
    Y,
}

/// A key in which two rules differ, and which no operands show.
#[derive(Debug, Clone, PartialEq)]
pub struct Unobservable {
    /// The key.
    pub key: String,
    /// Its values.
    pub values: [Option<Value>; 2],
    /// Why no operands show it.
    pub reason: String,
}

/// The rule that a table writes.
pub(super) fn rule(table: &Table) -> Option<Rule> {
    Rule::read(table).ok()
}

impl Rules {
    /// The arithmetic of one of the rules with the other's values of some keys; `None` where the language refuses it.
    pub(super) fn between(&self, which: Which, keys: &[String]) -> Option<Arithmetic> {
        let (m, n) = self.shape;
        Arithmetic::of(&rule(&self.table(which, keys))?, &self.instructions[which as usize], m, n).ok()
    }

    fn table(&self, which: Which, keys: &[String]) -> Table {
        let other = &self.tables[1 - which as usize];
        let mut table = self.tables[which as usize].clone();
        for key in keys {
            set(&mut table, &key.split('.').collect::<Vec<_>>(), get(other, key).cloned());
        }
        table
    }

    /// The value of a key in both rules.
    pub(super) fn values(&self, key: &str) -> [Option<Value>; 2] {
        self.tables.each_ref().map(|table| get(table, key).cloned())
    }

    /// The keys in which the rules differ, in the order of the language's table, those of nodes after the others.
    pub(super) fn keys(&self) -> Vec<String> {
        let order: Vec<String> = KEYS
            .iter()
            .flat_map(|key| key.settings())
            .filter(|(_, setting)| setting.has_near_values())
            .map(|(path, _)| path)
            .collect();
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

    /// Takes over into the first rule the other's values of keys that no operands show; what they are. The rules are then those of
    /// the same two arithmetics. If no key is left, the arithmetics are the same.
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
            self.tables[0] = self.table(Which::X, std::slice::from_ref(&key));
            settled.push(Unobservable { key, values, reason });
        }
    }

    /// Why the first rule with the other's value of a key has the same results.
    fn unobservable(&self, key: &str) -> Option<String> {
        let i = &self.instructions[0];
        let rules = [rule(&self.tables[0])?, rule(&self.table(Which::X, &[key.to_string()]))?];
        let [one, other] = rules.each_ref().map(|rule| Evaluator::of(rule, i).ok());
        let pair = RulePair { instruction: i, rules: [&rules[0], &rules[1]], evaluators: [&one?, &other?] };
        proof(&pair, key)
    }

    /// Why both arithmetics are the same, if their programs are.
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

/// The keys in which two rules of one instruction differ, with their values, but for those that no operands show; none where both are the
/// same arithmetic. `None` where the language refuses one of them.
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

/// Adds the keys in which two tables differ.
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
