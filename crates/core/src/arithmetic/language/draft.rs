//! Draft of a rule: a tree of nodes, from which the program of an instruction follows.

use super::{
    node::NodeResult,
    rule::{
        Alignment, Conversion, NanOperand, OppositeInfinities, OverflowTest, ResultTininess, Rounded, SpecialOperands,
        Specials, Split, Step, Subnormals, Wrap, ZeroSign, ZeroTerms, ZeroTimesInfinity,
    },
};
use crate::format::Format;

/// Draft of a rule for `stored_k` stored k: settings of the whole, and a tree of nodes.
/// It begins as one group of all k, without nodes. Each key of the rule rewrites it, in the order of their table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    /// Number of stored k.
    pub stored_k: usize,
    /// Step of the rule.
    pub step: Step,
    /// Format to which A and B are first converted.
    pub unpack: Option<&'static Format>,
    /// Format to which C is first converted.
    pub unpack_c: Option<&'static Format>,
    /// Treatment of subnormal operands.
    pub operand_subnormals: Subnormals,
    /// Treatment of a subnormal c; `None` if it is the one of operands.
    pub c_subnormals: Option<Subnormals>,
    /// Zero terms that count in alignments.
    pub zero_terms: ZeroTerms,
    /// Origin of infinities and NaNs.
    pub specials: Specials,
    /// Values of special codes of A and B, and of C; `None` if it is the one of operands.
    pub special_operands: SpecialOperands,
    pub special_c: Option<SpecialOperands>,
    /// Product of an infinity and a zero.
    pub zero_times_infinity: ZeroTimesInfinity,
    /// Sum of infinities with opposite signs.
    pub opposite_infinities: OppositeInfinities,
    /// Treatment of subnormal results without a treatment of their own.
    pub result_subnormals: Subnormals,
    /// Definition of subnormal results without a definition of their own.
    pub result_tininess: ResultTininess,
    /// Value that decides overflow, of results without a test of their own.
    pub overflow_test: OverflowTest,
    /// Cut of significands into pieces.
    pub split: Option<Split>,
    /// k of each group, in the order of the sums.
    pub groups: Vec<Vec<usize>>,
    /// Nodes, each after those that it uses.
    pub nodes: Vec<DraftNode>,
    /// Values that give D: one, or several that ordinary additions are still to add in order.
    pub results: Vec<DraftInput>,
    /// Conversion of the last value to a number of D's format.
    pub output: Option<Conversion>,
    /// Code of D that a NaN of A or B stands for.
    pub nan_factors: Option<u64>,
    /// Code of D for NaN.
    pub nan: Option<u64>,
    /// Number of nodes that have been numbered.
    numbered: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct DraftNode {
    /// Number by which other nodes refer to it.
    pub number: usize,
    /// Group of the node (in a tree every node is a group); `None` after all groups.
    pub group: Option<usize>,
    /// Name of its value in explanations.
    pub name: String,
    /// Name of its products in explanations.
    pub product_name: String,
    /// Kind of sum.
    pub kind: DraftKind,
    /// Stored k of its products, in their order; `None` without products.
    pub products: Option<Vec<usize>>,
    /// Pairs of pieces of A and B that are multiplied.
    pub pieces: Vec<(usize, usize)>,
    /// Terms besides products; for a chain, its start (none: its first product).
    pub terms: Vec<DraftTerm>,
    /// Rounding of each product; `None` if it is exact.
    pub product: Option<Rounded>,
    /// Binary logarithm of the magnitude from which on products are infinite.
    pub product_limit: Option<i32>,
    /// Fraction bits kept of each product; `None` for all.
    pub product_bits: Option<i32>,
    /// True if the exponent of a product belongs to its leading bit.
    pub normalised: bool,
    /// Number of products added before they are scaled.
    pub scale_sums: Option<usize>,
    /// Alignment of a sum; `None` if it is exact.
    pub alignment: Option<Alignment>,
    /// Destination of the result; `None` until a key sets it.
    pub result: Option<NodeResult>,
    /// Sign of a zero sum.
    pub zero: ZeroSign,
    /// Order in which NaN operands become the result; empty if every NaN is the same.
    pub nan_operands: Vec<NanOperand>,
}

/// Kind of sum of a draft's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DraftKind {
    /// Products and terms are aligned, if there is an alignment, and added exactly.
    Sum,
    /// A chain of fused multiply-adds.
    Fma,
    /// Ordinary additions of the terms, then of the products, in order; a single value is rounded.
    Add,
    /// The same, except that a single value is not rounded.
    Sequential,
    /// Binary tree of additions of the products, added to the terms; a single value is not rounded.
    Pairwise,
    /// Sum of all products and c as integers.
    Integer {
        /// Treatment of a sum beyond the range.
        wrap: Wrap,
        /// Number of products added before a sum is brought into the range.
        group: usize,
        /// Bits of the range; `None` uses the bits of D.
        bits: Option<u32>,
        /// Bits in which the sum of a group saturates before it is added.
        group_bits: Option<u32>,
        /// Bits into which c wraps.
        c_bits: Option<u32>,
    },
}

/// Value that a node takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DraftInput {
    /// Unpacked element of C.
    C,
    /// +0.
    Zero,
    /// Value of the node with this number.
    Node(usize),
}

/// Term of a node besides products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftTerm {
    pub input: DraftInput,
    /// Fraction bits of the term; `None` uses the bits of the alignment.
    pub bits: Option<i32>,
    /// Largest distance of its exponent below the aligned one; beyond, it is ignored.
    pub drop: Option<i32>,
}

impl From<DraftInput> for DraftTerm {
    fn from(input: DraftInput) -> DraftTerm {
        DraftTerm { input, bits: None, drop: None }
    }
}

impl Draft {
    /// Initial draft, before the keys of a rule.
    pub(super) fn new(stored_k: usize) -> Draft {
        Draft { stored_k, groups: vec![(0..stored_k).collect()], ..Draft::default() }
    }

    /// All pairs of pieces of A and B, by their numbers.
    pub(crate) fn pieces(&self) -> Vec<(usize, usize)> {
        let (a, b) = self.split.as_ref().map_or((1, 1), |split| (split.a.len().max(1), split.b.len().max(1)));
        (0..a).flat_map(|a| (0..b).map(move |b| (a, b))).collect()
    }

    /// Node that gives D; `None` if no node does.
    pub(crate) fn root(&self) -> Option<&DraftNode> {
        let gives = |node: &&DraftNode| self.results.last() == Some(&DraftInput::Node(node.number));
        self.nodes.iter().find(gives)
    }

    /// New node without products and terms, not yet placed.
    pub(super) fn node(&mut self, kind: DraftKind, group: Option<usize>, name: &str) -> DraftNode {
        self.numbered += 1;
        DraftNode {
            number: self.numbered,
            group,
            name: name.into(),
            product_name: "product".into(),
            kind,
            products: None,
            pieces: self.pieces(),
            terms: Vec::new(),
            product: None,
            product_limit: None,
            product_bits: None,
            normalised: false,
            scale_sums: None,
            alignment: None,
            result: None,
            zero: ZeroSign::default(),
            nan_operands: Vec::new(),
        }
    }

    /// Unrounded sum of a node, as a part of another node.
    pub(super) fn part(&mut self, node: &DraftNode, name: String, products: Option<Vec<usize>>) -> DraftNode {
        self.numbered += 1;
        let result = Some(NodeResult::Aligned);
        DraftNode { number: self.numbered, name, products, terms: Vec::new(), result, ..node.clone() }
    }

    /// Appends a node and returns its value.
    pub(super) fn push(&mut self, node: DraftNode) -> DraftInput {
        let value = DraftInput::Node(node.number);
        self.nodes.push(node);
        value
    }

    /// Inserts a node right after the one that gives `value`, or appends it; returns its value.
    pub(super) fn push_behind(&mut self, value: DraftInput, node: DraftNode) -> DraftInput {
        let at = self.nodes.iter().position(|other| DraftInput::Node(other.number) == value);
        let input = DraftInput::Node(node.number);
        self.nodes.insert(at.map_or(self.nodes.len(), |at| at + 1), node);
        input
    }

    /// Changes every node of a group.
    pub(super) fn each(&mut self, change: impl FnMut(&mut DraftNode)) {
        self.nodes.iter_mut().filter(|node| node.group.is_some()).for_each(change);
    }

    /// The last node that was appended.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn newest(&mut self) -> &mut DraftNode {
        self.nodes.last_mut().expect("a node is there before its keys are")
    }

    /// Value that a key of a node names.
    pub(super) fn input(&self, name: &str) -> DraftInput {
        match name {
            "c" => DraftInput::C,
            "+0" => DraftInput::Zero,
            _ => self
                .nodes
                .iter()
                .find(|node| node.name == name)
                .map_or(DraftInput::Zero, |node| DraftInput::Node(node.number)),
        }
    }
}

impl DraftNode {
    /// Index of the term that is c; `None` without one.
    pub(super) fn c(&self) -> Option<usize> {
        self.terms.iter().position(|term| term.input == DraftInput::C)
    }
}
