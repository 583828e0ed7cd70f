//! A rule with one change, as a model.

use super::{Change, changes::changed};
use crate::{
    Result,
    arithmetic::{Evaluator, Model, Rule},
    isa::Instruction,
};

/// A rule of a model that can be changed.
#[derive(Debug, Clone)]
pub struct Changed {
    /// Place of the rule in the model.
    pub index: usize,
    /// The rule.
    pub rule: Rule,
    model: Model,
}

impl Changed {
    /// The rule of `model` that covers `instruction`.
    ///
    /// # Errors
    /// The model does not cover the instruction.
    pub fn of(model: &Model, instruction: &Instruction) -> Result<Changed> {
        // The error lists what the model covers.
        let Some(rule) = model.rule(instruction) else {
            return Err(model.lacks(&instruction.name, instruction.support));
        };
        model.evaluator(instruction)?;
        let index = model.rules.iter().position(|other| std::ptr::eq(other, rule)).unwrap_or_default();
        Ok(Changed { index, rule: rule.clone(), model: model.clone() })
    }

    /// Makes the model whose only rule is this one with `change`; `None` if the language refuses it.
    pub fn model(&self, change: Option<&Change>) -> Option<Model> {
        self.model.with(&changed(&self.rule, change)?).ok()
    }
}

/// A rule and the changed rule, for one instruction.
pub struct RulePair<'a> {
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The rules.
    pub rules: [&'a Rule; 2],
    /// Their evaluators.
    pub evaluators: [&'a Evaluator; 2],
}
