//! Model files: reading, checking and finding them.

use std::path::Path;

use serde::Deserialize;

use super::{Evaluator, Rule, pattern, rule::Step};
use crate::{Error, Result, isa::Instruction, nearest::nearest};

/// The models inside the program: name and text.
const SHIPPED: &[(&str, &str)] = &[("hopper", include_str!("../../models/hopper.toml"))];

/// The arithmetic of a family of matrix instructions, as a model file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name: `hopper`.
    pub name: String,
    /// What it describes, in a few words.
    pub title: String,
    /// Version of this description; it grows with every change of a rule.
    pub version: u32,
    /// The rules; the first whose pattern matches an instruction holds.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// The names of the models inside the program.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

impl Model {
    /// The model with this name, or in this file.
    ///
    /// # Errors
    /// A name that is neither shipped nor a readable file; a file that is not a model (the message gives file,
    /// line, key and what is allowed).
    pub fn load(name: &str) -> Result<Model> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Model::parse(text, &format!("models/{name}.toml"));
        }
        let path = Path::new(name);
        if !path.exists() && !name.contains(['/', '.']) {
            return Err(Error::request(format!(
                "unknown model '{name}'; the nearest shipped one is {}. A model file is named by its path",
                nearest(name, shipped(), 1).join(", ")
            )));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::request(format!("the model file {name} cannot be read: {error}")))?;
        Model::parse(&text, name)
    }

    /// The model that `text` describes; `origin` names it in messages.
    ///
    /// # Errors
    /// Unknown keys, missing rules, impossible values: with line and key.
    pub fn parse(text: &str, origin: &str) -> Result<Model> {
        let model: Model = toml::from_str(text).map_err(|error| Error::request(format!("{origin}: {error}")))?;
        for (index, rule) in model.rules.iter().enumerate() {
            if let Some(defect) = defect(rule) {
                let named = rule.instructions.first().map_or("", String::as_str);
                return Err(Error::request(format!("{origin}: rule {} ('{named}'): {defect}", index + 1)));
            }
        }
        Ok(model)
    }

    /// The rule that covers `instruction`, if one does.
    pub fn rule(&self, instruction: &Instruction) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.instructions.iter().any(|p| pattern::matches(p, &instruction.name)))
    }

    /// The evaluator of `instruction`.
    ///
    /// # Errors
    /// A request error that says what the model covers, if not this instruction.
    pub fn evaluator(&self, instruction: &Instruction) -> Result<Evaluator> {
        let rule = self.rule(instruction).ok_or_else(|| {
            let covered: Vec<&str> =
                self.rules.iter().flat_map(|r| r.instructions.iter().map(String::as_str)).collect();
            Error::request(format!(
                "the model '{}' does not cover {}; it covers {}",
                self.name,
                instruction.name,
                covered.join(", ")
            ))
        })?;
        Evaluator::new(rule, instruction)
    }
}

/// What is wrong with a rule that its types cannot say.
fn defect(rule: &Rule) -> Option<String> {
    if rule.instructions.is_empty() {
        return Some("'instructions' names no pattern".into());
    }
    if let Some((p, defect)) = rule.instructions.iter().find_map(|p| pattern::defect(p).map(|d| (p, d))) {
        return Some(format!("pattern '{p}': {defect}"));
    }
    if rule.group == Some(0) {
        return Some("'group' must be at least 1".into());
    }
    if let Some(parts) = &rule.parts {
        let mut seen: Vec<usize> = parts.residues.concat();
        seen.sort_unstable();
        if seen != (0..parts.period).collect::<Vec<_>>() {
            return Some("'parts.residues' must hold every remainder below 'period' exactly once".into());
        }
    }
    let needed: &[(&str, bool)] = match rule.step {
        Step::Fused => {
            &[("alignment", rule.alignment.is_some()), ("result", rule.result.is_some()), ("nan", rule.nan.is_some())]
        }
        Step::Fma => &[("result", rule.result.is_some()), ("nan", rule.nan.is_some())],
        Step::Integer => &[("wrap", rule.wrap.is_some())],
    };
    if let Some((key, _)) = needed.iter().find(|(_, present)| !present) {
        return Some(format!("the key '{key}' is missing; step '{:?}' needs it", rule.step).to_lowercase());
    }
    if rule.nan_operands.is_some() && rule.step != Step::Fma {
        return Some("'nan-operands' belongs to step 'fma'".into());
    }
    let bits = rule.alignment.map_or(0, |a| a.bits);
    (!(0..=60).contains(&bits)).then(|| format!("'alignment.bits' is {bits}; allowed are 0 to 60"))
}
