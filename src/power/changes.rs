//! One-step changes of a rule: for each key of the model language the values that are near to the one it has.

use toml::{Table, Value};

use super::values::{get, has_place, set, shown};
use crate::{
    arithmetic::{KEYS, Place},
    isa::Instruction,
};

/// A rule with another value of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The key, with the tables that it lies in: `alignment.bits`, `node.even.alignment.bits`.
    pub key: String,
    /// The value that the rule has, also where it is the one that is meant without the key; `None`: there is none.
    pub from: Option<Value>,
    /// The other value.
    pub to: Option<Value>,
    /// Whether it is one of a range of numbers that is looked through, rather than a neighbour.
    pub ranged: bool,
}

impl Change {
    /// The other value, as a reader sees it.
    pub fn to(&self) -> String {
        shown(self.to.as_ref())
    }

    /// Changes a rule.
    pub fn apply(&self, rule: &mut Table) {
        set(rule, &self.key.split('.').collect::<Vec<_>>(), self.to.clone());
    }

    /// The value that the rule has, as a reader sees it.
    pub fn from(&self) -> String {
        shown(self.from.as_ref())
    }
}

/// The one-step changes of the rule `rule` for an instruction: of each key, in the order of the language's table, the near values, neighbours first.
///
/// The keys of a node are among those of a rule. Not all changes make rules: whoever makes a model of them finds out.
pub fn changes(rule: &Table, instruction: &Instruction) -> Vec<Change> {
    let place = Place::of(instruction);
    let nodes = rule.get("node").and_then(Value::as_table);
    let nodes =
        nodes.into_iter().flatten().filter_map(|(name, node)| Some((format!("node.{name}."), node.as_table()?)));
    let mut all = Vec::new();
    for (within, table) in std::iter::once((String::new(), rule)).chain(nodes) {
        let settings = KEYS.iter().flat_map(|key| key.settings()).filter(|(path, _)| has_place(table, path));
        for (path, setting) in settings {
            let usual = setting.usual_value();
            let value = get(table, &path).or(usual.as_ref());
            let change = |(to, ranged)| Change { key: format!("{within}{path}"), from: value.cloned(), to, ranged };
            all.extend(setting.near_values(table, &place, value).into_iter().map(change));
        }
    }
    all
}
