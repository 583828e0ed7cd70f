//! Model files: reading, checking and finding them.

use std::path::Path;

use serde::Deserialize;

use super::{
    Evaluator, Rule,
    language::{check::defect, pattern},
    shipped::{self, of_target, shipped},
};
use crate::{
    Error, Result,
    isa::{Instruction, Support, targets},
    nearest::nearest,
    text,
};

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
    /// The targets whose GPUs it describes (`sm_90a`): it covers what they have. One that names none covers all that its
    /// patterns match.
    #[serde(default)]
    pub architectures: Vec<String>,
    /// The rules; the first whose pattern matches an instruction holds.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// Where it was read from, for messages.
    #[serde(skip)]
    origin: String,
    /// The file, for messages.
    #[serde(skip)]
    text: String,
}

impl Model {
    /// The model with this name, or in this file; as of a device, `model:` may stand before it.
    ///
    /// # Errors
    /// A name that is neither shipped nor a readable file; a file that is not a model (the message gives file,
    /// line, key and what is allowed).
    pub fn load(name: &str) -> Result<Model> {
        let name = name.strip_prefix("model:").unwrap_or(name);
        if let Some(text) = shipped::text(name) {
            return Model::parse(text, &format!("models/{name}.toml"));
        }
        let path = Path::new(name);
        if !path.exists() && !name.contains(['/', '.']) {
            return Err(Error::request(format!(
                "unknown model '{name}'; the nearest shipped one is {}. A model file is named by its path",
                nearest(name, shipped(), 1).join(", ")
            )));
        }
        let text = text::read(path, "the model file")?;
        Model::parse(&text, name)
    }

    /// The model that `text` describes; `origin` names it in messages.
    ///
    /// # Errors
    /// Unknown keys, missing rules, impossible values: with line and key.
    pub fn parse(text: &str, origin: &str) -> Result<Model> {
        let mut model: Model = toml::from_str(text)
            .map_err(|error| Error::request(format!("{origin}: {}", error.to_string().trim_end())))?;
        (model.origin, model.text) = (origin.into(), text.into());
        if model.rules.is_empty() {
            return Err(Error::request(format!("{origin}: there is no [[rule]], so it covers no instruction")));
        }
        if let Some(unknown) = model.architectures.iter().find(|name| targets::all().iter().all(|t| t.name != **name)) {
            let known: Vec<&str> = targets::all().iter().map(|target| target.name).collect();
            let line =
                text.lines().position(|line| line.trim_start().starts_with("architectures")).map_or(0, |at| at + 1);
            return Err(Error::request(format!(
                "{origin}, line {line}: 'architectures' has '{unknown}', which is none of {}; without the key a model covers all \
                 that its patterns match",
                known.join(", ")
            )));
        }
        match model.rules.iter().enumerate().find_map(|(index, rule)| Some((index, defect(rule)?))) {
            Some((index, defect)) => Err(model.refused(index, &defect)),
            None => Ok(model),
        }
    }

    /// The error for the rule at `index`.
    fn refused(&self, index: usize, defect: &str) -> Error {
        let named = self.rules[index].instructions.first().map_or("", String::as_str);
        let line = self.line(index, defect).map_or_else(String::new, |line| format!(", line {line}"));
        Error::request(format!("{}: rule {} ('{named}'){line}: {defect}", self.origin, index + 1))
    }

    /// The line of the key of the rule at `index` that a defect names first, else that of the rule.
    fn line(&self, index: usize, defect: &str) -> Option<usize> {
        let lines = || (1..).zip(self.text.lines().map(str::trim));
        let (start, _) = lines().filter(|(_, line)| line.starts_with("[[rule]]")).nth(index)?;
        let named = defect.split('\'').nth(1).unwrap_or_default();
        let key = match defect.split_once('\'') {
            // A node has lines of its own: `node.NAME = ...`, or a table `[rule.node.NAME]`.
            Some((before, _)) if before.ends_with("node ") => format!("node.{named}"),
            _ => named.split('.').next().unwrap_or_default().to_string(),
        };
        let names = |line: &str| {
            let rest = line.strip_prefix(&key).or_else(|| line.strip_prefix("[rule.")?.strip_prefix(&key));
            rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.', ']']))
        };
        let mut own = lines().skip(start).take_while(|(_, line)| !line.starts_with("[[")).filter(|_| !key.is_empty());
        Some(own.find(|(_, line)| names(line)).map_or(start, |(at, _)| at))
    }

    /// Whether an instruction's name matches a pattern of the model files.
    pub fn matches(pattern: &str, name: &str) -> bool {
        pattern::matches(pattern, name)
    }

    /// Whether one of the targets of `support` is of the generation that the model describes; every one is for a model that
    /// describes none.
    pub fn has(&self, support: &[Support]) -> bool {
        let own = |support: &Support| self.architectures.iter().any(|name| name == support.architecture);
        self.architectures.is_empty() || support.iter().any(own)
    }

    /// The rule that covers `instruction`, if one does: its generation has it, and a pattern matches.
    pub fn rule(&self, instruction: &Instruction) -> Option<&Rule> {
        self.position(instruction).map(|index| &self.rules[index])
    }

    fn position(&self, instruction: &Instruction) -> Option<usize> {
        let covers = |rule: &Rule| rule.instructions.iter().any(|p| pattern::matches(p, &instruction.name));
        self.has(instruction.support).then(|| self.rules.iter().position(covers)).flatten()
    }

    /// The evaluator of `instruction`.
    ///
    /// # Errors
    /// A request error: the model does not cover the instruction (with who has it), or its rule cannot hold for the
    /// instruction's formats (with file, rule and key).
    pub fn evaluator(&self, instruction: &Instruction) -> Result<Evaluator> {
        let index = self.position(instruction).ok_or_else(|| self.lacks(&instruction.name, instruction.support))?;
        Evaluator::new(&self.rules[index], instruction)
            .map_err(|defect| self.refused(index, &format!("for {instruction}: {defect}")))
    }

    /// The error for an instruction that it does not cover, or that its generation lacks.
    pub fn lacks(&self, name: &str, support: &[Support]) -> Error {
        if self.has(support) {
            return Error::request(format!("the model '{}' does not cover {name}; {}", self.name, self.listed()));
        }
        let described = |support: &Support| match of_target(support.architecture) {
            Some(model) => format!("{} (model {model})", support.architecture),
            None => support.architecture.to_string(),
        };
        Error::request(format!(
            "the model '{}' does not cover {name}: {} {} not have it; these do: {}",
            self.name,
            self.architectures.join(" and "),
            if self.architectures.len() == 1 { "does" } else { "do" },
            support.iter().map(described).collect::<Vec<_>>().join(", ")
        ))
    }

    /// Where its rules are listed, for messages.
    pub fn listed(&self) -> String {
        let name = if shipped::text(&self.name) == Some(&self.text) { &self.name } else { &self.origin };
        format!("`tcnum models {name}` lists what it covers")
    }
}
