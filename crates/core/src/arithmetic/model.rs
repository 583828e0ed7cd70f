//! Model files: reading, checking and finding them.

use std::path::Path;

use toml::{Table, Value};

use super::{
    Evaluator, Model, Program, Rule, disclosure,
    language::{file::Defect, pattern},
    shipped::{self, of_target},
};
use crate::{
    Error, Result,
    base::text,
    isa::{Instruction, Support, targets},
};

impl Model {
    /// Model with this name or alias, or in this file; `model:` may precede it, as for a device.
    /// A file whose name ends in `.csv` is a [disclosure](disclosure).
    ///
    /// # Errors
    /// A name that is neither shipped nor a readable file; a file that is not a model (with file, line, key and allowed
    /// values).
    pub fn load(name: &str) -> Result<Model> {
        let name = name.strip_prefix("model:").unwrap_or(name);
        if let Some((name, text)) = shipped::named(name).and_then(|name| Some((name, shipped::text(name)?))) {
            return Model::parse(text, &format!("models/{name}.toml"));
        }
        let path = Path::new(name);
        if !path.exists() && !name.contains(['/', '.']) {
            return Err(Error::request(format!(
                "'{}' is not a model; did you mean {}? `tcnum models` lists all; a model file is named by its path",
                name.escape_debug(),
                shipped::suggested(name, &[])
            )));
        }
        let text = text::read(path, "the model file")?;
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
            return Model::parse(&disclosure::model_text(&disclosure::read(&text, name)?), name);
        }
        Model::parse(&text, name)
    }

    /// Model that `text` describes; `origin` names it in messages.
    ///
    /// # Errors
    /// Unknown keys, missing rules, impossible values: with line and key.
    pub fn parse(text: &str, origin: &str) -> Result<Model> {
        let model = Model::read(text, origin)
            .map_err(|error| Error::request(format!("{origin}: {}", error.to_string().trim_end())))?;
        if let Some(unknown) = model.architectures.iter().find(|name| targets::all().iter().all(|t| t.name != **name)) {
            let known: Vec<&str> = targets::all().iter().map(|target| target.name).collect();
            let line =
                text.lines().position(|line| line.trim_start().starts_with("architectures")).map_or(0, |at| at + 1);
            return Err(Error::request(format!(
                "{origin}, line {line}: 'architectures' names '{unknown}', which is none of {}; without the key a model covers all \
                 that its patterns match",
                known.join(", ")
            )));
        }
        match model.defect() {
            Some(defect) => Err(model.refused(&defect)),
            None => Ok(model),
        }
    }

    /// Model of the same name whose only rule is `rule`.
    ///
    /// # Errors
    /// A rule that the language refuses.
    pub fn with(&self, rule: &Rule) -> Result<Model> {
        let texts = [("name", &self.name), ("title", &self.title)].map(|(key, text)| (key, Value::from(text.as_str())));
        let names = self.architectures.iter().map(|name| Value::from(name.as_str()));
        let head =
            [("version", Value::from(i64::from(self.version))), ("architectures", Value::Array(names.collect()))];
        let rules = ("rule", Value::Array(vec![Value::Table(rule.table())]));
        let file = texts.into_iter().chain(head).chain([rules]).map(|(key, value)| (key.to_string(), value));
        Model::parse(&file.collect::<Table>().to_string(), "changed")
    }

    /// Error for a defect of a rule.
    fn refused(&self, Defect { rule, line, what }: &Defect) -> Error {
        let line = line.map_or_else(String::new, |line| format!(", line {line}"));
        Error::request(format!("{}: {rule}{line}: {what}", self.origin()))
    }

    /// True if an instruction's name matches a pattern of the model files.
    pub fn matches(pattern: &str, name: &str) -> bool {
        pattern::matches(pattern, name)
    }

    /// True if the model covers one of the targets of `support`.
    /// A model without targets covers all. An instruction without targets (a user's) belongs to all.
    pub fn has(&self, support: &[Support]) -> bool {
        let listed = |support: &Support| self.architectures.iter().any(|name| name == support.architecture);
        self.architectures.is_empty() || support.is_empty() || support.iter().any(listed)
    }

    /// Rule that covers `instruction`: the model has its target, and a pattern matches.
    pub fn rule(&self, instruction: &Instruction) -> Option<&Rule> {
        self.position(instruction).map(|index| &self.rules[index])
    }

    fn position(&self, instruction: &Instruction) -> Option<usize> {
        let covers = |rule: &Rule| rule.instructions.iter().any(|p| pattern::matches(p, &instruction.name));
        self.has(instruction.support).then(|| self.rules.iter().position(covers)).flatten()
    }

    /// Evaluator of `instruction`.
    ///
    /// # Errors
    /// A request error: the model does not cover the instruction (with the models that do), or its rule does not fit
    /// the instruction's formats (with file, rule and key), or draws random bits for its last rounding.
    pub fn evaluator(&self, instruction: &Instruction) -> Result<Evaluator> {
        let program = self.program(instruction)?;
        match program.inconstant() {
            Some(why) => Err(Error::request(format!("{}: {why}", self.origin()))),
            None => Ok(Evaluator::new(program)),
        }
    }

    /// Program of `instruction`, which its evaluator runs.
    ///
    /// # Errors
    /// Like [`Model::evaluator`].
    pub fn program(&self, instruction: &Instruction) -> Result<Program> {
        let index = self.position(instruction).ok_or_else(|| self.lacks(&instruction.name, instruction.support))?;
        Program::of(&self.rules[index], instruction)
            .map_err(|defect| self.refused(&self.located(index, format!("for {instruction}: {defect}"))))
    }

    /// Error for an instruction that it does not cover, or that its generation lacks.
    pub fn lacks(&self, name: &str, support: &[Support]) -> Error {
        if self.has(support) {
            return Error::unavailable(format!("the model '{}' does not cover {name}; {}", self.name, self.listed()));
        }
        let described = |support: &Support| match of_target(support.architecture) {
            Some(model) => format!("{} (model {model})", support.architecture),
            None => support.architecture.to_string(),
        };
        Error::unavailable(format!(
            "the model '{}' does not cover {name}: {} {} not have it; these do: {}",
            self.name,
            self.architectures.join(" and "),
            if self.architectures.len() == 1 { "does" } else { "do" },
            support.iter().map(described).collect::<Vec<_>>().join(", ")
        ))
    }

    /// Command or place that lists its rules, for messages.
    pub fn listed(&self) -> String {
        let name = if shipped::text(&self.name) == Some(self.text()) { &self.name } else { self.origin() };
        format!("`tcnum models {name}` lists what it covers")
    }
}
