//! Lowering of a tree of nodes to a program: the steps of each node in turn.

use std::collections::BTreeMap;

use super::{
    super::{
        NanOperand, Step, Wrap, ZeroSign,
        language::{
            draft::{Draft, DraftInput, DraftKind, DraftNode},
            node::NodeResult,
        },
    },
    Addend, Destination, ElementaryOperation, Factors, IntegerSum, Multiply, OperationStep, Program, Scaling, Source,
    Sum,
    frame::Frame,
};
use crate::isa::Instruction;

/// Program of a draft.
///
/// # Errors
/// The conflict of the rule with this instruction, with the key or the node.
pub(super) fn program(draft: &Draft, instruction: &Instruction) -> Result<Program, String> {
    let frame = Frame::new(draft, instruction)?;
    let factors = factors(&frame)?;
    let mut tree = Tree { frame: &frame, steps: Vec::new(), values: BTreeMap::new() };
    for (node, factors) in draft.nodes.iter().zip(&factors) {
        let value = tree.node(node, factors).map_err(|defect| match draft.step {
            Step::Tree => format!("node '{}': {defect}", node.name),
            _ => defect,
        })?;
        tree.values.insert(node.number, value);
    }
    let value = draft.results.last().map_or(Source::Zero, |input| tree.source(*input));
    let passes_nan = draft.root().is_some_and(|root| !root.nan_operands.is_empty());
    Ok(frame.program(tree.steps, value, passes_nan))
}

/// Factors of the products of each node.
///
/// # Errors
/// A k, or a pair of pieces of one, that is named twice or never, or does not exist.
fn factors(frame: &Frame<'_>) -> Result<Vec<Vec<Factors>>, String> {
    let nodes = &frame.draft.nodes;
    let k = frame.draft.stored_k;
    let mut owners: BTreeMap<(usize, (usize, usize)), &str> = BTreeMap::new();
    let mut all = Vec::new();
    for DraftNode { name, products, pieces, .. } in nodes {
        let indices = products.as_deref().unwrap_or_default();
        if let Some(index) = indices.iter().find(|index| **index >= k) {
            let has = format!("{} has stored k 0 to {}", frame.instruction, k - 1);
            return Err(format!("node '{name}': 'products' names k = {index}, but {has}"));
        }
        let mut factors = Vec::new();
        for &index in indices {
            for pair in pieces {
                let Some((_, (a, b))) = frame.pieces.iter().find(|(numbers, _)| numbers == pair) else {
                    return Err(format!("node '{name}': 'pieces' names {pair:?}, which 'split' does not have"));
                };
                if let Some(other) = owners.insert((index, *pair), name) {
                    return Err(format!("node '{name}': k = {index} is named twice, here and in node '{other}'"));
                }
                factors.push(Factors { k: index, a: *a, b: *b });
            }
        }
        all.push(factors);
    }
    // Pieces may be missing, but no k.
    match (0..k).find(|k| owners.range((*k, (0, 0))..=(*k, (usize::MAX, usize::MAX))).next().is_none()) {
        None => Ok(all),
        Some(k) => {
            let root = nodes.last().map_or("", |node| &node.name);
            Err(format!("node '{root}': no node of the tree names k = {k} among its 'products'"))
        }
    }
}

struct Tree<'a> {
    frame: &'a Frame<'a>,
    steps: Vec<OperationStep>,
    /// Values of nodes, by their numbers.
    values: BTreeMap<usize, Source>,
}

impl Tree<'_> {
    fn push(&mut self, group: Option<usize>, name: &str, operation: ElementaryOperation) -> usize {
        self.steps.push(OperationStep { operation, group, name: name.into() });
        self.steps.len() - 1
    }

    /// Appends a step for the value of a node, or on the way to it.
    fn value(&mut self, node: &DraftNode, operation: ElementaryOperation) -> Source {
        Source::Value(self.push(node.group, &node.name, operation))
    }

    fn source(&self, input: DraftInput) -> Source {
        match input {
            DraftInput::C => Source::C,
            DraftInput::Zero => Source::Zero,
            DraftInput::Node(number) => self.values[&number],
        }
    }

    /// Appends the steps of one node and returns its value.
    fn node(&mut self, node: &DraftNode, factors: &[Factors]) -> Result<Source, String> {
        let scaling = self.frame.scaling(node.scale_sums, node.products.as_deref().unwrap_or_default())?;
        let to = match node.result {
            Some(NodeResult::Rounded(to)) => {
                let zero = if node.kind == DraftKind::Sum { node.zero } else { ZeroSign::Ieee };
                Some(self.frame.destination(&to, zero))
            }
            _ => None,
        };
        let to = match node.kind {
            DraftKind::Integer { wrap, group, bits, group_bits, c_bits } => {
                let d = self.frame.instruction.d;
                let bits = bits.unwrap_or(d.bits);
                if bits > d.bits {
                    return Err(format!("'accumulator' has {bits} bits, but {d} has {}", d.bits));
                }
                // A sum modulo 2^bits shows no bits of c above them, and a c of few bits wraps into as many.
                let is_seen = |c_bits: &u32| {
                    *c_bits < self.frame.instruction.c.bits && (wrap == Wrap::Saturate || *c_bits < bits)
                };
                let c_bits = c_bits.filter(is_seen);
                let sum = IntegerSum { wrap, group, bits, group_bits, c_bits };
                return Ok(self.value(node, ElementaryOperation::Integer(sum)));
            }
            DraftKind::Sum => return Ok(self.sum(node, factors, scaling, to)),
            DraftKind::Fma | DraftKind::Add | DraftKind::Sequential | DraftKind::Pairwise => to,
        };
        if scaling != Scaling::None && !factors.is_empty() {
            return Err(self.frame.unscaled());
        }
        let to = to.ok_or("the key 'result' is missing")?;
        Ok(match node.kind {
            DraftKind::Fma => self.chain(node, factors, to),
            _ => self.additions(node, factors, to),
        })
    }

    /// Appends the step that makes the products of a node.
    fn multiply(&mut self, node: &DraftNode, factors: &[Factors], scaling: Scaling) -> usize {
        let multiply = Multiply {
            factors: factors.to_vec(),
            scaling,
            limit: node.product_limit,
            bits: node.product_bits,
            rounded: node
                .product
                .filter(|_| node.scale_sums.is_none())
                .map(|to| self.frame.destination(&to, ZeroSign::Ieee)),
            normalised: node.normalised,
            // A sum handles the NaNs of its products itself.
            nans: if node.kind == DraftKind::Sum { Vec::new() } else { node.nan_operands.clone() },
        };
        self.push(node.group, &node.product_name, ElementaryOperation::Multiply(multiply))
    }

    /// Appends products and terms in one sum, which is rounded or stays a sum.
    fn sum(&mut self, node: &DraftNode, factors: &[Factors], scaling: Scaling, to: Option<Destination>) -> Source {
        let products = node.products.as_ref().map(|_| self.multiply(node, factors, scaling));
        let addends =
            node.terms.iter().map(|term| Addend { source: self.source(term.input), bits: term.bits, drop: term.drop });
        let sum = Sum {
            products: products.into_iter().collect(),
            addends: addends.collect(),
            alignment: node.alignment,
            normalised: matches!(node.result, Some(NodeResult::Normalised)),
            nans: node.nan_operands.clone(),
        };
        let sum = self.value(node, ElementaryOperation::Sum(sum));
        match to {
            Some(to) => self.round(node, &node.name, sum, to),
            None => sum,
        }
    }

    fn round(&mut self, node: &DraftNode, name: &str, value: Source, to: Destination) -> Source {
        let passes_nan = !node.nan_operands.is_empty();
        Source::Value(self.push(node.group, name, ElementaryOperation::Round { value, to, passes_nan }))
    }

    /// Appends a chain of fused multiply-adds, from the term or the first product.
    fn chain(&mut self, node: &DraftNode, factors: &[Factors], to: Destination) -> Source {
        let (mut sum, rest) = match (&node.terms[..], factors) {
            ([start, ..], _) => (self.source(start.input), factors),
            ([], [first, rest @ ..]) => {
                let product = self.multiply(node, &[*first], Scaling::None);
                (self.round(node, &node.product_name, Source::Product(product, 0), to), rest)
            }
            ([], []) => (Source::Zero, factors),
        };
        for &factors in rest {
            let nans = node.nan_operands.clone();
            sum = self.value(node, ElementaryOperation::Fma { factors, addend: sum, to, nans });
        }
        sum
    }

    /// Appends ordinary additions of terms and products.
    fn additions(&mut self, node: &DraftNode, factors: &[Factors], to: Destination) -> Source {
        let mut values: Vec<Source> = node.terms.iter().map(|term| self.source(term.input)).collect();
        if !factors.is_empty() {
            let step = self.multiply(node, factors, Scaling::None);
            let products: Vec<Source> = (0..factors.len()).map(|at| Source::Product(step, at)).collect();
            match node.kind {
                DraftKind::Pairwise => values.push(self.pairwise(node, &products, to)),
                _ => values.extend(products),
            }
        }
        match values[..] {
            [] => Source::Zero,
            [value] if node.kind == DraftKind::Add => self.round(node, &node.name, value, to),
            [first, ref rest @ ..] => rest.iter().fold(first, |sum, term| self.add(node, sum, *term, to)),
        }
    }

    fn add(&mut self, node: &DraftNode, x: Source, y: Source, to: Destination) -> Source {
        // An addition has no third operand, and is not invalid if one of its two is a NaN.
        let is_term = |operand: &NanOperand| matches!(operand, NanOperand::A | NanOperand::B);
        let nans = node.nan_operands.iter().copied().filter(is_term).collect();
        self.value(node, ElementaryOperation::Add { terms: [x, y], to, nans })
    }

    /// Appends the sum of the first half plus the sum of the second half.
    fn pairwise(&mut self, node: &DraftNode, values: &[Source], to: Destination) -> Source {
        match *values {
            [] => Source::Zero,
            [value] => value,
            _ => {
                let (left, right) = values.split_at(values.len() / 2);
                let (left, right) = (self.pairwise(node, left, to), self.pairwise(node, right, to));
                self.add(node, left, right, to)
            }
        }
    }
}
