//! One-step changes of a rule: the near values of each key of the model language.

use toml::{Table, Value};

use super::values::{get, has_place, set, shown};
use crate::{
    arithmetic::{Place, Setting, settings},
    isa::Instruction,
};

/// A rule with another value of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Path of the key: `alignment.bits`, `node.even.alignment.bits`.
    pub key: String,
    /// Value in the rule, given or by default; `None` if there is none.
    pub from: Option<Value>,
    /// Other value.
    pub to: Option<Value>,
    /// True if it belongs to a range of numbers, and is not a neighbour.
    pub ranged: bool,
}

impl Change {
    /// The other value in words.
    pub fn to(&self) -> String {
        shown(self.to.as_ref())
    }

    /// Applies the change to a rule.
    pub fn apply(&self, rule: &mut Table) {
        set(rule, &self.key.split('.').collect::<Vec<_>>(), self.to.clone());
    }

    /// The value in the rule in words.
    pub fn from(&self) -> String {
        shown(self.from.as_ref())
    }
}

/// Lists the one-step changes of a rule for an instruction.
/// Near values of a key come neighbours first.
///
/// Keys of nodes are included. Some changes make no valid rule, which shows when a model is made.
pub fn changes(rule: &Table, instruction: &Instruction) -> Vec<Change> {
    let place = Place::of(instruction);
    of_keys(rule, |setting, table, value| setting.near_values(table, &place, value))
}

/// Lists the changes of a rule to values that only a search for an unknown rule tries.
pub fn searched(rule: &Table, instruction: &Instruction) -> Vec<Change> {
    let place = Place::of(instruction);
    of_keys(rule, |setting, table, value| {
        setting.searched_values(table, &place, value).into_iter().map(|to| (to, false)).collect()
    })
}

/// The changes of the keys of a rule and its nodes to other values, each with [`Change::ranged`].
fn of_keys(
    rule: &Table,
    others: impl Fn(&Setting, &Table, Option<&Value>) -> Vec<(Option<Value>, bool)>,
) -> Vec<Change> {
    let nodes = rule.get("node").and_then(Value::as_table);
    let nodes =
        nodes.into_iter().flatten().filter_map(|(name, node)| Some((format!("node.{name}."), node.as_table()?)));
    let mut all = Vec::new();
    for (within, table) in std::iter::once((String::new(), rule)).chain(nodes) {
        for (path, setting) in settings().filter(|(path, _)| has_place(table, path)) {
            let usual = setting.usual_value();
            let value = get(table, &path).or(usual.as_ref());
            let change = |(to, ranged)| Change { key: format!("{within}{path}"), from: value.cloned(), to, ranged };
            all.extend(others(setting, table, value).into_iter().map(change));
        }
    }
    all
}
