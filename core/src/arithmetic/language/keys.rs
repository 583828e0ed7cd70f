//! The keys of a rule and of a node: what each means, what it may be, which steps it belongs to, and what it makes of a draft.

use super::{
    draft::Draft,
    evidence,
    limits::{
        alignment, at_least_one, exponent, group, lanes, late, nan_operands, nodes, normalised, parts, patterns, split,
        sum_format,
    },
    lowering,
    node::{Node, NodeKind},
    rule::{CPosition, Join, ResultTininess, Rule, Start, Step, Subnormals},
};

/// A key of a table of a model file: of a rule, whose steps differ in the keys that they have, or of a node, whose kinds do.
#[derive(Debug, Clone, Copy)]
pub struct Key<Table: 'static, Variant: 'static> {
    /// The key as model files write it.
    pub name: &'static str,
    /// What it says, and what holds where it is absent.
    pub meaning: &'static str,
    /// The allowed values.
    pub values: &'static str,
    /// The steps or kinds of node for which it says something.
    pub variants: &'static [Variant],
    /// Whether those need it.
    pub required: bool,
    /// Whether a table has it (and not with the value that is meant where it is absent).
    pub(super) present: fn(&Table) -> bool,
    /// What is wrong with its value, with the key and what is allowed.
    pub(super) check: fn(&Table) -> Option<String>,
    /// What it makes of a draft, in the steps or kinds of node for which it says something; of a key of a node, of the newest one.
    pub(super) lower: fn(&Table, &mut Draft),
}

/// A key of a rule.
pub type RuleKey = Key<Rule, Step>;
/// A key of a node.
pub type NodeKey = Key<Node, NodeKind>;

const ALL: &[Step] = Step::ALL;
const FLOATING: &[Step] = &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise, Step::Tree];
const GROUPED: &[Step] = &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise];
const IN_GROUPS: &[Step] = &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise, Step::Integer];
const ALIGNED: &[Step] = &[Step::Fused];
const ONCE: &[Step] = &[Step::Fused, Step::Exact];
const PRODUCTS: &[Step] = &[Step::Fused, Step::Exact, Step::Sequential, Step::Pairwise];
const TREE: &[Step] = &[Step::Tree];
const CHAINS: &[Step] = &[Step::Fma, Step::Sequential, Step::Pairwise];

const TO: &str = "{ format, rounding, overflow, subnormals, tininess }: a format with signs, zero and NaN; RNE, RNA, RZ, RU, RD or RO; standard (the default), infinity, nan or saturate, for what is beyond the largest number, infinities included; as result-subnormals and result-tininess (the default)";

macro_rules! key {
    ($name:literal, $variants:ident, $required:ident, $present:expr, $check:expr, $lower:expr, $values:expr, $meaning:literal) => {
        Key {
            name: $name,
            meaning: $meaning,
            values: $values,
            variants: $variants,
            required: $required == NEEDED,
            present: $present,
            check: $check,
            lower: $lower,
        }
    };
}
/// Of keys whose values the types of the language say.
macro_rules! any {
    () => {
        |_| None
    };
}
/// Of keys that say nothing about the arithmetic.
macro_rules! nothing {
    () => {
        |_, _| {}
    };
}
const NEEDED: bool = true;
const OPTIONAL: bool = false;

/// Every key of a rule, in the order of the computation, in which they are lowered.
#[rustfmt::skip]
pub const KEYS: &[RuleKey] = &[
    key!("instructions", ALL, NEEDED, |_| true, patterns,
        nothing!(),
        "patterns: * is anything, {x,y} is x or y",
        "the instructions that the rule covers, by name; of several rules the first holds"),
    key!("evidence", ALL, NEEDED, |r| !r.evidence.is_empty(), evidence::defect,
        nothing!(),
        "a list of { measured, date, cases, files }, { recorded, device, files, leaves }, { specification, section }, { literature } and { assumed }, each with note, keys and instructions where it covers only these",
        "the sources of the rule and what each covers; of several that cover a key the first holds, and a key that none covers is assumed"),
    key!("unpack", FLOATING, OPTIONAL, |r| r.unpack.is_some(), any!(),
        |r, d| d.unpack = r.unpack,
        "a format that holds every number of A and B",
        "what A and B are first converted to, exactly (a subnormal operand can become a normal one, whose term has a smaller exponent); absent: nothing"),
    key!("unpack-c", FLOATING, OPTIONAL, |r| r.unpack_c.is_some(), any!(),
        |r, d| d.unpack_c = r.unpack_c,
        "a format that holds every number of C",
        "what C is first converted to; absent: nothing"),
    key!("operand-subnormals", FLOATING, OPTIONAL, |r| r.operand_subnormals != Subnormals::Keep, any!(),
        |r, d| d.operand_subnormals = r.operand_subnormals,
        "keep, signed-zero or positive-zero",
        "what becomes of subnormal operands; absent: keep"),
    key!("result-subnormals", FLOATING, OPTIONAL, |r| r.result_subnormals != Subnormals::Keep, any!(),
        |r, d| d.result_subnormals = r.result_subnormals,
        "keep, signed-zero or positive-zero",
        "what becomes of subnormal results of steps, rounded products and additions; absent: keep"),
    key!("result-tininess", FLOATING, OPTIONAL, |r| r.result_tininess != ResultTininess::After, any!(),
        |r, d| d.result_tininess = r.result_tininess,
        "before, after, or \"after, unbounded exponent\"",
        "when a result counts as subnormal: the exact one is below the smallest normal number; the rounded one is; it is when rounded to the format's precision with any exponent; absent: after"),
    key!("split", FLOATING, OPTIONAL, |r| r.split.is_some(), split,
        |r, d| d.split = r.split.clone(),
        "{ a, b }: lists of widths, from the leading bit down, which add up to the precision",
        "how the significands of A and B are cut into pieces; the product of two pieces is a term with the exponent of the whole product; absent: they are not"),
    key!("parts", GROUPED, OPTIONAL, |r| r.parts.is_some(), parts,
        lowering::parts,
        "{ period, residues }: each remainder below the period in one list",
        "how k (of sparse forms the stored elements) is split by remainder before it is grouped; absent: not"),
    key!("group", IN_GROUPS, OPTIONAL, |r| r.group.is_some(), group,
        lowering::group,
        "1 or more",
        "how many consecutive k of a part one step sums; absent: all"),
    key!("step", ALL, OPTIONAL, |_| true, any!(),
        lowering::step,
        "fused, exact, fma, sequential, pairwise, integer or tree",
        "how a group is summed; absent: tree. fused: its terms (non-zero products, exact and unnormalised, and c) are aligned to the largest exponent, cut, added exactly, and the sum is rounded once; exact: the same without alignment; fma: a chain of fused multiply-adds; sequential: products added in order; pairwise: products added in a binary tree, whose sum is added to c; integer: exact; tree: as the nodes say"),
    key!("node", TREE, NEEDED, |r| !r.nodes.is_empty(), any!(),
        lowering::node,
        "node.NAME = { kind, ... }: see the keys of a node",
        "a step of a tree; the node that no other one uses gives D"),
    key!("product", PRODUCTS, OPTIONAL, |r| r.product.is_some(), |r| sum_format("product", r.product),
        |r, d| d.each(|n| n.product = r.product),
        TO,
        "what each product is rounded to; absent: it is exact"),
    key!("product-limit", PRODUCTS, OPTIONAL, |r| r.product_limit.is_some(), |r| exponent("product-limit", r.product_limit),
        |r, d| d.each(|n| n.product_limit = r.product_limit),
        "an exponent",
        "products of magnitude 2^this or more are infinite, before they are rounded; absent: none is"),
    key!("normalised", ALIGNED, OPTIONAL, |r| r.normalised.is_some(), |r| normalised(r.normalised, r.scale_sums),
        |r, d| d.each(|n| n.normalised = r.normalised == Some(true)),
        "true or false",
        "whether the exponent of a product is that of its leading bit; absent: the sum of the operands' exponents"),
    key!("scale-sums", ONCE, OPTIONAL, |r| r.scale_sums.is_some(), |r| at_least_one("scale-sums", r.scale_sums),
        |r, d| d.each(|n| n.scale_sums = r.scale_sums),
        "a divisor of the products in a block",
        "block-scaled forms: so many consecutive products are added exactly, and their sum times the scales is one term, whose exponent is that of the scales; absent: each product is scaled"),
    key!("alignment", ALIGNED, NEEDED, |r| r.alignment.is_some(), |r| alignment(r.alignment),
        |r, d| d.each(|n| n.alignment = r.alignment),
        "{ bits, rounding, floor, sticky }: 0 to 60; RNE, RNA, RZ, RU, RD or RO (which sets the last bit); an exponent, absent: none; true or false",
        "bits kept after the binary point of a significand whose units digit weighs 2^e, e the largest exponent of a term but at least the floor; how the rest is cut off; sticky: a sum of which anything was cut off counts as a little more in magnitude (RD: as larger, RU: as smaller) where it is rounded"),
    key!("lanes", ALIGNED, OPTIONAL, |r| r.lanes.is_some(), lanes,
        lowering::lanes,
        "{ period, bits, rounding }",
        "positions of a group that differ by remainder are aligned and summed apart; then the sums are aligned, cut and added; absent: they are not"),
    key!("late", ALIGNED, OPTIONAL, |r| r.late.is_some(), late,
        lowering::late,
        "{ sum-bits, c-bits, rounding, drop, floor }",
        "the sum of the products and c are aligned to the larger exponent (at least the floor), each cut to its own width, and added; a c more than drop below is left out; absent: c is a term among the products"),
    key!("zero", ONCE, OPTIONAL, |r| r.zero.is_some(), any!(),
        |r, d| d.each(|n| n.zero = r.zero.unwrap_or_default()),
        "positive, negative, ieee or exact-positive",
        "the sign of a zero result; exact-positive: +0 for a sum that is exactly zero, the sign of one that underflows; absent: positive"),
    key!("start", CHAINS, OPTIONAL, |r| r.start != Start::C, any!(),
        lowering::start,
        "c or product",
        "what a chain, or with join = \"add\" each group, starts from: c, or its first product (or sum of products) itself; absent: c"),
    key!("join", GROUPED, OPTIONAL, |r| r.join != Join::Chain, any!(),
        lowering::join,
        "chain or add",
        "chain: the result of a group is the c of the next; add: groups are summed apart and added in order; absent: chain"),
    key!("c", GROUPED, OPTIONAL, |r| r.c != CPosition::First, any!(),
        lowering::c,
        "first or last",
        "whether c enters before everything else, or after it by an ordinary addition; absent: first"),
    key!("result", GROUPED, NEEDED, |r| r.result.is_some(), |r| sum_format("result", r.result),
        lowering::result,
        TO,
        "what a step rounds its sum to"),
    key!("between", GROUPED, OPTIONAL, |r| r.between.is_some(), |r| sum_format("between", r.between),
        lowering::between,
        TO,
        "what it is rounded to where another group continues from it; absent: as result"),
    key!("addition", GROUPED, OPTIONAL, |r| r.addition.is_some(), |r| sum_format("addition", r.addition),
        lowering::addition,
        TO,
        "what the ordinary additions of join and c round to; absent: as result"),
    key!("output", FLOATING, OPTIONAL, |r| r.output.is_some(), any!(),
        |r, d| d.output = r.output,
        "{ rounding, overflow }",
        "how the last value becomes a number of D's format; absent: to nearest"),
    key!("wrap", INTEGER, NEEDED, |r| r.wrap.is_some(), any!(),
        lowering::wrap,
        "wrap or saturate",
        "what an integer sum beyond the range of D becomes, after each group of products"),
    key!("accumulator", INTEGER, OPTIONAL, |r| r.accumulator.is_some(), |r| at_least_one("accumulator", r.accumulator.map(|bits| bits as usize)),
        lowering::accumulator,
        "1 or more, at most the bits of D",
        "bits of the range that integer sums are brought into; absent: those of D"),
    key!("nan-operands", NANS, OPTIONAL, |r| r.nan_operands.is_some(), nan_operands,
        |r, d| d.each(|n| n.nan_operands = r.nan_operands.clone().unwrap_or_default()),
        "a list of a, b and c",
        "the order in which a NaN among the operands of a step becomes the result, made quiet, with the leading bits of its payload (of a fused or exact step, product by product); absent: every NaN result is nan"),
    key!("nan", FLOATING, NEEDED, |r| r.nan.is_some(), any!(),
        |r, d| d.nan = r.nan,
        "a NaN of D in hexadecimal: \"0x7fffffff\"",
        "the code of D for every NaN; with nan-operands for those of invalid operations"),
];

const INTEGER: &[Step] = &[Step::Integer];
const NANS: &[Step] = &[Step::Fused, Step::Exact, Step::Fma];

const NODES: &[NodeKind] = NodeKind::ALL;
const SUM: &[NodeKind] = &[NodeKind::Sum];
const CHAIN: &[NodeKind] = &[NodeKind::Fma];
const TERMS: &[NodeKind] = &[NodeKind::Sum, NodeKind::Add];

/// Every key of a node, in the order of the computation, in which they are lowered.
#[rustfmt::skip]
pub const NODE_KEYS: &[NodeKey] = &[
    key!("kind", NODES, NEEDED, |_| true, nodes::kind,
        lowering::nodes::kind,
        "sum, fma or add",
        "how the node sums. sum: products and terms are aligned, cut, added exactly, and the sum is rounded once; fma: a chain of fused multiply-adds; add: ordinary additions of the terms, then of the products, in order"),
    key!("products", NODES, OPTIONAL, |n| n.products.is_some(), any!(),
        lowering::nodes::products,
        "indices and slices START:STOP:STEP: \"0::2\", \"0:4, 8:12\", [0, 1]",
        "the stored k whose products it sums, in this order; absent: none. Every k is named once among all nodes"),
    key!("pieces", NODES, OPTIONAL, |n| n.pieces.is_some(), any!(),
        lowering::nodes::pieces,
        "a list of pairs: [[0, 0], [0, 1]]",
        "of a rule with split, which pieces of a and b are multiplied; absent: all pairs. No pair is named twice for a k; what no node names is not multiplied"),
    key!("terms", TERMS, OPTIONAL, |n| !n.terms.is_empty(), nodes::terms,
        lowering::nodes::terms,
        "a list of c, names of nodes, and { term, bits, drop }",
        "what else it sums. bits: kept of it after the binary point, instead of the alignment's; drop: it is left out if its exponent is more than this below the one that is aligned to"),
    key!("start", CHAIN, OPTIONAL, |n| n.start.is_some(), any!(),
        lowering::nodes::start,
        "c, the name of a node, +0 or product",
        "what the chain starts from; product: its first product itself; absent: +0"),
    key!("product", TERMS, OPTIONAL, |n| n.product.is_some(), |n| sum_format("product", n.product),
        |n, d| d.newest().product = n.product,
        TO,
        "what each product is rounded to; absent: it is exact"),
    key!("product-limit", TERMS, OPTIONAL, |n| n.product_limit.is_some(), |n| exponent("product-limit", n.product_limit),
        |n, d| d.newest().product_limit = n.product_limit,
        "an exponent",
        "products of magnitude 2^this or more are infinite, before they are rounded; absent: none is"),
    key!("normalised", SUM, OPTIONAL, |n| n.normalised.is_some(), nodes::normalised,
        |n, d| d.newest().normalised = n.normalised == Some(true),
        "true or false",
        "whether the exponent of a product is that of its leading bit; absent: the sum of the operands' exponents"),
    key!("scale-sums", SUM, OPTIONAL, |n| n.scale_sums.is_some(), |n| at_least_one("scale-sums", n.scale_sums),
        |n, d| d.newest().scale_sums = n.scale_sums,
        "a divisor of the products in a block",
        "block-scaled forms: so many consecutive products are added exactly, and their sum times the scales is one term, whose exponent is that of the scales; absent: each product is scaled"),
    key!("alignment", SUM, OPTIONAL, |n| n.alignment.is_some(), |n| alignment(n.alignment),
        |n, d| d.newest().alignment = n.alignment,
        "{ bits, rounding, floor, sticky }: 0 to 60; RNE, RNA, RZ, RU, RD or RO (which sets the last bit); an exponent, absent: none; true or false",
        "bits kept of each term after the binary point of a significand whose units digit weighs 2^e, e the largest exponent of a term but at least the floor; how the rest is cut off; sticky: a sum of which anything was cut off counts as a little more in magnitude (RD: as larger, RU: as smaller) where it is rounded; absent: the sum is exact"),
    key!("result", NODES, NEEDED, |n| n.result.is_some(), nodes::result,
        |n, d| d.newest().result = n.result,
        "{ format, rounding, overflow, subnormals, tininess } as in a rule; of a sum also \"aligned\" or \"normalised\"",
        "what the result (of fma and add, of each step) is rounded to; aligned: it is not, and is a term of another sum, whose exponent is the one that it was aligned to; normalised: the same with the exponent of its leading bit"),
    key!("zero", SUM, OPTIONAL, |n| n.zero.is_some(), nodes::zero,
        |n, d| d.newest().zero = n.zero.unwrap_or_default(),
        "positive, negative, ieee or exact-positive",
        "the sign of a zero result; exact-positive: +0 for a sum that is exactly zero, the sign of one that underflows; absent: positive"),
    key!("nan-operands", NODES, OPTIONAL, |n| !n.nan_operands.is_empty(), any!(),
        |n, d| d.newest().nan_operands = n.nan_operands.clone(),
        "a list of a, b and c",
        "the order in which a NaN among the operands becomes the result, made quiet, with the leading bits of its payload; of a sum product by product, c being its terms; of additions a is the first and b the second operand; absent: every NaN is the same"),
];
