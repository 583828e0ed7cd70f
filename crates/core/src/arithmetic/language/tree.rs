//! Shape of a tree of nodes: its defects, and the order of computation.

use std::collections::BTreeMap;

use super::{
    keys::{Node, Rule},
    node::{NodeKind, NodeResult},
};

/// Names with another meaning in place of a node's.
const RESERVED: &[&str] = &["c", "+0", "product"];

/// Nodes of a rule, each after those that it uses; the last one gives D.
///
/// # Errors
/// The defect of the tree, with the node.
pub(super) fn ordered(rule: &Rule) -> Result<Vec<(&str, &Node)>, String> {
    let mut order = Vec::new();
    let mut states = BTreeMap::new();
    let mut roots: Vec<&str> = rule.nodes.keys().map(String::as_str).collect();
    for node in rule.nodes.values() {
        roots.retain(|root| !uses(node).any(|used| used == *root));
    }
    match roots[..] {
        [root] => visit(rule, root, &mut states, &mut order)?,
        [] => return Err("every node is used by another one, so none gives D".into()),
        [first, second, ..] => {
            return Err(format!("node '{second}': no node uses it or '{first}', and only one node can give D"));
        }
    }
    match rule.nodes.keys().find(|name| !states.contains_key(name.as_str())) {
        // Nodes that only use each other are reached from no root.
        Some(name) => Err(format!("node '{name}': it is part of a cycle of nodes that use each other")),
        None => Ok(order),
    }
}

/// Names that a node uses.
fn uses(node: &Node) -> impl Iterator<Item = &str> {
    let terms = node.terms.iter().map(|term| term.name.as_str());
    let start = node.start.as_deref().filter(|start| *start != "product");
    terms.chain(start).filter(|name| !["c", "+0"].contains(name))
}

/// Puts a node after those that it uses; a node's state is true if it is done.
fn visit<'a>(
    rule: &'a Rule,
    name: &'a str,
    states: &mut BTreeMap<&'a str, bool>,
    order: &mut Vec<(&'a str, &'a Node)>,
) -> Result<(), String> {
    match states.get(name) {
        Some(true) => return Ok(()),
        Some(false) => {
            return Err(format!("node '{name}': it is part of a cycle of nodes that use each other"));
        }
        None => states.insert(name, false),
    };
    let node = &rule.nodes[name];
    for used in uses(node) {
        if !rule.nodes.contains_key(used) {
            return Err(format!("node '{name}': '{used}' is neither c nor the name of a node"));
        }
        visit(rule, used, states, order)?;
    }
    states.insert(name, true);
    order.push((name, node));
    Ok(())
}

/// Defect of the shape of a tree, in words, with the node.
pub(super) fn defect(rule: &Rule) -> Option<String> {
    ordered(rule).err().or_else(|| unrounded(rule)).or_else(|| c_uses(rule))
}

/// Defect of the name of a node.
pub(super) fn name_defect(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (RESERVED.contains(&name) || name.is_empty() || !name.chars().all(plain))
        .then(|| "a node's name has letters, digits, - and _, and is not c or product".into())
}

/// Checks that an unrounded sum is only a term of another sum.
fn unrounded(rule: &Rule) -> Option<String> {
    let open =
        |name: &str| !matches!(rule.nodes.get(name).and_then(|node| node.result), None | Some(NodeResult::Rounded(_)));
    if let Some((name, _)) = ordered(rule).ok()?.last().filter(|(name, _)| open(name)) {
        return Some(format!("node '{name}': it gives D, so its 'result' must be a format"));
    }
    rule.nodes.iter().find_map(|(name, node)| {
        let used = uses(node).find(|used| node.kind != NodeKind::Sum && open(used))?;
        Some(format!("node '{name}': '{used}' is not rounded; only a sum can take it as a term"))
    })
}

/// Checks that c is used once.
fn c_uses(rule: &Rule) -> Option<String> {
    let uses = |node: &Node| {
        node.terms.iter().filter(|term| term.name == "c").count() + usize::from(node.start.as_deref() == Some("c"))
    };
    let mut users = rule.nodes.iter().flat_map(|(name, node)| std::iter::repeat_n(name, uses(node)));
    match (users.next(), users.next()) {
        (None, _) => Some("no node has c among its terms or as its start".into()),
        (Some(_), Some(second)) => Some(format!("node '{second}': c is used twice")),
        _ => None,
    }
}
