//! A rule with one change, as a model.

use toml::{Table, Value};

use super::Change;
use crate::{
    Error, Result,
    arithmetic::{Evaluator, Model, Rule},
    isa::Instruction,
};

/// A rule of a model as a TOML table whose values can be changed.
#[derive(Debug, Clone)]
pub struct Changed {
    /// Place of the rule in the model.
    pub index: usize,
    /// Rule, as in the model's file.
    pub table: Table,
    model: Table,
}

impl Changed {
    /// The rule of `model` that covers `instruction`.
    ///
    /// # Errors
    /// The model does not cover the instruction.
    pub fn of(model: &Model, instruction: &Instruction) -> Result<Changed> {
        // The error lists what the model covers.
        model.evaluator(instruction)?;
        let rule = model.rule(instruction).map(|rule| &rule.instructions);
        let index = model.rules.iter().position(|other| Some(&other.instructions) == rule);
        let mut file: Table = toml::from_str(model.text()).map_err(|error| Error::request(error.to_string()))?;
        let rules = file.get_mut("rule").and_then(Value::as_array_mut);
        let (index, rule) = index
            .zip(rules)
            .and_then(|(index, rules)| Some((index, rules.get_mut(index)?)))
            .ok_or_else(|| Error::request(format!("the model '{}' has no rule for {instruction}", model.name)))?;
        let table = rule.as_table().cloned().unwrap_or_default();
        file.remove("rule");
        Ok(Changed { index, table, model: file })
    }

    /// Makes the model whose only rule is this one with `change`; `None` if the language refuses it.
    pub fn model(&self, change: Option<&Change>) -> Option<Model> {
        let (mut rule, mut file) = (self.table.clone(), self.model.clone());
        if let Some(change) = change {
            change.apply(&mut rule);
        }
        file.insert("rule".into(), Value::Array(vec![Value::Table(rule)]));
        Model::parse(&file.to_string(), "changed").ok()
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
