//! A tree of nodes as a program: each node behind those that it uses.

use std::collections::BTreeMap;

use super::{
    super::{Node, NodeKind, NodeResult, Rule, ZeroSign, language::tree::ordered},
    Addend, Destination, ElementaryOperation, Factors, Multiply, OperationStep, Program, Scaling, Source, Sum,
    frame::Frame,
};
use crate::isa::Instruction;

/// The program of a rule with nodes.
///
/// # Errors
/// What keeps the rule from holding for this instruction, with the node.
pub(super) fn program(rule: &Rule, instruction: &Instruction) -> Result<Program, String> {
    let frame = Frame::new(rule, instruction)?;
    let nodes = ordered(rule)?;
    let taken = taken(&frame, &nodes)?;
    let mut tree = Tree { frame: &frame, steps: Vec::new(), values: BTreeMap::new() };
    let mut last = Source::Zero;
    for (number, (name, node)) in nodes.iter().enumerate() {
        last = tree.node(number, name, node, &taken[number]).map_err(|defect| format!("node '{name}': {defect}"))?;
        tree.values.insert(name, last);
    }
    let passes_nan = nodes.last().is_some_and(|(_, root)| !root.nan_operands.is_empty());
    Ok(frame.program(tree.steps, last, passes_nan))
}

/// The k of a node and the factors of its products.
struct Taken {
    indices: Vec<usize>,
    factors: Vec<Factors>,
}

/// What each node takes.
///
/// # Errors
/// A k, or a pair of pieces of one, that is named twice or never, or does not exist.
fn taken(frame: &Frame<'_>, nodes: &[(&str, &Node)]) -> Result<Vec<Taken>, String> {
    let k = frame.instruction.stored_k();
    let mut owners: BTreeMap<(usize, (usize, usize)), &str> = BTreeMap::new();
    let mut all = Vec::new();
    for (name, node) in nodes {
        let mut factors = Vec::new();
        let indices = match &node.products {
            None => Vec::new(),
            Some(indices) => indices.below(k).map_err(|index| {
                format!(
                    "node '{name}': 'products' names k = {index}, but {} has stored k 0 to {}",
                    frame.instruction,
                    k - 1
                )
            })?,
        };
        let every = || frame.pieces.iter().map(|(numbers, _)| *numbers).collect();
        let pairs: Vec<(usize, usize)> = node.pieces.clone().unwrap_or_else(every);
        for &index in &indices {
            for pair in &pairs {
                let Some((_, (a, b))) = frame.pieces.iter().find(|(numbers, _)| numbers == pair) else {
                    return Err(format!("node '{name}': 'pieces' names {pair:?}, which 'split' does not have"));
                };
                if let Some(other) = owners.insert((index, *pair), name) {
                    return Err(format!("node '{name}': k = {index} is named twice, here and in node '{other}'"));
                }
                factors.push(Factors { k: index, a: *a, b: *b });
            }
        }
        all.push(Taken { indices, factors });
    }
    let missing =
        (0..k).flat_map(|k| frame.pieces.iter().map(move |(pair, _)| (k, *pair))).find(|key| !owners.contains_key(key));
    match missing {
        None => Ok(all),
        Some((k, pair)) => {
            let piece = if frame.pieces.len() > 1 { format!(" with pieces {pair:?}") } else { String::new() };
            let root = nodes.last().map_or("", |(name, _)| name);
            Err(format!("node '{root}': no node of the tree names k = {k}{piece} among its 'products'"))
        }
    }
}

struct Tree<'a> {
    frame: &'a Frame<'a>,
    steps: Vec<OperationStep>,
    values: BTreeMap<&'a str, Source>,
}

impl<'a> Tree<'a> {
    fn push(&mut self, number: usize, name: &str, operation: ElementaryOperation) -> usize {
        self.steps.push(OperationStep { operation, group: Some(number), name: name.into() });
        self.steps.len() - 1
    }

    fn source(&self, name: &str) -> Source {
        match name {
            "c" => Source::C,
            "+0" => Source::Zero,
            _ => self.values[name],
        }
    }

    /// The steps of one node; its value.
    fn node(
        &mut self,
        number: usize,
        name: &'a str,
        node: &Node,
        Taken { indices, factors }: &Taken,
    ) -> Result<Source, String> {
        let scaling = self.frame.scaling(node.scale_sums, indices)?;
        if scaling != Scaling::None && node.kind != NodeKind::Sum && !factors.is_empty() {
            return Err("block scales need a node of kind 'sum'".into());
        }
        let rounded = node.product.as_ref().filter(|_| node.scale_sums.is_none());
        let multiply = |nans: &[_]| Multiply {
            factors: factors.clone(),
            scaling,
            limit: node.product_limit,
            rounded: rounded.map(|to| self.frame.destination(to, ZeroSign::Ieee)),
            normalised: node.normalised == Some(true),
            nans: nans.to_vec(),
        };
        let zero = match node.kind {
            NodeKind::Sum => node.zero.unwrap_or_default(),
            _ => ZeroSign::Ieee,
        };
        let to = match &node.result {
            Some(NodeResult::Rounded(to)) => Some(self.frame.destination(to, zero)),
            _ => None,
        };
        let passes_nan = !node.nan_operands.is_empty();
        Ok(match (node.kind, to) {
            (NodeKind::Sum, to) => {
                let multiply = (!factors.is_empty()).then(|| ElementaryOperation::Multiply(multiply(&[])));
                let products = multiply.map(|multiply| self.push(number, name, multiply)).into_iter().collect();
                let sum = ElementaryOperation::Sum(self.sum(node, products));
                let sum = Source::Value(self.push(number, name, sum));
                match to {
                    Some(to) => Source::Value(self.push(
                        number,
                        name,
                        ElementaryOperation::Round { value: sum, to, passes_nan },
                    )),
                    None => sum,
                }
            }
            (NodeKind::Fma, Some(to)) => self.chain(number, name, node, factors, to),
            (NodeKind::Add, Some(to)) => {
                let multiply = (!factors.is_empty()).then(|| multiply(&node.nan_operands));
                let mut terms: Vec<Source> = node.terms.iter().map(|term| self.source(&term.name)).collect();
                if let Some(multiply) = multiply {
                    let count = multiply.len();
                    let step = self.push(number, name, ElementaryOperation::Multiply(multiply));
                    terms.extend((0..count).map(|at| Source::Product(step, at)));
                }
                self.additions(number, name, node, &terms, to)
            }
            (_, None) => return Err("the key 'result' is missing".into()),
        })
    }

    fn sum(&self, node: &Node, products: Vec<usize>) -> Sum {
        let addend =
            |term: &super::super::Term| Addend { source: self.source(&term.name), bits: term.bits, drop: term.drop };
        Sum {
            products,
            addends: node.terms.iter().map(addend).collect(),
            alignment: node.alignment,
            normalised: matches!(node.result, Some(NodeResult::Normalised)),
            nans: node.nan_operands.clone(),
        }
    }

    fn chain(&mut self, number: usize, name: &str, node: &Node, factors: &[Factors], to: Destination) -> Source {
        let start = node.start.as_deref().unwrap_or("+0");
        let mut rest = factors;
        let mut sum = match (start, factors) {
            ("product", [first, others @ ..]) => {
                rest = others;
                let multiply = Multiply {
                    factors: vec![*first],
                    scaling: Scaling::None,
                    limit: None,
                    rounded: None,
                    normalised: false,
                    nans: node.nan_operands.clone(),
                };
                let value = Source::Product(self.push(number, name, ElementaryOperation::Multiply(multiply)), 0);
                let passes_nan = !node.nan_operands.is_empty();
                Source::Value(self.push(number, name, ElementaryOperation::Round { value, to, passes_nan }))
            }
            (start, _) => self.source(start),
        };
        for factors in rest {
            let nans = node.nan_operands.clone();
            sum = Source::Value(self.push(
                number,
                name,
                ElementaryOperation::Fma { factors: *factors, addend: sum, to, nans },
            ));
        }
        sum
    }

    /// The terms added one after the other; a single one is rounded.
    fn additions(&mut self, number: usize, name: &str, node: &Node, terms: &[Source], to: Destination) -> Source {
        let [first, rest @ ..] = terms else { return Source::Zero };
        if rest.is_empty() {
            let passes_nan = !node.nan_operands.is_empty();
            return Source::Value(self.push(
                number,
                name,
                ElementaryOperation::Round { value: *first, to, passes_nan },
            ));
        }
        rest.iter().fold(*first, |sum, &term| {
            let nans = node.nan_operands.clone();
            Source::Value(self.push(number, name, ElementaryOperation::Add { terms: [sum, term], to, nans }))
        })
    }
}
