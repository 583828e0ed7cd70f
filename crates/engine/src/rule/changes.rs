//! One-step changes of a rule: the near values of each key of the model language.

use crate::{
    arithmetic::{KeyTable, KeyValue, Place, Rule, Setting, settings},
    isa::Instruction,
};

/// A rule with another value of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Path of the key: `alignment.bits`, `node.even.alignment.bits`.
    pub key: String,
    /// Value in the rule, given or by default; `None` if there is none.
    pub from: Option<KeyValue>,
    /// Other value.
    pub to: Option<KeyValue>,
    /// True if it belongs to a range of numbers, and is not a neighbour.
    pub ranged: bool,
}

impl Change {
    /// The other value in words.
    pub fn to(&self) -> String {
        shown(self.to.as_ref())
    }

    /// Applies the change to a rule; false if the language has no such key or value.
    pub fn apply(&self, rule: &mut Rule) -> bool {
        rule.set(&self.key, self.to.as_ref())
    }

    /// The value in the rule in words.
    pub fn from(&self) -> String {
        shown(self.from.as_ref())
    }
}

/// The rule with some changes; `None` if the language has no such key or value.
pub fn changed<'a>(rule: &Rule, changes: impl IntoIterator<Item = &'a Change>) -> Option<Rule> {
    let mut rule = rule.clone();
    changes.into_iter().all(|change| change.apply(&mut rule)).then_some(rule)
}

/// A value in words, without quotes.
pub fn shown(value: Option<&KeyValue>) -> String {
    value.map_or_else(|| "absent".into(), ToString::to_string)
}

/// Lists the one-step changes of a rule for an instruction.
/// Near values of a key come neighbours first.
///
/// Keys of nodes are included. Some changes make no valid rule, which shows when a model is made.
pub fn changes(rule: &Rule, instruction: &Instruction) -> Vec<Change> {
    let place = Place::of(instruction);
    of_keys(rule, |setting, table, value| setting.near_values(table, &place, value))
}

/// Lists the changes of a rule to values that only a search for an unknown rule tries.
pub fn searched(rule: &Rule, instruction: &Instruction) -> Vec<Change> {
    let place = Place::of(instruction);
    of_keys(rule, |setting, table, value| {
        setting.searched_values(table, &place, value).into_iter().map(|to| (to, false)).collect()
    })
}

/// The changes of the keys of a rule and its nodes to other values, each with [`Change::ranged`].
fn of_keys(
    rule: &Rule,
    others: impl Fn(&Setting, KeyTable, Option<&KeyValue>) -> Vec<(Option<KeyValue>, bool)>,
) -> Vec<Change> {
    let nodes = rule.nodes.iter().map(|(name, node)| (format!("node.{name}."), KeyTable::Node(node)));
    let mut all = Vec::new();
    for (within, table) in std::iter::once((String::new(), KeyTable::Rule(rule))).chain(nodes) {
        for (path, setting) in settings().filter(|(path, _)| table.has_place(path)) {
            let value = table.value(&path).or_else(|| setting.usual_value());
            let change = |(to, ranged)| Change { key: format!("{within}{path}"), from: value.clone(), to, ranged };
            all.extend(others(setting, table, value.as_ref()).into_iter().map(change));
        }
    }
    all
}
