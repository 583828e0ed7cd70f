//! A draft: the tree of nodes that the keys of a rule write, from which the program of an instruction follows.

use super::{
    node::NodeResult,
    rule::{Alignment, Conversion, NanOperand, ResultTininess, Rounded, Split, Step, Subnormals, Wrap, ZeroSign},
};
use crate::format::Format;

/// What a rule says for so many stored k: settings of the whole, and a tree of nodes.
///
/// It begins as one group of all k, without nodes. Each key of the rule rewrites it, in the order of their table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    /// How many k are stored.
    pub stored_k: usize,
    /// The step of the rule.
    pub step: Step,
    /// What A and B are first converted to.
    pub unpack: Option<&'static Format>,
    /// What C is first converted to.
    pub unpack_c: Option<&'static Format>,
    /// What becomes of subnormal operands.
    pub operand_subnormals: Subnormals,
    /// What becomes of subnormal results, where a result does not say it itself.
    pub result_subnormals: Subnormals,
    /// When a result counts as subnormal, where it does not say it itself.
    pub result_tininess: ResultTininess,
    /// How significands are cut into pieces.
    pub split: Option<Split>,
    /// The k of each group, in the order in which they are summed.
    pub groups: Vec<Vec<usize>>,
    /// The nodes, each behind those that it uses.
    pub nodes: Vec<DraftNode>,
    /// What gives D: one value, or several that ordinary additions are still to add in order.
    pub results: Vec<Input>,
    /// How the last value becomes a number of D's format.
    pub output: Option<Conversion>,
    /// The code of D for NaN.
    pub nan: Option<u64>,
    /// How many nodes have been numbered.
    numbered: usize,
}

/// A node of a draft.
#[derive(Debug, Clone)]
pub(crate) struct DraftNode {
    /// The number that others name it by.
    pub number: usize,
    /// The group that it belongs to (in a tree every node is one); `None` for what comes after all of them.
    pub group: Option<usize>,
    /// What explanations call its value.
    pub name: String,
    /// What they call its products.
    pub product_name: String,
    /// How it sums.
    pub kind: DraftKind,
    /// The stored k whose products it sums, in this order; `None`: it has no products.
    pub products: Option<Vec<usize>>,
    /// Which pieces of A and B are multiplied.
    pub pieces: Vec<(usize, usize)>,
    /// What else it sums; of a chain, what it starts from (nothing: its first product).
    pub terms: Vec<DraftTerm>,
    /// What each product is rounded to; `None`: it is exact.
    pub product: Option<Rounded>,
    /// Products of magnitude 2^this or more are infinite.
    pub product_limit: Option<i32>,
    /// Whether the exponent of a product is that of its leading bit.
    pub normalised: bool,
    /// How many products are added before they are scaled.
    pub scale_sums: Option<usize>,
    /// How a sum is aligned; `None`: it is exact.
    pub alignment: Option<Alignment>,
    /// Where the result goes; `None`: no key has said it yet.
    pub result: Option<NodeResult>,
    /// The sign of a zero result of a sum.
    pub zero: ZeroSign,
    /// The order in which a NaN among the operands becomes the result; empty: every NaN is the same.
    pub nan_operands: Vec<NanOperand>,
}

/// How a node of a draft sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DraftKind {
    /// Products and terms are aligned, if they are, and added exactly.
    Sum,
    /// A chain of fused multiply-adds.
    Fma,
    /// Ordinary additions of the terms, then of the products, in order; one value alone is rounded.
    Add,
    /// The same, but one value alone stays what it is.
    Sequential,
    /// The products are added in a binary tree, whose sum is added to the terms; one value alone stays what it is.
    Pairwise,
    /// All products and c as integers.
    Integer {
        /// What becomes of a sum beyond the range.
        wrap: Wrap,
        /// How many products are added before a sum is brought into the range.
        group: usize,
        /// The bits of the range; absent: those of D.
        bits: Option<u32>,
    },
}

/// A value that a node takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// The unpacked element of C.
    C,
    /// +0.
    Zero,
    /// The value of the node with this number.
    Node(usize),
}

/// What a node sums besides products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftTerm {
    /// The value.
    pub input: Input,
    /// The bits kept of it after the binary point, where they are not those of the alignment.
    pub bits: Option<i32>,
    /// It is left out if its exponent is more than this below the one that is aligned to.
    pub drop: Option<i32>,
}

impl From<Input> for DraftTerm {
    fn from(input: Input) -> DraftTerm {
        DraftTerm { input, bits: None, drop: None }
    }
}

impl Draft {
    /// The draft that the keys of a rule begin with.
    pub(super) fn new(stored_k: usize) -> Draft {
        Draft { stored_k, groups: vec![(0..stored_k).collect()], ..Draft::default() }
    }

    /// Every pair of pieces of A and B, by their numbers.
    pub(crate) fn pieces(&self) -> Vec<(usize, usize)> {
        let (a, b) = self.split.as_ref().map_or((1, 1), |split| (split.a.len().max(1), split.b.len().max(1)));
        (0..a).flat_map(|a| (0..b).map(move |b| (a, b))).collect()
    }

    /// The node that gives D, if one does.
    pub(crate) fn root(&self) -> Option<&DraftNode> {
        let gives = |node: &&DraftNode| self.results.last() == Some(&Input::Node(node.number));
        self.nodes.iter().find(gives)
    }

    /// A node without products and terms, which is not in its place yet.
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
            normalised: false,
            scale_sums: None,
            alignment: None,
            result: None,
            zero: ZeroSign::default(),
            nan_operands: Vec::new(),
        }
    }

    /// A sum like another node's that is not rounded: a part of it, without its terms.
    pub(super) fn part(&mut self, whole: &DraftNode, name: String, products: Option<Vec<usize>>) -> DraftNode {
        self.numbered += 1;
        let result = Some(NodeResult::Aligned);
        DraftNode { number: self.numbered, name, products, terms: Vec::new(), result, ..whole.clone() }
    }

    /// Puts a node behind all others; its value.
    pub(super) fn push(&mut self, node: DraftNode) -> Input {
        let value = Input::Node(node.number);
        self.nodes.push(node);
        value
    }

    /// Puts a node right behind the one that gives `value`, or behind all others; its value.
    pub(super) fn push_behind(&mut self, value: Input, node: DraftNode) -> Input {
        let at = self.nodes.iter().position(|other| Input::Node(other.number) == value);
        let own = Input::Node(node.number);
        self.nodes.insert(at.map_or(self.nodes.len(), |at| at + 1), node);
        own
    }

    /// Changes every node of a group.
    pub(super) fn each(&mut self, change: impl FnMut(&mut DraftNode)) {
        self.nodes.iter_mut().filter(|node| node.group.is_some()).for_each(change);
    }

    /// The node that was put behind all others last.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn newest(&mut self) -> &mut DraftNode {
        self.nodes.last_mut().expect("a node is there before its keys are")
    }

    /// The value that a key of a node names.
    pub(super) fn input(&self, name: &str) -> Input {
        match name {
            "c" => Input::C,
            "+0" => Input::Zero,
            _ => self.nodes.iter().find(|node| node.name == name).map_or(Input::Zero, |node| Input::Node(node.number)),
        }
    }
}

impl DraftNode {
    /// The term that is c, if it has it.
    pub(super) fn c(&self) -> Option<usize> {
        self.terms.iter().position(|term| term.input == Input::C)
    }
}
