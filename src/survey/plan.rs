//! The plan of a survey: its steps, each a command, and the generation before each model.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The plan, as a TOML table.
const PLAN: &str = include_str!("plan.toml");

/// The plan of a survey.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// The steps, in their order.
    #[serde(rename = "step")]
    pub(super) steps: Vec<Step>,
    /// The comparison with each model that may be the nearest.
    pub(super) nearest: Step,
    /// The generation before each model.
    before: BTreeMap<String, String>,
}

/// A step of a survey.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// The name, which its files have.
    pub(super) name: String,
    /// The command, without device and output.
    command: String,
    /// The instructions that it is for.
    pub(super) of: Chosen,
    /// Most instructions of one command.
    #[serde(default = "all")]
    pub(super) most: usize,
    /// True if the command makes other files, so that the result is an additional one.
    #[serde(default)]
    pub(super) also: bool,
    /// The condition.
    pub(super) only: Option<Condition>,
}

/// The instructions of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Chosen {
    /// All that the device runs.
    Every,
    /// Those that the model covers.
    Covered,
    /// Those that the model does not cover, or that differ from it.
    Unlike,
    /// Those that the draft and the model before describe.
    Described,
    /// No instruction: the command stands for itself.
    None,
}

/// The condition of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Condition {
    /// Errors of operations, chains and emulated products are asked for.
    Errors,
    /// Costs are asked for, and the device has a clock.
    Cost,
    /// The device may have scalar instructions.
    Scalar,
}

/// The words behind the names in capitals of a command.
pub(super) type Meanings<'a> = [(&'static str, Vec<&'a str>)];

fn all() -> usize {
    usize::MAX
}

impl Plan {
    /// The plan of the program.
    pub(super) fn shipped() -> Plan {
        toml::from_str(PLAN).expect("the table is a plan")
    }

    /// The shipped model of the generation before `model` that is not withheld.
    pub(super) fn before(&self, model: &str, withheld: &[String]) -> Option<&str> {
        let before = self.before.get(model)?;
        match withheld.contains(before) {
            true => self.before(before, withheld),
            false => Some(before),
        }
    }
}

impl Step {
    /// The words of the command, with the meanings of its names.
    pub(super) fn words(&self, meanings: &Meanings) -> Vec<String> {
        let mut words = Vec::new();
        for word in self.command.split(' ') {
            match meanings.iter().find(|(name, _)| *name == word) {
                Some((_, meaning)) => words.extend(meaning.iter().map(ToString::to_string)),
                None => {
                    let single = meanings.iter().filter_map(|(name, meaning)| Some((*name, *meaning.first()?)));
                    let part = |word: String, (name, meaning): (&str, &str)| match word.contains(name) {
                        true => word.replacen(name, meaning, 1),
                        false => word,
                    };
                    // Only words with a path hold a name within.
                    words.push(if word.contains('/') { single.fold(word.into(), part) } else { word.into() });
                }
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::shipped;

    #[test]
    fn the_generations_of_the_plan_are_shipped_models() {
        let plan = Plan::shipped();
        for (model, before) in &plan.before {
            assert!([model, before].iter().all(|name| shipped().any(|other| other == **name)), "{model}");
        }
        assert_eq!(plan.before("hopper", &[]), Some("ampere"));
        assert_eq!(plan.before("hopper", &["ampere".into()]), Some("turing"));
        assert_eq!(plan.before("volta", &[]), None);
    }

    #[test]
    fn a_name_of_a_command_is_replaced_by_its_words() {
        let plan = Plan::shipped();
        let identify = plan.steps.iter().find(|step| step.name == "identify").unwrap();
        let meanings = [
            ("CASES", vec!["10"]),
            ("TIMEOUT", vec!["60"]),
            ("FOLDER", vec!["a b"]),
            ("NAME", vec!["identify-1"]),
            ("WITHOUT", vec![]),
            ("NOTES", vec![]),
        ];
        assert!(identify.words(&meanings).contains(&"a b/identify-1.toml".to_string()));
        assert_eq!(identify.words(&meanings).len(), 7);
    }
}
