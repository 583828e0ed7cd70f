//! Model files: their keys, and the line of a defective rule.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{check, keys::Rule};

/// Arithmetic of a family of matrix instructions, as described by a model file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Model {
    /// Name: `hopper`.
    pub name: String,
    /// Short description.
    pub title: String,
    /// Version of the description, incremented with every change of a rule.
    pub version: u32,
    /// Targets that it describes (`sm_90a`), whose instructions it covers.
    /// A model without targets covers all instructions that its patterns match.
    #[serde(default)]
    pub architectures: Vec<String>,
    /// Rules; the first one whose pattern matches an instruction holds.
    #[serde(rename = "rule", deserialize_with = "rules")]
    pub rules: Vec<Rule>,
    /// Place of the file, for messages.
    #[serde(skip)]
    origin: String,
    /// Text of the file, for messages.
    #[serde(skip)]
    text: String,
}

/// Defect of a rule of a model file, and its place.
pub(crate) struct Defect {
    /// The rule, by its number and first pattern.
    pub rule: String,
    /// Line of the key, else of the rule; `None` if the rule has no `[[rule]]` of its own.
    pub line: Option<usize>,
    /// The defect, with the key and the allowed values.
    pub what: String,
}

impl Model {
    /// Model that `text` describes, its rules unchecked; `origin` names it in messages.
    ///
    /// # Errors
    /// Text that is not TOML; unknown and missing keys; values of the wrong type.
    pub(crate) fn read(text: &str, origin: &str) -> Result<Model, toml::de::Error> {
        let model: Model = toml::from_str(text)?;
        Ok(Model { origin: origin.into(), text: text.into(), ..model })
    }

    /// Text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Place of the file.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Defect of the first defective rule.
    pub(crate) fn defect(&self) -> Option<Defect> {
        let (index, what) = self.rules.iter().enumerate().find_map(|(at, rule)| Some((at, check::defect(rule)?)))?;
        Some(self.located(index, what))
    }

    /// Defect `what` of the rule at `index`.
    pub(crate) fn located(&self, index: usize, what: String) -> Defect {
        let named = self.rules[index].instructions.first().map_or("", String::as_str);
        Defect { rule: format!("rule {} ('{named}')", index + 1), line: self.line(index, &what), what }
    }

    /// Line of the key that a defect of the rule at `index` names first, else that of the rule.
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
        let mut rule_lines =
            lines().skip(start).take_while(|(_, line)| !line.starts_with("[[")).filter(|_| !key.is_empty());
        Some(rule_lines.find(|(_, line)| names(line)).map_or(start, |(at, _)| at))
    }
}

/// Rules, at least one.
fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    let rules = Vec::deserialize(deserializer)?;
    if rules.is_empty() {
        return Err(D::Error::custom("there is no [[rule]], so it covers no instruction"));
    }
    Ok(rules)
}
