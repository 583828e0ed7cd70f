//! The changes that a search tries.
//!
//! They are the one-step changes of a rule, further values of its keys, and other nodes.

use crate::{
    arithmetic::{Alignment, Indices, KeyValue, NanOperand, Node, NodeKind, Rule, Setting, Term, setting},
    format::Rounding,
    isa::Instruction,
    rule::{Change, changed, changes, searched},
};

/// Changes that are made together: of one key, of the same key of several nodes, or of several keys.
#[derive(Debug, Clone)]
pub(super) struct Move(pub Vec<Change>);

impl Move {
    /// A rule with the changes; `None` if the language has no such key or value.
    pub(super) fn applied(&self, rule: &Rule) -> Option<Rule> {
        changed(rule, &self.0)
    }

    /// The key of the first change.
    pub(super) fn key(&self) -> &str {
        &self.0[0].key
    }

    /// True if it belongs to a range of numbers that is searched.
    pub(super) fn is_ranged(&self) -> bool {
        self.0[0].ranged
    }
}

impl Move {
    /// True if it changes how the sum is organised, or which terms count in it.
    pub(super) fn is_structural(&self) -> bool {
        let Change { key, to, .. } = &self.0[0];
        // A new alignment makes an exact sum a fused one; the common roundings stand for the others.
        let begins = |to: &KeyValue| match to {
            KeyValue::Alignment(alignment) => matches!(alignment.rounding, Rounding::Rz | Rounding::Rne),
            _ => false,
        };
        setting(key).is_some_and(Setting::is_joint) || key == "alignment" && to.as_ref().is_some_and(begins)
    }
}

/// The moves of `rule`, key by key. Moves of several alike nodes come first.
pub(super) fn by_key(rule: &Rule, instruction: &Instruction) -> Vec<Vec<Move>> {
    let mut all: Vec<Vec<Change>> = Vec::new();
    let others = rule.nodes.iter().flat_map(|(name, node)| other_nodes(name, node));
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

/// Moves that let the NaNs of operands pass through all nodes, in one order of preference or another.
fn nans(rule: &Rule) -> Vec<Move> {
    const A: NanOperand = NanOperand::A;
    const B: NanOperand = NanOperand::B;
    const C: NanOperand = NanOperand::C;
    if rule.nodes.is_empty() {
        return Vec::new();
    }
    const INVALID: NanOperand = NanOperand::Invalid;
    let orders: [&[NanOperand]; 8] = [
        &[A, B, C],
        &[A, C, B],
        &[B, A, C],
        &[B, C, A],
        &[C, A, B],
        &[C, B, A],
        &[A, B, INVALID, C],
        &[B, A, INVALID, C],
    ];
    let all = |(all, two): (&[NanOperand], [NanOperand; 2])| {
        let order = |node: &Node| if node.kind == NodeKind::Add { two.to_vec() } else { all.to_vec() };
        let ordered = |(name, node): (&String, &Node)| {
            change(format!("node.{name}.nan-operands"), KeyValue::NanOperands(order(node)))
        };
        Move(rule.nodes.iter().map(ordered).collect())
    };
    orders.into_iter().flat_map(|order| [[A, B], [B, A]].map(|two| (order, two))).map(all).collect()
}

/// Groups of two or more alike nodes of a rule; then all nodes, if they are not all alike.
/// Alike nodes have one kind, and agree in having products and an alignment.
pub(super) fn alike(rule: &Rule) -> Vec<Vec<&str>> {
    let mut classes: Vec<(_, Vec<&str>)> = Vec::new();
    for (name, node) in &rule.nodes {
        let class = (node.kind, node.products.is_some(), node.alignment.is_some());
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

/// The moves that give a key the same value in all of these nodes.
/// The values come from the changes of the first node.
fn of_all(all: &[Vec<Change>], nodes: &[&str]) -> Vec<Vec<Move>> {
    let first = format!("node.{}.", nodes[0]);
    let values = all.iter().filter(|changes| changes[0].key.starts_with(&first) && !changes[0].key.ends_with(".terms"));
    values
        .map(|changes| {
            let of = |change: &Change| {
                let place = |node: &&str| format!("node.{node}.{}", &change.key[first.len()..]);
                Move(nodes.iter().map(|node| Change { key: place(node), ..change.clone() }).collect())
            };
            changes.iter().map(of).collect()
        })
        .collect()
}

/// A change of one key.
pub(super) fn change(key: String, to: KeyValue) -> Change {
    Change { key, from: None, to: Some(to), ranged: false }
}

/// Changes that replace a node by one of another form with the same terms.
fn other_nodes(name: &str, node: &Node) -> Vec<Change> {
    let mut all = Vec::new();
    let mut other = |kind: NodeKind, with: &dyn Fn(&mut Node)| {
        let mut new_node = Node::default();
        (new_node.kind, new_node.products, new_node.result) = (kind, node.products.clone(), node.result);
        with(&mut new_node);
        all.push(change(format!("node.{name}"), KeyValue::Node(Box::new(new_node))));
    };
    let start = node.start.iter().filter(|start| !["+0", "product"].contains(&start.as_str()));
    let terms: Vec<Term> = node.terms.iter().cloned().chain(start.cloned().map(Term::from)).collect();
    let with_terms = |new_node: &mut Node| new_node.terms.clone_from(&terms);
    let aligned = |new_node: &mut Node| {
        with_terms(new_node);
        new_node.alignment = Some(Alignment::new(24, Rounding::Rz));
    };
    if node.kind != NodeKind::Sum {
        other(NodeKind::Sum, &aligned);
        other(NodeKind::Sum, &with_terms);
    } else if node.alignment.is_none() {
        other(NodeKind::Sum, &aligned);
    }
    if node.kind != NodeKind::Add {
        other(NodeKind::Add, &with_terms);
    }
    let products = node.products.as_ref().and_then(Indices::indices).unwrap_or_default();
    let reverse = |new_node: &mut Node| {
        let mut first = products.clone();
        first.iter_mut().take(2).rev().zip(&products).for_each(|(to, from)| *to = *from);
        new_node.products = Some(first.into());
    };
    if products.len() > 1 && terms.is_empty() {
        other(node.kind, &reverse);
    }
    if !products.is_empty() {
        match &terms[..] {
            [] => {
                for start in ["+0", "product"] {
                    let started = |new_node: &mut Node| new_node.start = Some(start.into());
                    other(NodeKind::Fma, &started);
                    other(NodeKind::Fma, &|new_node: &mut Node| {
                        started(new_node);
                        reverse(new_node);
                    });
                }
            }
            [Term { name, bits: None, drop: None }] => {
                other(NodeKind::Fma, &|new_node: &mut Node| new_node.start = Some(name.clone()));
            }
            _ => {}
        }
    }
    all
}
