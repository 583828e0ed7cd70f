//! The changes that a search tries: the one-step changes of a rule, further values of its keys, and other nodes.

use toml::{Table, Value};

use crate::{
    arithmetic::{Setting, setting},
    isa::Instruction,
    rule::{Change, changes, searched},
};

/// Changes that are made together: of one key, or of the same key of several nodes.
#[derive(Debug, Clone)]
pub(super) struct Move(pub Vec<Change>);

impl Move {
    /// A rule with the changes.
    pub(super) fn applied(&self, rule: &Table) -> Table {
        let mut rule = rule.clone();
        self.0.iter().for_each(|change| change.apply(&mut rule));
        rule
    }

    /// The key, that of the first of several nodes.
    pub(super) fn key(&self) -> &str {
        &self.0[0].key
    }

    /// Whether it is one of a range of numbers that is looked through.
    pub(super) fn is_ranged(&self) -> bool {
        self.0[0].ranged
    }
}

impl Move {
    /// True if it changes how the sum is organised, or what counts in it.
    pub(super) fn is_structural(&self) -> bool {
        let Change { key, to, .. } = &self.0[0];
        let rounding = || to.as_ref()?.get("rounding")?.as_str();
        // An alignment begins a fused sum; the common roundings stand for the others.
        setting(key).is_some_and(Setting::is_joint)
            || key == "alignment" && ["RZ", "RNE"].map(Some).contains(&rounding())
    }
}

/// The moves of `rule`, those of one key together; first those of nodes that are alike.
pub(super) fn by_key(rule: &Table, instruction: &Instruction) -> Vec<Vec<Move>> {
    let mut all: Vec<Vec<Change>> = Vec::new();
    let nodes = rule.get("node").and_then(Value::as_table).into_iter().flatten();
    let others = nodes.filter_map(|(name, node)| Some(other_nodes(name, node.as_table()?))).flatten();
    for change in changes(rule, instruction).into_iter().chain(others).chain(searched(rule, instruction)) {
        match all.iter_mut().find(|changes| changes[0].key == change.key) {
            Some(changes) => changes.push(change),
            None => all.push(vec![change]),
        }
    }
    let together = alike(rule).into_iter().flat_map(|nodes| of_all(&all, &nodes));
    let apart = all.iter().map(|changes| changes.iter().map(|change| Move(vec![change.clone()])).collect());
    together.chain(apart).chain([nans(rule)]).filter(|moves: &Vec<Move>| !moves.is_empty()).collect()
}

/// Formats that sums are rounded to.
pub(super) const TARGETS: &[&str] = &["f16", "bf16", "tf32", "e8m13", "f32", "f64"];
pub(super) const ROUNDINGS: &[&str] = &["RNE", "RZ", "RNA", "RU", "RD", "RO"];

/// Moves that let the NaNs of operands go through all nodes, in one order or another.
fn nans(rule: &Table) -> Vec<Move> {
    let nodes = rule.get("node").and_then(Value::as_table);
    let nodes: Vec<(&String, bool)> = nodes
        .into_iter()
        .flatten()
        .map(|(name, node)| (name, node.get("kind").and_then(Value::as_str) == Some("add")))
        .collect();
    let list = |letters: &str| Value::Array(letters.chars().map(|letter| letter.to_string().into()).collect());
    let orders =
        ["abc", "acb", "bac", "bca", "cab", "cba"].into_iter().flat_map(|all| ["ab", "ba"].map(|two| (all, two)));
    let all = |(all, two): (&str, &str)| {
        let own = |(name, add): &(&String, bool)| {
            change(format!("node.{name}.nan-operands"), list(if *add { two } else { all }))
        };
        Move(nodes.iter().map(own).collect())
    };
    if nodes.is_empty() { Vec::new() } else { orders.map(all).collect() }
}

/// The nodes of a rule that are alike: of one kind, with products or without, two or more of them; then all nodes.
pub(super) fn alike(rule: &Table) -> Vec<Vec<&str>> {
    let mut classes: Vec<(_, Vec<&str>)> = Vec::new();
    for (name, node) in rule.get("node").and_then(Value::as_table).into_iter().flatten() {
        let class = (node.get("kind"), node.get("products").is_some(), node.get("alignment").is_some());
        match classes.iter_mut().find(|(other, _)| *other == class) {
            Some((_, names)) => names.push(name),
            None => classes.push((class, vec![name])),
        }
    }
    let all: Vec<&str> = classes.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let several = classes.len() > 1;
    let classes = classes.into_iter().map(|(_, names)| names).filter(|names| names.len() > 1);
    classes.chain(several.then_some(all)).collect()
}

/// The moves that give a key the same value in all of these nodes: the values that it may have in the first.
fn of_all(all: &[Vec<Change>], nodes: &[&str]) -> Vec<Vec<Move>> {
    let first = format!("node.{}.", nodes[0]);
    let own = all.iter().filter(|changes| changes[0].key.starts_with(&first) && !changes[0].key.ends_with(".terms"));
    own.map(|changes| {
        let of = |change: &Change| {
            let place = |node: &&str| format!("node.{node}.{}", &change.key[first.len()..]);
            Move(nodes.iter().map(|node| Change { key: place(node), ..change.clone() }).collect())
        };
        changes.iter().map(of).collect()
    })
    .collect()
}

/// A change of one key.
pub(super) fn change(key: String, to: Value) -> Change {
    Change { key, from: None, to: Some(to), ranged: false }
}

pub(super) fn value(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<Table>().ok()?.remove("value")
}

/// Nodes of other kinds with the same terms.
fn other_nodes(name: &str, node: &Table) -> Vec<Change> {
    let key = format!("node.{name}");
    let mut all = Vec::new();
    let list = |name: &str| node.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut terms, products) = (list("terms"), list("products"));
    terms.extend(
        node.get("start").filter(|start| !["+0", "product"].contains(&start.as_str().unwrap_or("+0"))).cloned(),
    );
    let kind = node.get("kind").and_then(Value::as_str).unwrap_or_default();
    let mut other = |kind: &str, keys: &[(&str, Value)]| {
        let mut own = Table::new();
        own.insert("kind".into(), kind.into());
        own.extend(["products", "result"].iter().filter_map(|key| Some(((*key).to_string(), node.get(*key)?.clone()))));
        own.extend(keys.iter().map(|(key, value)| ((*key).to_string(), value.clone())));
        all.push(change(key.clone(), Value::Table(own)));
    };
    let alignment = value("{ bits = 24, rounding = \"RZ\" }").into_iter().map(|to| ("alignment", to));
    let with_terms = (!terms.is_empty()).then(|| ("terms", Value::Array(terms.clone())));
    if kind != "sum" {
        other("sum", &with_terms.iter().cloned().chain(alignment).collect::<Vec<_>>());
        other("sum", &with_terms.iter().cloned().collect::<Vec<_>>());
    } else if !node.contains_key("alignment") {
        other("sum", &with_terms.iter().cloned().chain(alignment).collect::<Vec<_>>());
    }
    if kind != "add" {
        other("add", &with_terms.iter().cloned().collect::<Vec<_>>());
    }
    let reversed = || {
        let mut first: Vec<Value> = products.clone();
        first.iter_mut().take(2).rev().zip(products.iter().take(2)).for_each(|(to, from)| *to = from.clone());
        ("products", Value::Array(first))
    };
    if products.len() > 1 && terms.is_empty() {
        other(kind, &[reversed()]);
    }
    if !products.is_empty() {
        match terms.as_slice() {
            [] => {
                for start in ["+0", "product"] {
                    other("fma", &[("start", start.into())]);
                    other("fma", &[("start", start.into()), reversed()]);
                }
            }
            [start] if start.is_str() => other("fma", &[("start", start.clone())]),
            _ => {}
        }
    }
    all
}
