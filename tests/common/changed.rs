//! Wrong models: the shipped model of Hopper with a one-step change of an instruction's rule, as `power` makes them.

// Every test program compiles this file and uses a part of it.
#![allow(dead_code)]

use tcnum::{
    arithmetic::{Evaluator, KeyValue, Model},
    isa::Instruction,
};
use tcnum_engine::rule::{Change, Changed, changes, unobservable};

/// Selections of one-step changes of a rule.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Changes {
    /// All neighbours of this key that operands can show.
    Every(&'static str),
    /// Changes of this key to these values, as `power` prints them.
    To(&'static str, &'static [&'static str]),
}

impl Changes {
    /// Makes the changes of the rule for `i`.
    ///
    /// # Panics
    /// If there are none, or none to one of the values.
    pub(crate) fn of(&self, i: &Instruction) -> Vec<Change> {
        match self {
            Changes::To(key, values) => values.iter().map(|to| change(i, key, to)).collect(),
            Changes::Every(key) => {
                let every: Vec<Change> = observable(i).into_iter().filter(|change| change.key == *key).collect();
                assert!(!every.is_empty(), "{i}: no change of {key} can be observed");
                every
            }
        }
    }
}

/// The model of Hopper.
pub(crate) fn hopper() -> Model {
    Model::load("hopper").unwrap()
}

fn rule(i: &Instruction) -> Changed {
    Changed::of(&hopper(), i).expect("Hopper has the instruction")
}

/// Finds the change of a key to a value among the changes that `power` makes; `value` is as `power` prints it.
///
/// # Panics
/// If `power` makes no such change.
pub(crate) fn change(i: &Instruction, key: &str, to: &str) -> Change {
    let all = changes(&rule(i).rule, i);
    let change = all.iter().find(|change| change.key == key && change.to() == to);
    let others = || all.iter().filter(|change| change.key == key).map(Change::to).collect::<Vec<_>>();
    change.cloned().unwrap_or_else(|| panic!("{i}: no change of {key} to {to} among {:?}", others()))
}

/// Changes a number of the rule to another one.
pub(crate) fn change_to_number(i: &Instruction, key: &str, to: i64) -> Change {
    let all = changes(&rule(i).rule, i);
    let near = all.into_iter().find(|change| change.key == key).unwrap_or_else(|| panic!("{i}: no change of {key}"));
    Change { to: Some(KeyValue::Number(to)), ..near }
}

/// Changes a number by one step up or down.
pub(crate) fn step(i: &Instruction, key: &str, by: i64) -> Change {
    let all = changes(&rule(i).rule, i);
    let now = all.iter().find(|change| change.key == key).and_then(|change| change.from.as_ref()?.number());
    change(i, key, &(now.unwrap_or_else(|| panic!("{i}: {key} is no number")) + by).to_string())
}

/// Neighbours of the rule that the language accepts and that are not provably unobservable.
pub(crate) fn observable(i: &Instruction) -> Vec<Change> {
    let (model, rule) = (hopper(), rule(i));
    let can_show = |change: &Change| {
        let changed = rule.model(Some(change)).filter(|changed| changed.evaluator(i).is_ok());
        changed.is_some_and(|changed| unobservable(&model, &changed, i, change).is_none())
    };
    changes(&rule.rule, i).into_iter().filter(|change| !change.ranged && can_show(change)).collect()
}

/// The model whose only rule is the changed one.
pub(crate) fn changed_model(i: &Instruction, change: &Change) -> Model {
    rule(i).model(Some(change)).unwrap_or_else(|| panic!("{i}: {change:?} makes no model"))
}

/// The changed arithmetic of `i`.
pub(crate) fn changed(i: &Instruction, change: &Change) -> Evaluator {
    changed_model(i, change).evaluator(i).unwrap()
}
