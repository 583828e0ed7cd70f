//! Wrong models: the shipped one with one key of one rule changed.

// Every test program compiles this file and uses a part of it.
#![allow(dead_code)]

use tcnum::{
    arithmetic::{Evaluator, Model},
    isa::Instruction,
};
use toml::{Table, Value};

const MODEL: &str = include_str!("../../models/hopper.toml");

/// One change of the rule of an instruction.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    /// Adds to a number.
    Add(&'static str, i64),
    /// Sets a key, written as TOML.
    Set(&'static str, &'static str),
    /// Removes a key.
    Remove(&'static str),
}

/// The model of Hopper.
pub(crate) fn hopper() -> Model {
    Model::parse(MODEL, "hopper").unwrap()
}

/// The model of Hopper whose rule for `i` is changed.
pub(crate) fn changed(i: &Instruction, edit: &Edit) -> Evaluator {
    Model::parse(&changed_file(i, edit), "changed").unwrap().evaluator(i).unwrap()
}

/// The text of that model's file.
pub(crate) fn changed_file(i: &Instruction, edit: &Edit) -> String {
    let index = {
        let model = hopper();
        let rule = model.rule(i).expect("Hopper has the instruction");
        model.rules.iter().position(|other| other.instructions == rule.instructions).unwrap()
    };
    let mut model: Table = MODEL.parse().unwrap();
    let rule = model["rule"][index].as_table_mut().unwrap();
    let (path, value) = match edit {
        Edit::Add(path, by) => (path, Some(Value::Integer(rule_value(rule, path).as_integer().unwrap() + by))),
        Edit::Set(path, text) => (path, Some(format!("value = {text}").parse::<Table>().unwrap()["value"].clone())),
        Edit::Remove(path) => (path, None),
    };
    let before = rule.clone();
    let (table, key) = match path.split_once('.') {
        Some((table, key)) => (rule[table].as_table_mut().unwrap(), key),
        None => (rule, *path),
    };
    match value {
        Some(value) => table.insert(key.into(), value),
        None => table.remove(key),
    };
    assert_ne!(&before, model["rule"][index].as_table().unwrap(), "{i}: {edit:?} changes nothing");
    model.to_string()
}

fn rule_value<'a>(rule: &'a Table, path: &str) -> &'a Value {
    path.split_once('.').map_or_else(|| &rule[path], |(table, key)| &rule[table][key])
}
