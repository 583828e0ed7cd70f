//! Candidates: rules of the model language as tables that can be changed.

use toml::{Table, Value};

use super::pool::{Measure, Pool};
use crate::{
    arithmetic::{Evaluator, Rule},
    base::interrupt,
    isa::Instruction,
};

/// A rule that may be the device's, and how far it is from what the device answered.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// The rule.
    pub rule: Table,
    /// Its arithmetic, for one row and one column.
    pub evaluator: Evaluator,
    /// Its distance from the answers of the pool that it was judged by.
    pub penalty: u64,
}

impl Candidate {
    /// The candidate with this rule; `None` where the language refuses it, or its penalty exceeds `limit`, and after an interruption.
    pub(super) fn new(rule: Table, pool: &Pool, measure: Measure, limit: u64) -> Option<Candidate> {
        if interrupt::pending().is_some() {
            return None;
        }
        let evaluator = evaluator(&rule, &pool.part)?;
        let penalty = pool.penalty(&evaluator, measure, limit);
        (penalty <= limit).then_some(Candidate { rule, evaluator, penalty })
    }

    /// Judges it by another pool, or by one that has grown.
    pub(super) fn judge(&mut self, pool: &Pool, measure: Measure) {
        self.penalty = pool.penalty(&self.evaluator, measure, u64::MAX);
    }
}

/// The rule that `text` says, for one instruction.
pub(super) fn rule(text: &str, instruction: &Instruction) -> Option<Table> {
    let mut rule: Table = text.parse().ok()?;
    rule.insert("instructions".into(), Value::Array(vec![Value::String(instruction.name.clone())]));
    let guess = Table::from_iter([("assumed".to_string(), Value::from("a candidate"))]);
    rule.insert("evidence".into(), Value::Array(vec![Value::Table(guess)]));
    Some(rule)
}

/// The evaluator of a rule; `None` where the language refuses it.
pub(super) fn evaluator(rule: &Table, instruction: &Instruction) -> Option<Evaluator> {
    Evaluator::of(&Rule::read(rule).ok()?, instruction).ok()
}
