//! Defects of a rule beyond its types: missing keys, keys without effect, impossible values.

use super::{
    keys::{KEYS, Key, NODE_KEYS, Rule},
    node::NodeKind,
    rule::{CPosition, Join, Start, Step},
    tree,
};

/// Defect of a rule, in words, with the node, the key and the allowed values; `None` without one.
pub(super) fn defect(rule: &Rule) -> Option<String> {
    if rule.step == Step::Tree && rule.nodes.is_empty() {
        return Some("the key 'step' is missing; without it a rule needs nodes (node.NAME = { kind, ... })".into());
    }
    let node_keys = || {
        rule.nodes.iter().find_map(|(name, node)| {
            let defect = tree::name_defect(name).or_else(|| of_keys(NODE_KEYS, node, node.kind))?;
            Some(format!("node '{name}': {defect}"))
        })
    };
    of_keys(KEYS, rule, rule.step)
        .or_else(node_keys)
        .or_else(|| pieces(rule))
        .or_else(|| start(rule))
        .or_else(|| (rule.step == Step::Tree).then(|| tree::defect(rule)).flatten())
}

/// Variant of a table that decides its keys: the step of a rule, the kind of a node.
trait Variant: Copy + PartialEq {
    fn name(self) -> &'static str;

    /// Place where a key has no effect, or is needed.
    fn place(self) -> String;
}

impl Variant for Step {
    fn name(self) -> &'static str {
        Step::name(self)
    }

    fn place(self) -> String {
        format!("with step '{}'", Step::name(self))
    }
}

impl Variant for NodeKind {
    fn name(self) -> &'static str {
        NodeKind::name(self)
    }

    fn place(self) -> String {
        format!("in a node of kind '{}'", NodeKind::name(self))
    }
}

/// Defect of the keys of a table: a key is missing or has no effect, or its value is impossible.
fn of_keys<Table, V: Variant>(keys: &[Key<Table, V>], table: &Table, variant: V) -> Option<String> {
    let misplaced = |key: &Key<Table, V>| {
        let (name, belongs, present) = (key.name, key.variants.contains(&variant), (key.present)(table));
        if key.required && belongs && !present {
            return Some(format!("the key '{name}' is missing; it is needed {}", variant.place()));
        }
        let others = || key.variants.iter().map(|other| other.name()).collect::<Vec<_>>().join(", ");
        (!belongs && present).then(|| format!("'{name}' has no effect {}; it belongs to {}", variant.place(), others()))
    };
    keys.iter()
        .find_map(misplaced)
        .or_else(|| keys.iter().find_map(|key| key.outside(table).or_else(|| (key.check)(table))))
}

/// Defect between the pieces of nodes and the rule's `split`.
fn pieces(rule: &Rule) -> Option<String> {
    let (name, _) = rule.nodes.iter().find(|(_, node)| node.pieces.is_some() && rule.split.is_none())?;
    Some(format!("node '{name}': 'pieces' has no effect without the rule's 'split'"))
}

/// Defect of a chain that starts without c if nothing else adds c.
fn start(rule: &Rule) -> Option<String> {
    let lost = rule.start == Start::Product && rule.join == Join::Chain && rule.c == CPosition::First;
    lost.then(|| {
        "'start' is 'product', but c enters nowhere: write c = \"last\", or join = \"add\", which begins with c".into()
    })
}
