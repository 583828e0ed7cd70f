//! Rules of the model language as candidates.

use std::collections::BTreeMap;

use crate::{
    arithmetic::{Evaluator, Evidence, EvidenceSource, Program, Rule},
    isa::Instruction,
};

/// A rule as a candidate for one instruction.
pub(super) fn candidate(rule: Rule, instruction: &Instruction) -> Rule {
    let mut rule = rule;
    let source = EvidenceSource::Assumed { why: "a candidate".into() };
    rule.instructions = vec![instruction.name.clone()];
    rule.evidence =
        vec![Evidence { source, note: None, keys: Vec::new(), instructions: Vec::new(), leaves: BTreeMap::new() }];
    rule
}

/// The program of a rule; `None` where the language refuses it.
pub(super) fn program(rule: &Rule, instruction: &Instruction) -> Option<Program> {
    Program::of(rule, instruction).ok()
}

/// The evaluator of a rule; `None` where the language refuses it.
pub(super) fn evaluator(rule: &Rule, instruction: &Instruction) -> Option<Evaluator> {
    Evaluator::of(rule, instruction).ok()
}

/// The rule that `text` says, for one instruction.
#[cfg(test)]
pub(super) fn rule(text: &str, instruction: &Instruction) -> Option<Rule> {
    let head = "instructions = ['*']\nevidence = [{ assumed = 'a test' }]\n";
    Some(candidate(toml::from_str(&format!("{head}{text}")).ok()?, instruction))
}
