//! Model files: reading, checking and finding them.

use std::path::Path;

use serde::Deserialize;

use super::{
    Evaluator, Rule,
    language::{check::defect, pattern},
};
use crate::{Error, Result, isa::Instruction, nearest::nearest, text};

/// The models inside the program: name and text.
#[rustfmt::skip]
const SHIPPED: [(&str, &str); 11] = [
    ("volta", include_str!("../../models/volta.toml")),
    ("turing", include_str!("../../models/turing.toml")),
    ("ampere", include_str!("../../models/ampere.toml")),
    ("ada", include_str!("../../models/ada.toml")),
    ("hopper", include_str!("../../models/hopper.toml")),
    ("blackwell", include_str!("../../models/blackwell.toml")),
    ("blackwell-rtx", include_str!("../../models/blackwell-rtx.toml")),
    ("cdna1", include_str!("../../models/cdna1.toml")),
    ("cdna2", include_str!("../../models/cdna2.toml")),
    ("cdna3", include_str!("../../models/cdna3.toml")),
    ("cdna4", include_str!("../../models/cdna4.toml")),
];

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
    /// The architectures of the instruction table that it describes (`sm_90a`); it may describe others, and none here.
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

    /// The rule that covers `instruction`, if one does.
    pub fn rule(&self, instruction: &Instruction) -> Option<&Rule> {
        self.position(instruction).map(|index| &self.rules[index])
    }

    fn position(&self, instruction: &Instruction) -> Option<usize> {
        let covers = |rule: &Rule| rule.instructions.iter().any(|p| pattern::matches(p, &instruction.name));
        self.rules.iter().position(covers)
    }

    /// The evaluator of `instruction`.
    ///
    /// # Errors
    /// A request error: the model does not cover the instruction (with what it covers), or its rule cannot hold for the
    /// instruction's formats (with file, rule and key).
    pub fn evaluator(&self, instruction: &Instruction) -> Result<Evaluator> {
        let index = self.position(instruction).ok_or_else(|| {
            let covered: Vec<&str> =
                self.rules.iter().flat_map(|r| r.instructions.iter().map(String::as_str)).collect();
            Error::request(format!(
                "the model '{}' does not cover {}; it covers {}",
                self.name,
                instruction.name,
                covered.join(", ")
            ))
        })?;
        Evaluator::new(&self.rules[index], instruction)
            .map_err(|defect| self.refused(index, &format!("for {instruction}: {defect}")))
    }
}
