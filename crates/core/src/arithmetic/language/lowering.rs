//! Lowering of a rule to a tree of nodes: groups of k, the nodes that sum them, and their combination.
//!
//! Each function belongs to one row of the tables of keys, and changes the draft that the rows before it have written.
//! A group takes c until a key gives it something else.

use std::mem;

use super::{
    check,
    draft::{Draft, DraftInput, DraftKind, DraftNode, DraftTerm},
    keys::{KEYS, NODE_KEYS, Node, Rule},
    node::NodeResult,
    rule::{Alignment, CPosition, Join, Start, Step},
    tree,
};

impl Rule {
    /// The rule as a tree of nodes for `stored_k` stored k.
    ///
    /// # Errors
    /// The defect of the rule.
    pub(crate) fn draft(&self, stored_k: usize) -> Result<Draft, String> {
        if let Some(defect) = check::defect(self) {
            return Err(defect);
        }
        let mut draft = Draft::new(stored_k);
        for key in KEYS.iter().filter(|key| key.variants.contains(&self.step)) {
            (key.lower)(self, &mut draft);
        }
        Ok(draft)
    }
}

/// Splits every group by the remainders of its k.
pub(super) fn parts(rule: &Rule, draft: &mut Draft) {
    let Some(parts) = &rule.parts else { return };
    let of = |group: &[usize], part: &[usize]| -> Vec<usize> {
        group.iter().copied().filter(|k| part.contains(&(k % parts.period))).collect()
    };
    draft.groups = draft.groups.iter().flat_map(|group| parts.residues.iter().map(|part| of(group, part))).collect();
}

/// Cuts every group into runs.
pub(super) fn group(rule: &Rule, draft: &mut Draft) {
    let length = rule.group.unwrap_or(draft.stored_k).max(1);
    draft.groups = draft.groups.iter().flat_map(|group| group.chunks(length).map(<[usize]>::to_vec)).collect();
}

/// Makes a node for each group.
pub(super) fn step(rule: &Rule, draft: &mut Draft) {
    draft.step = rule.step;
    let (kind, name) = match rule.step {
        Step::Fused | Step::Exact => (DraftKind::Sum, "sum"),
        Step::Fma => (DraftKind::Fma, "sum"),
        Step::Sequential => (DraftKind::Sequential, "addition"),
        Step::Pairwise => (DraftKind::Pairwise, "addition"),
        Step::Integer | Step::Tree => return,
    };
    for (number, group) in draft.groups.clone().into_iter().enumerate() {
        let node = draft.node(kind, Some(number), name);
        draft.push(DraftNode { products: Some(group), terms: vec![DraftInput::C.into()], ..node });
    }
}

/// Makes the nodes of a tree, each by its own keys.
pub(super) fn node(rule: &Rule, draft: &mut Draft) {
    for (number, (name, node)) in tree::ordered(rule).unwrap_or_default().into_iter().enumerate() {
        let new = draft.node(DraftKind::Sum, Some(number), name);
        let value = draft.push(DraftNode { product_name: name.into(), ..new });
        for key in NODE_KEYS.iter().filter(|key| key.variants.contains(&node.kind)) {
            (key.lower)(node, draft);
        }
        draft.results = vec![value];
    }
}

/// Makes a sum for each lane of a group; the group's node adds them.
pub(super) fn lanes(rule: &Rule, draft: &mut Draft) {
    let Some(lanes) = &rule.lanes else { return };
    for mut node in mem::take(&mut draft.nodes) {
        let products = node.products.take().unwrap_or_default();
        let runs: Vec<&[usize]> = products.chunks(node.scale_sums.unwrap_or(1)).collect();
        let sums: Vec<DraftTerm> = (0..lanes.period)
            .map(|lane| {
                let of_lane =
                    runs.iter().skip(lane).step_by(lanes.period).flat_map(|run| run.iter().copied()).collect();
                let part = draft.part(&node, format!("lane {}", lane + 1), Some(of_lane));
                draft.push(part).into()
            })
            .collect();
        node.terms.splice(0..0, sums);
        node.alignment = Some(Alignment::new(lanes.bits, lanes.rounding));
        draft.push(node);
    }
}

/// Makes a sum of a group without c; the group's node adds c to it.
pub(super) fn late(rule: &Rule, draft: &mut Draft) {
    let Some(late) = &rule.late else { return };
    for mut node in mem::take(&mut draft.nodes) {
        if let Some(at) = node.c() {
            let c = DraftTerm { bits: Some(late.c_bits), drop: late.drop, ..node.terms.remove(at) };
            let products = node.products.take();
            let part = draft.part(&node, "products".into(), products);
            let part = DraftNode { terms: mem::take(&mut node.terms), ..part };
            node.terms = vec![DraftTerm { bits: Some(late.sum_bits), ..draft.push(part).into() }, c];
            let bits = late.sum_bits.max(late.c_bits);
            node.alignment = Some(Alignment { floor: late.floor, ..Alignment::new(bits, late.rounding) });
        }
        draft.push(node);
    }
}

/// Removes c from groups that start from a product: all with separate sums, or the first of a chain.
pub(super) fn start(rule: &Rule, draft: &mut Draft) {
    if rule.start == Start::Product {
        draft.each(|node| {
            if rule.join == Join::Add || node.group == Some(0) {
                node.terms.retain(|term| term.input != DraftInput::C);
            }
        });
    }
}

/// Gives each group the previous result in place of c; or gives all +0, and adds their results.
pub(super) fn join(rule: &Rule, draft: &mut Draft) {
    let sum_of = |number| draft.nodes.iter().rev().find(|node| node.group == Some(number));
    let results: Vec<DraftInput> =
        (0..draft.groups.len()).filter_map(sum_of).map(|node| DraftInput::Node(node.number)).collect();
    draft.each(|node| {
        let Some(at) = node.c() else { return };
        node.terms[at].input = match (rule.join, node.group) {
            (Join::Add, _) => DraftInput::Zero,
            (Join::Chain, Some(group @ 1..)) => results[group - 1],
            (Join::Chain, _) => DraftInput::C,
        };
    });
    draft.results = match rule.join {
        Join::Add => results,
        Join::Chain => results.into_iter().last().into_iter().collect(),
    };
}

/// Puts c before or after the values to be added, unless the first group has it.
pub(super) fn c(rule: &Rule, draft: &mut Draft) {
    match (rule.c, rule.join) {
        (CPosition::First, Join::Chain) => {}
        (CPosition::First, Join::Add) => draft.results.insert(0, DraftInput::C),
        (CPosition::Last, _) => {
            draft.each(|node| {
                if let Some(at) = node.c() {
                    node.terms[at].input = DraftInput::Zero;
                }
            });
            draft.results.push(DraftInput::C);
        }
    }
}

/// Rounds every sum that is not a part of another one.
pub(super) fn result(rule: &Rule, draft: &mut Draft) {
    draft.each(|node| node.result = node.result.or(rule.result.map(NodeResult::Rounded)));
}

/// Changes the rounding where another group continues.
pub(super) fn between(rule: &Rule, draft: &mut Draft) {
    let Some(to) = rule.between.filter(|_| rule.join == Join::Chain) else { return };
    let last = draft.groups.len().checked_sub(1);
    draft.each(|node| {
        if let (true, Some(NodeResult::Rounded(result))) = (node.group < last, &mut node.result) {
            *result = to;
        }
    });
}

/// Makes the ordinary additions of the values to be added.
pub(super) fn addition(rule: &Rule, draft: &mut Draft) {
    let result = rule.addition.or(rule.result).map(NodeResult::Rounded);
    draft.results = mem::take(&mut draft.results)
        .into_iter()
        .reduce(|sum, term| {
            let node = draft.node(DraftKind::Add, None, "addition");
            let terms = vec![sum.into(), term.into()];
            draft.push_behind(term, DraftNode { terms, result, ..node })
        })
        .into_iter()
        .collect();
}

/// Makes one node for all k.
pub(super) fn wrap(rule: &Rule, draft: &mut Draft) {
    let Some(wrap) = rule.wrap else { return };
    let group = draft.groups.first().map_or(0, Vec::len);
    let Rule { group_bits, c_bits, .. } = *rule;
    let node = draft.node(DraftKind::Integer { wrap, group, bits: None, group_bits, c_bits }, None, "sum");
    let products = Some(draft.groups.concat());
    draft.results = vec![draft.push(DraftNode { products, terms: vec![DraftInput::C.into()], ..node })];
}

/// Gives the node for all k its accumulator.
pub(super) fn accumulator(rule: &Rule, draft: &mut Draft) {
    if rule.accumulator.is_some()
        && let DraftKind::Integer { bits, .. } = &mut draft.newest().kind
    {
        *bits = rule.accumulator;
    }
}

/// Lowering of the keys of nodes: each rewrites the newest node.
pub(super) mod nodes {
    use super::{
        super::node::{NodeKind, Term},
        {Draft, DraftKind, DraftTerm, Node},
    };

    pub(in super::super) fn kind(node: &Node, draft: &mut Draft) {
        draft.newest().kind = match node.kind {
            NodeKind::Sum => DraftKind::Sum,
            NodeKind::Fma => DraftKind::Fma,
            NodeKind::Add => DraftKind::Add,
        };
    }

    /// Sets the k; an empty list means none.
    pub(in super::super) fn products(node: &Node, draft: &mut Draft) {
        let listed = node.products.as_ref().map(|list| list.of(draft.stored_k));
        draft.newest().products = listed.filter(|list| !list.is_empty());
    }

    /// Sets the pairs of pieces that are multiplied.
    pub(in super::super) fn pieces(node: &Node, draft: &mut Draft) {
        if let Some(pieces) = &node.pieces {
            draft.newest().pieces.clone_from(pieces);
        }
    }

    pub(in super::super) fn terms(node: &Node, draft: &mut Draft) {
        let drafted = |term: &Term| DraftTerm { input: draft.input(&term.name), bits: term.bits, drop: term.drop };
        let terms = node.terms.iter().map(drafted).collect();
        draft.newest().terms = terms;
    }

    /// Sets the start of a chain as its only term; none stands for its first product.
    pub(in super::super) fn start(node: &Node, draft: &mut Draft) {
        let start = node.start.as_deref().unwrap_or("+0");
        let term = (start != "product").then(|| draft.input(start).into());
        draft.newest().terms = term.into_iter().collect();
    }
}
