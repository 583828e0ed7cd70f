//! Rules of the model language as tables that can be changed.

use toml::{Table, Value};

use crate::{
    arithmetic::{Evaluator, Program, Rule},
    isa::Instruction,
};

/// The rule that `text` says, for one instruction.
pub(super) fn rule(text: &str, instruction: &Instruction) -> Option<Table> {
    let mut rule: Table = text.parse().ok()?;
    rule.insert("instructions".into(), Value::Array(vec![Value::String(instruction.name.clone())]));
    let guess = Table::from_iter([("assumed".to_string(), Value::from("a candidate"))]);
    rule.insert("evidence".into(), Value::Array(vec![Value::Table(guess)]));
    Some(rule)
}

/// The program of a rule; `None` where the language refuses it.
pub(super) fn program(rule: &Table, instruction: &Instruction) -> Option<Program> {
    Program::of(&Rule::read(rule).ok()?, instruction).ok()
}

/// The evaluator of a rule; `None` where the language refuses it.
pub(super) fn evaluator(rule: &Table, instruction: &Instruction) -> Option<Evaluator> {
    Evaluator::of(&Rule::read(rule).ok()?, instruction).ok()
}
