//! Keys of a rule and of a node, a row each.
//!
//! A row has the field, the meaning, the allowed values, the steps with the key, its setting (words, property, features,
//! near values), and its effect on a draft. All code that reads, checks, prints, lowers, changes or compares rules uses these
//! rows: a new key is a new row.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    draft::Draft,
    evidence::{self, Evidence, sources},
    limits::{
        EXPONENT, GROUP_BITS, LANES, PLACE, RANDOM_BITS, REACH, WIDTH, alignment, at_least_one, group, lanes, late,
        nan_factors, nan_operands, nodes, normalised, output, outside, parts, patterns, split, sum_format,
    },
    lowering, near,
    node::{Indices, NodeKind, NodeResult, Term},
    rule::{
        Alignment, CPosition, Conversion, Join, Lanes, Late, NanOperand, OppositeInfinities, OverflowTest, Parts,
        ResultTininess, Rounded, SpecialOperands, Specials, Split, Start, Step, Subnormals, Wrap, ZeroSign, ZeroTerms,
        ZeroTimesInfinity,
    },
    setting::{EXPONENTS, Setting, WIDTHS, says},
    value::{Field, KeyValue},
    values::{code, optional_format},
};
use crate::format::Format;

/// Key of a table of a model file: of a rule, by its step, or of a node, by its kind.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Key<Table: 'static, Variant: 'static> {
    /// Key in model files.
    pub name: &'static str,
    /// Meaning, and the meaning of its absence.
    pub meaning: &'static str,
    /// Allowed values.
    pub values: &'static str,
    /// Steps or kinds of node in which it has an effect.
    pub variants: &'static [Variant],
    /// True if those need it.
    pub required: bool,
    /// True if a table has it, with another value than the one meant by its absence.
    pub(super) present: fn(&Table) -> bool,
    /// Value in a table; `None` without one.
    pub(super) value: fn(&Table) -> Option<KeyValue>,
    /// Sets or removes the value of a table; false if the key cannot have it.
    pub(super) set: fn(&mut Table, Option<&KeyValue>) -> bool,
    /// Defect of its value, with the key and the allowed values; `None` if its type excludes defects.
    pub(super) check: fn(&Table) -> Option<String>,
    /// Effect on a draft in the steps or kinds of node that have it; a node's key changes the newest node.
    pub(super) lower: fn(&Table, &mut Draft),
    /// Setting of its value. A key of nodes that rules have too has theirs.
    pub(super) setting: Setting,
    /// Settings of the keys within, if its value is a table.
    pub(super) within: &'static [(&'static str, Setting)],
}

/// Key of a rule.
pub type RuleKey = Key<Rule, Step>;
/// Key of a node.
pub type NodeKey = Key<Node, NodeKind>;

impl<Table, Variant> Key<Table, Variant> {
    /// Row without content.
    const NONE: Key<Table, Variant> = Key {
        name: "",
        meaning: "",
        values: "",
        variants: &[],
        required: false,
        present: |_| false,
        value: |_| None,
        set: |_, _| false,
        check: |_| None,
        lower: |_, _| {},
        setting: says(""),
        within: &[],
    };

    /// Number of a table outside the limits of its setting, with the key and the limits.
    ///
    /// A key of a node has the limits of the same key of a rule.
    pub(super) fn outside(&self, table: &Table) -> Option<String> {
        let rule = KEYS.iter().find(|key| key.name == self.name);
        let (setting, within) = rule.map_or((&self.setting, self.within), |rule| (&rule.setting, rule.within));
        if setting.limits.is_none() && within.iter().all(|(_, part)| part.limits.is_none()) {
            return None;
        }
        let value = (self.value)(table)?;
        let part = |(part, setting): &(&str, Setting)| {
            outside(&format!("{}.{part}", self.name), value.part(part)?.number()?, setting.limits?)
        };
        let number = || outside(self.name, value.number()?, setting.limits?);
        number().or_else(|| within.iter().find_map(part))
    }

    /// Settings of the key and of the keys within, with their paths: `group`; `alignment.bits`.
    fn settings(&self) -> impl Iterator<Item = (String, &Setting)> {
        let within = self.within.iter().map(|(name, setting)| (format!("{}.{name}", self.name), setting));
        std::iter::once((self.name.to_string(), &self.setting)).chain(within)
    }
}

/// Settings of all keys, with their paths in a rule or a node, in the order of the computation.
/// Keys of nodes alone come last.
pub fn settings() -> impl Iterator<Item = (String, &'static Setting)> {
    let of_nodes = NODE_KEYS.iter().filter(|key| KEYS.iter().all(|other| other.name != key.name));
    KEYS.iter().flat_map(Key::settings).chain(of_nodes.flat_map(Key::settings))
}

/// Paths of the keys that decide a feature of `docs/features.md`.
/// The first always does, the others in rules that have them.
pub fn feature_keys(feature: &str) -> Vec<String> {
    let first = settings().filter(|(_, setting)| setting.decides.contains(&feature));
    let others = settings().filter(|(_, setting)| setting.shapes.contains(&feature));
    first.chain(others).map(|(path, _)| path).collect()
}

/// Setting at a path of a rule: `group`, `alignment.bits`, `node.even.alignment.bits`.
pub fn setting(path: &str) -> Option<&'static Setting> {
    let of_node = path.strip_prefix("node.").and_then(|rest| Some(rest.split_once('.')?.1));
    let (name, below) = match of_node.unwrap_or(path).split_once('.') {
        Some((name, below)) => (name, Some(below)),
        None => (of_node.unwrap_or(path), None),
    };
    let rule = KEYS.iter().find(|key| key.name == name).map(|key| (&key.setting, key.within));
    let node = || NODE_KEYS.iter().find(|key| key.name == name).map(|key| (&key.setting, key.within));
    let (setting, within) = rule.or_else(node)?;
    match below {
        Some(below) => within.iter().find(|(name, _)| *name == below).map(|(_, setting)| setting),
        None => Some(setting),
    }
}

/// Declares a table of a model file and the rows of its keys: field, key and the rest of each row.
macro_rules! keys {
    (
        $(#[$about:meta])* $table:ident, $fields:vis, $(#[$list:meta])* $keys:ident: $key:ident {
            $($(#[$read:meta])* $field:ident: $type:ty = $name:literal {
                meaning: $meaning:literal, $($part:ident: $what:expr,)*
            })*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        #[non_exhaustive]
        pub struct $table {
            $(#[doc = $meaning] $(#[$read])* $fields $field: $type,)*
        }

        $(#[$list])*
        pub const $keys: &[$key] = &[$($key {
            name: $name,
            meaning: $meaning,
            present: |table| table.$field.is_given(),
            value: |table| table.$field.value(),
            set: |table, value| table.$field.set(value),
            $($part: $what,)*
            ..$key::NONE
        },)*];
    };
}

const ALL: &[Step] = Step::ALL;
const FLOATING: &[Step] = &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise, Step::Tree];
const GROUPED: &[Step] = &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise];
const IN_GROUPS: &[Step] = &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise, Step::Integer];
const ALIGNED: &[Step] = &[Step::Fused];
const COUNTING: &[Step] = &[Step::Fused, Step::Tree];
const ONCE: &[Step] = &[Step::Fused, Step::Exact];
const PRODUCTS: &[Step] = &[Step::Fused, Step::Exact, Step::Sequential, Step::Pairwise];
const TREE: &[Step] = &[Step::Tree];
const CHAINS: &[Step] = &[Step::Fma, Step::Sequential, Step::Pairwise];
const INTEGER: &[Step] = &[Step::Integer];
const NANS: &[Step] = &[Step::Fused, Step::Exact, Step::Fma];

const NODES: &[NodeKind] = NodeKind::ALL;
const SUM: &[NodeKind] = &[NodeKind::Sum];
const CHAIN: &[NodeKind] = &[NodeKind::Fma];
const TERMS: &[NodeKind] = &[NodeKind::Sum, NodeKind::Add];

const TO: &str = "{ format, rounding, overflow, subnormals, tininess, overflow-test }: a format with signs, zero and NaN (eXmY for a register of any width, such as e8m27); RNE, RNA, RZ, RU, RD or RO; standard (the default), infinity, nan, saturate or saturate-finite, for results beyond the largest number and infinities; like result-subnormals, result-tininess and overflow-test (the default)";

keys! {
/// Computation of `d = c + sum over k of a*b` by a set of instructions.
///
/// Most keys are a shorthand for common shapes: the k indices (the stored ones in sparse forms) are split into `parts`
/// (by default one, all of them, ascending) and each part into groups of `group` consecutive indices. Each group is
/// summed in one `step`. By default the result of one group is the c of the next; `start`, `join` and `c` say
/// otherwise. Any other shape is written as a tree of named nodes (`node`). The last value is rounded to the format of
/// D.
Rule, pub,
/// All keys of a rule, in the order of the computation, in which they are lowered.
KEYS: RuleKey {
    instructions: Vec<String> = "instructions" {
        meaning: "the instructions that the rule covers, by name; the first matching rule holds",
        values: "patterns: * is anything, {x,y} is x or y",
        variants: ALL,
        required: true,
        check: patterns,
        setting: says("the instructions that the rule covers"),
    }
    #[serde(deserialize_with = "sources")]
    evidence: Vec<Evidence> = "evidence" {
        meaning: "the sources of the rule and their coverage; the first source that covers a key holds, and a key without a source is assumed",
        values: "a list of { measured, date, cases, files }, { recorded, device, files, leaves }, { specification, section }, { literature } and { assumed }, each with note, keys and instructions where it covers only these",
        variants: ALL,
        required: true,
        check: evidence::defect,
        setting: says("the sources of the rule"),
    }
    #[serde(default, deserialize_with = "optional_format")]
    unpack: Option<&'static Format> = "unpack" {
        meaning: "format to which A and B are first converted, exactly (a subnormal operand can become a normal one, whose term has a smaller exponent); absent: no conversion",
        values: "a format that holds every number of A and B",
        variants: FLOATING,
        lower: |r, d| d.unpack = r.unpack,
        setting: says("format to which A and B are first converted").sets("conversion of operands").or("nothing").near(|s| near::or_none(s, near::formats(s, &["f16", "bf16", "f32", "f64"]))).shapes(&["subnormal A, B"]),
    }
    #[serde(default, deserialize_with = "optional_format")]
    unpack_c: Option<&'static Format> = "unpack-c" {
        meaning: "format to which C is first converted; absent: no conversion",
        values: "a format that holds every number of C",
        variants: FLOATING,
        lower: |r, d| d.unpack_c = r.unpack_c,
        setting: says("format to which C is first converted").sets("conversion of c").or("nothing").near(|s| near::or_none(s, near::formats(s, &["f32", "f64"]))).shapes(&["subnormal C"]),
    }
    #[serde(default)]
    operand_subnormals: Subnormals = "operand-subnormals" {
        meaning: "treatment of subnormal operands; absent: keep",
        values: "keep, signed-zero or positive-zero",
        variants: FLOATING,
        lower: |r, d| d.operand_subnormals = r.operand_subnormals,
        setting: says("treatment of subnormal operands").sets("subnormal operands").usual("keep").near(near::subnormals).joint().general().decides(&["subnormal A, B", "subnormal C"]),
    }
    c_subnormals: Option<Subnormals> = "c-subnormals" {
        meaning: "treatment of a subnormal c; absent: like operand-subnormals",
        values: "keep, signed-zero or positive-zero",
        variants: FLOATING,
        lower: |r, d| d.c_subnormals = r.c_subnormals,
        setting: says("treatment of a subnormal c").sets("subnormal c").or("like A and B").near(near::c_subnormals).joint().general().shapes(&["subnormal C"]),
    }
    #[serde(default)]
    specials: Specials = "specials" {
        meaning: "origin of infinities and NaNs. steps: each step makes them of its terms; operands: all products and c decide them at once, before anything is added, by the rules of IEEE 754 for a sum, with nan-operands in the order of k; absent: steps",
        values: "steps or operands",
        variants: FLOATING,
        lower: |r, d| d.specials = r.specials,
        setting: says("origin of infinities and NaNs").sets("origin of infinities and NaNs").usual("steps").near(|s| near::words(s, &["steps", "operands"])).joint().general().shapes(&["infinities"]),
    }
    #[serde(default)]
    special_operands: SpecialOperands = "special-operands" {
        meaning: "values of A and B whose codes stand for infinities and NaNs. nan: an infinity is NaN, too; finite: such a code is the number that it would be if the format had no infinities and NaNs; absent: keep",
        values: "keep, nan or finite",
        variants: FLOATING,
        lower: |r, d| d.special_operands = r.special_operands,
        setting: says("infinite and NaN operands").sets("infinite operands").usual("keep").near(|s| near::words(s, &["keep", "nan", "finite"])).general().shapes(&["infinities"]),
    }
    special_c: Option<SpecialOperands> = "special-c" {
        meaning: "the same for C; absent: like special-operands",
        values: "keep, nan or finite",
        variants: FLOATING,
        lower: |r, d| d.special_c = r.special_c,
        setting: says("infinite and NaN c").sets("infinite c").or("like A and B").near(near::special_c).general().shapes(&["infinities"]),
    }
    #[serde(default)]
    zero_times_infinity: ZeroTimesInfinity = "zero-times-infinity" {
        meaning: "product of an infinity and a zero, with the sign of a product; absent: nan",
        values: "nan, zero or infinity",
        variants: FLOATING,
        lower: |r, d| d.zero_times_infinity = r.zero_times_infinity,
        setting: says("product of infinity and zero").sets("infinity * 0").usual("nan").near(|s| near::words(s, &["nan", "zero", "infinity"])).general().shapes(&["infinities"]),
    }
    #[serde(default)]
    opposite_infinities: OppositeInfinities = "opposite-infinities" {
        meaning: "sum of infinities with opposite signs; absent: nan",
        values: "nan, positive or negative",
        variants: FLOATING,
        lower: |r, d| d.opposite_infinities = r.opposite_infinities,
        setting: says("sum of opposite infinities").sets("infinity - infinity").usual("nan").near(|s| near::words(s, &["nan", "positive", "negative"])).general().shapes(&["infinities"]),
    }
    #[serde(default)]
    zero_terms: ZeroTerms = "zero-terms" {
        meaning: "terms that count in the largest exponent although they are zero: none (ignored), products, or all, c and results of steps too. The exponent of a zero is the one of its format's smallest normal number, and a zero product has the sum of its factors' exponents (rounded, normalised or summed before scaling it never counts); absent: ignored",
        values: "ignored, products or all",
        variants: COUNTING,
        lower: |r, d| d.zero_terms = r.zero_terms,
        setting: says("zero terms that count in the largest exponent").sets("zero terms").usual("ignored").near(|s| near::words(s, &["ignored", "products", "all"])).joint(),
    }
    #[serde(default)]
    result_subnormals: Subnormals = "result-subnormals" {
        meaning: "treatment of subnormal results of steps, rounded products and additions; absent: keep",
        values: "keep, signed-zero or positive-zero",
        variants: FLOATING,
        lower: |r, d| d.result_subnormals = r.result_subnormals,
        setting: says("treatment of subnormal results").sets("subnormal results").usual("keep").near(near::subnormals).joint().general().decides(&["subnormal D"]),
    }
    #[serde(default)]
    result_tininess: ResultTininess = "result-tininess" {
        meaning: "definition of a subnormal result: below the smallest normal number lies the exact result (before), the rounded result (after), or the result rounded to the format's precision with an unbounded exponent; absent: after",
        values: "before, after, or \"after, unbounded exponent\"",
        variants: FLOATING,
        lower: |r, d| d.result_tininess = r.result_tininess,
        setting: says("definition of a subnormal result").sets("subnormal results").usual("after").near(near::tininess).general(),
    }
    #[serde(default)]
    overflow_test: OverflowTest = "overflow-test" {
        meaning: "value that is compared with the largest number: the result after rounding (rounded), or before it (exact), so that what would be rounded to that number overflows; absent: rounded",
        values: "rounded or exact",
        variants: FLOATING,
        lower: |r, d| d.overflow_test = r.overflow_test,
        setting: says("value that decides overflow").sets("test of overflow").usual("rounded").near(|s| near::words(s, &["rounded", "exact"])).general().shapes(&["overflow"]),
    }
    split: Option<Split> = "split" {
        meaning: "cut of the significands of A and B into pieces; the product of two pieces is a term with the exponent of the whole product; absent: no cut",
        values: "{ a, b }: lists of widths, from the leading bit down, which add up to the precision",
        variants: FLOATING,
        check: split,
        lower: |r, d| d.split = r.split.clone(),
        setting: says("cut of significands into pieces").sets("cut of significands").near(|s| near::or_none(s, Vec::new())).shapes(&["products"]),
    }
    parts: Option<Parts> = "parts" {
        meaning: "split of k (in sparse forms, of the stored elements) by remainder, before grouping; absent: no split",
        values: "{ period, residues }: each remainder below the period in one list",
        variants: GROUPED,
        check: parts,
        lower: lowering::parts,
        setting: says("split of k before grouping").sets("shape of the sum").near(near::parts).shapes(&["order"]),
    }
    group: Option<usize> = "group" {
        meaning: "number of consecutive k of a part that one step sums; absent: all",
        values: "1 or more",
        variants: IN_GROUPS,
        check: group,
        lower: lowering::group,
        setting: says("number of products that one step sums").sets("number of products in a step").or("all").near(near::groups).decides(&["order"]),
    }
    #[serde(default)]
    step: Step = "step" {
        meaning: "sum of a group; absent: tree. fused: its terms (non-zero products, exact and unnormalised, and c) are aligned to the largest exponent, truncated, added exactly, and the sum is rounded once; exact: the same without alignment; fma: a chain of fused multiply-adds; sequential: products added in order; pairwise: products added in a binary tree, whose sum is added to c; integer: exact; tree: defined by the nodes",
        values: "fused, exact, fma, sequential, pairwise, integer or tree",
        variants: ALL,
        lower: lowering::step,
        setting: says("sum of a group").sets("shape of the sum").or("tree").joint().decides(&["carry bits", "position"]),
    }
    #[serde(default, rename = "node")]
    nodes: BTreeMap<String, Node> = "node" {
        meaning: "a step of a tree; the node that no other one uses gives D",
        values: "node.NAME = { kind, ... }: see the keys of a node",
        variants: TREE,
        required: true,
        lower: lowering::node,
        setting: says("the steps of the sum").sets("shape of the sum").shapes(&["order"]),
    }
    product: Option<Rounded> = "product" {
        meaning: "target to which each product is rounded; absent: it is exact",
        values: TO,
        variants: PRODUCTS,
        check: |r| sum_format("product", r.product),
        lower: |r, d| d.each(|n| n.product = r.product),
        setting: says("target to which each product is rounded").sets("format of products").near(|s| near::targets(s, &["f16", "bf16", "f32"])).decides(&["products", "product range"]),
        within: &[
            ("format", says("format to which each product is rounded").near(near::results).searched(near::all_results)),
            ("rounding", says("rounding of each product").sets("rounding of products").near(near::roundings)),
            ("overflow", says("overflow of a product").usual("standard").near(near::overflows)),
            ("subnormals", says("treatment of a subnormal product").searched(near::flushes)),
            ("tininess", says("definition of a subnormal product").searched(|s| near::target_tininess(s, "product"))),
            ("overflow-test", says("value that decides overflow of a product").searched(near::overflow_tests)),
        ],
    }
    product_limit: Option<i32> = "product-limit" {
        meaning: "binary logarithm of the magnitude from which on products are infinite, before rounding; absent: no limit",
        values: "an exponent",
        variants: PRODUCTS,
        lower: |r, d| d.each(|n| n.product_limit = r.product_limit),
        setting: says("exponent from which on products are infinite").limited(EXPONENT).sets("limit of products").ranged(EXPONENTS, near::exponents).shapes(&["product range"]).searched(near::limits),
    }
    product_bits: Option<i32> = "product-bits" {
        meaning: "fraction bits that the multiplier keeps of each product, relative to the sum of its factors' exponents; the bits below are lost, before a rounding of the product; absent: all",
        values: "0 to 60",
        variants: PRODUCTS,
        lower: |r, d| d.each(|n| n.product_bits = r.product_bits),
        setting: says("fraction bits that the multiplier keeps").limited(WIDTH).sets("width of products").or("all").ranged(WIDTHS, near::widths_or_all).searched(near::product_widths).shapes(&["products"]),
    }
    normalised: Option<bool> = "normalised" {
        meaning: "true: a product's exponent is its leading bit's; false or absent: it is the sum of the operands' exponents",
        values: "true or false",
        variants: ALIGNED,
        check: |r| normalised(r.normalised, r.scale_sums),
        lower: |r, d| d.each(|n| n.normalised = r.normalised == Some(true)),
        setting: says("exponent of a product taken from its leading bit").sets("normalisation of products").or("false").near(near::flag).joint().decides(&["normalisation"]).shapes(&["monotonicity"]),
    }
    scale_sums: Option<usize> = "scale-sums" {
        meaning: "number of consecutive products of block-scaled forms that are added exactly; their sum times the scales is one term with the exponent of the scales; absent: each product is scaled",
        values: "a divisor of the products in a block",
        variants: ONCE,
        check: |r| at_least_one("scale-sums", r.scale_sums),
        lower: |r, d| d.each(|n| n.scale_sums = r.scale_sums),
        setting: says("number of products added before they are scaled").sets("sums before scaling").near(near::counts).shapes(&["order"]).searched(near::sums_of_blocks),
    }
    alignment: Option<Alignment> = "alignment" {
        meaning: "fraction bits kept, relative to the largest exponent among the terms (never below floor); rounding of the dropped bits; sticky bit: a non-zero dropped part makes the sum a little larger in magnitude before rounding (RD: larger, RU: smaller), if it is among the reach bits below the kept ones (absent: all); sticky-place: the sticky bit is a bit of the sum, at this place below the last kept bit (absent: below all bits, in a sum that is rounded); carry: bits of the register above the largest exponent's, beyond which a sum wraps in two's complement, or saturates; complement: terms with another sign than the last addend (without one: negative terms) are negated by flipping their bits, and become one unit of the last kept bit larger in magnitude; complement-zeros: so do zero terms with such a sign, unless all terms are zero; c-bits: bits kept of the last addend where its exponent is the largest, which so counts as lower by c-bits - bits",
        values: "{ bits, rounding, floor, sticky, reach, sticky-place, carry, saturates, complement, complement-zeros, c-bits }: 0 to 60; RNE, RNA, RZ, RU, RD or RO (which sets the last bit); an exponent, absent: none; true or false; 1 to 60; 1 to 32; 0 to 60, absent: enough; true or false; true or false; true or false; 0 to 60, absent: bits",
        variants: ALIGNED,
        required: true,
        check: |r| alignment(r.alignment),
        lower: |r, d| d.each(|n| n.alignment = r.alignment),
        setting: says("alignment of the terms").sets("alignment").searched(near::alignments),
        within: &[
            ("bits", says("fraction bits kept by the alignment").limited(WIDTH).sets("width").ranged(WIDTHS, near::widths).decides(&["alignment", "alignment of c", "extra bits", "monotonicity"])),
            ("rounding", says("rounding of the bits dropped by the alignment").sets("rounding of the alignment").near(near::roundings).shapes(&["alignment", "alignment of c", "monotonicity"])),
            ("floor", says("floor: the smallest exponent that terms are aligned to").limited(EXPONENT).sets("floor").ranged(EXPONENTS, near::exponents).decides(&["floor"]).searched(near::floors)),
            ("sticky", says("sticky bit of the alignment").sets("stickiness").near(near::sticky)),
            ("carry", says("carry bits of the register").limited(WIDTH).sets("range of the register").or("enough").ranged(WIDTHS, near::widths_or_all).searched(near::carries).shapes(&["carry bits"])),
            ("saturates", says("what a sum beyond the register becomes").sets("saturation of the register").near(near::saturates)),
            ("complement", says("negation of terms by flipping their bits").sets("negation of terms").near(near::flag)),
            ("complement-zeros", says("negation of zero terms by flipping their bits").sets("negation of zeros").near(near::complement_zeros)),
            ("c-bits", says("bits of the last term to which the others are aligned").limited(WIDTH).sets("width of the last term").or("bits").near(near::bits_of_c).shapes(&["alignment of c"])),
            ("sticky-place", says("place of the sticky bit below the last kept bit").limited(PLACE).sets("place of the sticky bit").or("below all bits").near(near::sticky_place)),
            ("reach", says("dropped bits that can set the sticky bit").limited(REACH).sets("reach of the sticky bit").or("all").near(near::reach)),
        ],
    }
    lanes: Option<Lanes> = "lanes" {
        meaning: "lanes: positions of a group with different remainders are aligned and summed separately; then the sums are aligned, truncated and added; absent: one sum",
        values: "{ period, bits, rounding }",
        variants: ALIGNED,
        check: lanes,
        lower: lowering::lanes,
        setting: says("positions with separate sums").sets("lanes").near(near::lanes).shapes(&["order"]),
        within: &[
            ("period", says("number of separate sums of positions").limited(LANES).near(near::counts)),
            ("bits", says("fraction bits kept where the sums of positions are joined").limited(WIDTH).ranged(WIDTHS, near::widths)),
            ("rounding", says("rounding where the sums of positions are joined").near(near::roundings)),
        ],
    }
    late: Option<Late> = "late" {
        meaning: "the sum of the products and c are aligned to the larger exponent (at least the floor), each truncated to its own width, and added; a c more than drop below is ignored; absent: c is a term among the products",
        values: "{ sum-bits, c-bits, rounding, drop, floor }",
        variants: ALIGNED,
        check: late,
        lower: lowering::late,
        setting: says("separate alignment of c with the sum of the products").sets("alignment of c").near(near::late).shapes(&["order", "c", "alignment of c", "floor", "monotonicity"]).searched(near::usual_late),
        within: &[
            ("sum-bits", says("fraction bits kept of the sum of the products in the addition of c").limited(WIDTH).ranged(WIDTHS, near::widths)),
            ("c-bits", says("fraction bits kept of c in the addition to the sum of the products").limited(WIDTH).ranged(WIDTHS, near::widths)),
            ("rounding", says("rounding of the bits dropped in the addition of c").near(near::roundings)),
            ("drop", says("distance below the sum of the products from which on c is ignored").limited(EXPONENT).ranged(EXPONENTS, near::exponents).searched(near::drops)),
            ("floor", says("floor of the alignment of c and the sum of the products").limited(EXPONENT).ranged(EXPONENTS, near::exponents).searched(near::floors)),
        ],
    }
    zero: Option<ZeroSign> = "zero" {
        meaning: "sign of a zero result; exact-positive: +0 for a sum that is exactly zero, the sign of one that underflows; common: -0 for a zero sum whose terms are all negative, cut to nothing or not, in every rounding; absent: positive",
        values: "positive, negative, ieee, exact-positive or common",
        variants: ONCE,
        lower: |r, d| d.each(|n| n.zero = r.zero.unwrap_or_default()),
        setting: says("sign of a zero sum").sets("sign of zero").usual("positive").near(|s| near::words(s, &["positive", "negative", "ieee", "exact-positive", "common"])).joint().decides(&["zero"]),
    }
    #[serde(default)]
    start: Start = "start" {
        meaning: "start of a chain, or with join = \"add\" of each group: c, or its first product (or sum of products); absent: c",
        values: "c or product",
        variants: CHAINS,
        lower: lowering::start,
        setting: says("start of a sum").sets("start of the sum").usual("c").near(|s| near::words(s, &["c", "product"])).joint(),
    }
    #[serde(default)]
    join: Join = "join" {
        meaning: "chain: the result of a group is the c of the next; add: groups have separate sums, which are added in order; absent: chain",
        values: "chain or add",
        variants: GROUPED,
        lower: lowering::join,
        setting: says("join of the sums of groups").sets("shape of the sum").usual("chain").near(|s| near::words(s, &["chain", "add"])).joint().shapes(&["order"]),
    }
    #[serde(default)]
    c: CPosition = "c" {
        meaning: "place of c: before everything else, or after it by an ordinary addition; absent: first",
        values: "first or last",
        variants: GROUPED,
        lower: lowering::c,
        setting: says("where c enters").sets("place of c").usual("first").near(|s| near::words(s, &["first", "last"])).joint().decides(&["c"]).shapes(&["order"]),
    }
    result: Option<Rounded> = "result" {
        meaning: "target to which a step rounds its sum",
        values: TO,
        variants: GROUPED,
        required: true,
        check: |r| sum_format("result", r.result),
        lower: lowering::result,
        setting: says("target to which a step rounds its sum").sets("format of sums").searched(near::unrounded),
        within: &[
            ("format", says("format to which a step rounds its sum").near(near::results).decides(&["accumulator"]).shapes(&["extra bits"]).searched(near::all_results)),
            ("rounding", says("rounding of a step's sum").sets("rounding of sums").near(near::roundings).decides(&["sums", "result"])),
            ("overflow", says("overflow of a sum").usual("standard").near(near::overflows).decides(&["overflow"])),
            ("subnormals", says("treatment of a subnormal sum").searched(near::flushes)),
            ("tininess", says("definition of a subnormal sum").searched(|s| near::target_tininess(s, "result"))),
            ("overflow-test", says("value that decides overflow of a sum").searched(near::overflow_tests)),
        ],
    }
    between: Option<Rounded> = "between" {
        meaning: "target to which it is rounded if another group continues from it; absent: like result",
        values: TO,
        variants: GROUPED,
        check: |r| sum_format("between", r.between),
        lower: lowering::between,
        setting: says("target to which a sum is rounded where another step continues").sets("rounding between steps").near(|s| near::targets(s, &["f16", "f32", "e8m13"])).joint().shapes(&["sums", "accumulator"]).searched(near::between),
        within: &[
            ("format", says("format of a sum where another step continues").near(near::results).searched(near::all_results)),
            ("rounding", says("rounding of a sum where another step continues").near(near::roundings)),
            ("overflow", says("overflow of a sum where another step continues").usual("standard").near(near::overflows)),
            ("subnormals", says("treatment of a subnormal sum where another step continues").searched(near::flushes)),
            ("tininess", says("definition of a subnormal sum where another step continues").searched(|s| near::target_tininess(s, "between"))),
            ("overflow-test", says("value that decides overflow where another step continues").searched(near::overflow_tests)),
        ],
    }
    addition: Option<Rounded> = "addition" {
        meaning: "target to which the ordinary additions of join and c round; absent: like result",
        values: TO,
        variants: GROUPED,
        check: |r| sum_format("addition", r.addition),
        lower: lowering::addition,
        setting: says("target to which ordinary additions round").sets("rounding of additions").near(|s| near::targets(s, &[])).joint().searched(|s| near::new_targets(s, &["f16", "f32", "f64"])),
        within: &[
            ("format", says("format to which ordinary additions round").near(near::results).searched(near::all_results)),
            ("rounding", says("rounding of ordinary additions").near(near::roundings)),
            ("overflow", says("overflow of an ordinary addition").usual("standard").near(near::overflows)),
            ("subnormals", says("treatment of a subnormal result of an ordinary addition").searched(near::flushes)),
            ("tininess", says("definition of a subnormal result of an ordinary addition").searched(|s| near::target_tininess(s, "addition"))),
            ("overflow-test", says("value that decides overflow of an ordinary addition").searched(near::overflow_tests)),
        ],
    }
    output: Option<Conversion> = "output" {
        meaning: "conversion of the last value to D's format; SR: the unit adds random bits of its own below the last place and truncates, so that D is one of two neighbours; absent: to nearest",
        values: "{ rounding, overflow, random-bits }: RNE, RNA, RZ, RU, RD, RO or SR; standard (the default), infinity, nan, saturate or saturate-finite; with SR alone, 1 to 32",
        variants: FLOATING,
        check: output,
        lower: |r, d| d.output = r.output,
        setting: says("conversion of the last value to D").sets("conversion to D").near(|_| Vec::new()).joint().shapes(&["result", "overflow"]).searched(near::conversions),
        within: &[
            ("rounding", says("rounding of the last value to D").near(near::roundings)),
            ("overflow", says("overflow of the last value in D").usual("standard").near(near::overflows)),
            ("random-bits", says("random bits of the last rounding").limited(RANDOM_BITS)),
        ],
    }
    wrap: Option<Wrap> = "wrap" {
        meaning: "treatment of an integer sum beyond the range of D, after each group of products",
        values: "wrap or saturate",
        variants: INTEGER,
        required: true,
        lower: lowering::wrap,
        setting: says("treatment of an integer sum beyond the range of D").sets("overflow of integers").near(|s| near::words(s, &["wrap", "saturate"])),
    }
    accumulator: Option<u32> = "accumulator" {
        meaning: "bits of the range into which integer sums are brought; absent: the bits of D",
        values: "1 or more, at most the bits of D",
        variants: INTEGER,
        check: |r| at_least_one("accumulator", r.accumulator.map(|bits| bits as usize)),
        lower: lowering::accumulator,
        setting: says("bits of the accumulator of an integer sum").sets("bits of the accumulator").near(near::accumulators),
    }
    group_bits: Option<u32> = "group-bits" {
        meaning: "bits of the signed range in which the sum of the products of a group saturates before it is added; absent: it is exact",
        values: "2 to 64",
        variants: INTEGER,
        setting: says("bits in which the sum of a group saturates").limited(GROUP_BITS).sets("bits of sums of groups").near(near::group_bits),
    }
    c_bits: Option<u32> = "c-bits" {
        meaning: "bits of the signed range into which c wraps before it is added; absent: it keeps its value",
        values: "2 to 64",
        variants: INTEGER,
        setting: says("bits into which c wraps before an integer sum").limited(GROUP_BITS).sets("bits of c").near(near::accumulators).searched(near::wrapped),
    }
    nan_operands: Option<Vec<NanOperand>> = "nan-operands" {
        meaning: "order in which NaN operands of a step become the result, made quiet, with the leading bits of the payload (product by product in a fused or exact step); invalid is the NaN of an invalid operation among operands that are no NaN, after all operands if it is not in the list; absent: every NaN result is nan",
        values: "a list of a, b, c and invalid",
        variants: NANS,
        check: nan_operands,
        lower: |r, d| d.each(|n| n.nan_operands = r.nan_operands.clone().unwrap_or_default()),
        setting: says("operand whose NaN becomes the result").sets("NaN").near(near::nan_operands).shapes(&["NaN"]).searched(near::nan_orders),
    }
    #[serde(default, deserialize_with = "code")]
    nan_factors: Option<u64> = "nan-factors" {
        meaning: "code of D whose sign and payload every NaN of A and B has; absent: its own",
        values: "a NaN of D in hexadecimal: \"0x7fffffff\"",
        variants: FLOATING,
        check: nan_factors,
        lower: |r, d| d.nan_factors = r.nan_factors,
        setting: says("the code of a NaN of A or B").sets("NaN").near(near::nan).shapes(&["NaN"]).searched(near::nans_of_factors),
    }
    #[serde(default, deserialize_with = "code")]
    nan: Option<u64> = "nan" {
        meaning: "code of D for every NaN; with nan-operands, for the NaNs of invalid operations",
        values: "a NaN of D in hexadecimal: \"0x7fffffff\"",
        variants: FLOATING,
        required: true,
        lower: |r, d| d.nan = r.nan,
        setting: says("the code of NaN").sets("NaN").near(near::nan).decides(&["infinities", "NaN"]),
    }
}
}

keys! {
/// Node: sums products of a and b, c, and results of other nodes; the node that no other uses gives D.
Node, pub,
/// All keys of a node, in the order of the computation, in which they are lowered.
NODE_KEYS: NodeKey {
    kind: NodeKind = "kind" {
        meaning: "kind of sum. sum: products and terms are aligned, truncated, added exactly, and the sum is rounded once; fma: a chain of fused multiply-adds; add: ordinary additions of the terms, then of the products, in order",
        values: "sum, fma or add",
        variants: NODES,
        required: true,
        check: nodes::kind,
        lower: lowering::nodes::kind,
        setting: says("kind of sum of the step").sets("shape of the sum"),
    }
    products: Option<Indices> = "products" {
        meaning: "stored k of its products, in the order of the sum; absent: none. Every k is named once among all nodes",
        values: "indices and slices START:STOP:STEP: \"0::2\", \"0:4, 8:12\", [0, 1]",
        variants: NODES,
        lower: lowering::nodes::products,
        setting: says("the k that the step sums").sets("shape of the sum"),
    }
    pieces: Option<Vec<(usize, usize)>> = "pieces" {
        meaning: "pairs of pieces of a and b that are multiplied, in a rule with split; absent: all pairs. No pair is named twice for a k; a pair that no node names is not multiplied",
        values: "a list of pairs: [[0, 0], [0, 1]]",
        variants: NODES,
        lower: lowering::nodes::pieces,
        setting: says("pieces that the step multiplies").sets("cut of significands"),
    }
    #[serde(default)]
    terms: Vec<Term> = "terms" {
        meaning: "terms other than products. bits: fraction bits kept, instead of the alignment's; drop: a term whose exponent is more than this below the aligned one is ignored",
        values: "a list of c, names of nodes, and { term, bits, drop }",
        variants: TERMS,
        check: nodes::terms,
        lower: lowering::nodes::terms,
        setting: says("other terms of the step").sets("shape of the sum").searched(near::widths_of_terms),
    }
    start: Option<String> = "start" {
        meaning: "start of the chain; product: its first product; absent: +0",
        values: "c, the name of a node, +0 or product",
        variants: CHAIN,
        lower: lowering::nodes::start,
    }
    product: Option<Rounded> = "product" {
        meaning: "target to which each product is rounded; absent: it is exact",
        values: TO,
        variants: TERMS,
        check: |n| sum_format("product", n.product),
        lower: |n, d| d.newest().product = n.product,
    }
    product_limit: Option<i32> = "product-limit" {
        meaning: "binary logarithm of the magnitude from which on products are infinite, before rounding; absent: no limit",
        values: "an exponent",
        variants: TERMS,
        lower: |n, d| d.newest().product_limit = n.product_limit,
    }
    product_bits: Option<i32> = "product-bits" {
        meaning: "fraction bits that the multiplier keeps of each product, relative to the sum of its factors' exponents; the bits below are lost, before a rounding of the product; absent: all",
        values: "0 to 60",
        variants: TERMS,
        lower: |n, d| d.newest().product_bits = n.product_bits,
    }
    normalised: Option<bool> = "normalised" {
        meaning: "true: a product's exponent is its leading bit's; false or absent: it is the sum of the operands' exponents",
        values: "true or false",
        variants: SUM,
        check: nodes::normalised,
        lower: |n, d| d.newest().normalised = n.normalised == Some(true),
    }
    scale_sums: Option<usize> = "scale-sums" {
        meaning: "number of consecutive products of block-scaled forms that are added exactly; their sum times the scales is one term with the exponent of the scales; absent: each product is scaled",
        values: "a divisor of the products in a block",
        variants: SUM,
        check: |n| at_least_one("scale-sums", n.scale_sums),
        lower: |n, d| d.newest().scale_sums = n.scale_sums,
    }
    alignment: Option<Alignment> = "alignment" {
        meaning: "fraction bits kept of each term, relative to the largest exponent among the terms (never below floor); rounding of the dropped bits; sticky bit: a non-zero dropped part makes the sum a little larger in magnitude before rounding (RD: larger, RU: smaller), if it is among the reach bits below the kept ones (absent: all); sticky-place: the sticky bit is a bit of the sum, at this place below the last kept bit (absent: below all bits, in a sum that is rounded); carry: bits of the register above the largest exponent's, beyond which a sum wraps in two's complement, or saturates; complement: terms with another sign than the last addend (without one: negative terms) are negated by flipping their bits, and become one unit of the last kept bit larger in magnitude; complement-zeros: so do zero terms with such a sign, unless all terms are zero; c-bits: bits kept of the last addend where its exponent is the largest, which so counts as lower by c-bits - bits; absent: the sum is exact",
        values: "{ bits, rounding, floor, sticky, reach, sticky-place, carry, saturates, complement, complement-zeros, c-bits }: 0 to 60; RNE, RNA, RZ, RU, RD or RO (which sets the last bit); an exponent, absent: none; true or false; 1 to 60; 1 to 32; 0 to 60, absent: enough; true or false; true or false; true or false; 0 to 60, absent: bits",
        variants: SUM,
        check: |n| alignment(n.alignment),
        lower: |n, d| d.newest().alignment = n.alignment,
    }
    result: Option<NodeResult> = "result" {
        meaning: "target to which the result (in fma and add, of each step) is rounded; aligned: it stays unrounded, a term of another sum with the exponent that it was aligned to; normalised: the same with the exponent of its leading bit",
        values: "{ format, rounding, overflow, subnormals, tininess, overflow-test } as in a rule; for a sum also \"aligned\" or \"normalised\"",
        variants: NODES,
        required: true,
        check: nodes::result,
        lower: |n, d| d.newest().result = n.result,
    }
    zero: Option<ZeroSign> = "zero" {
        meaning: "sign of a zero result; exact-positive: +0 for a sum that is exactly zero, the sign of one that underflows; common: -0 for a zero sum whose terms are all negative, cut to nothing or not, in every rounding; absent: positive",
        values: "positive, negative, ieee, exact-positive or common",
        variants: SUM,
        check: nodes::zero,
        lower: |n, d| d.newest().zero = n.zero.unwrap_or_default(),
    }
    #[serde(default)]
    nan_operands: Vec<NanOperand> = "nan-operands" {
        meaning: "order in which NaN operands become the result, made quiet, with the leading bits of the payload; in a sum product by product, c being its terms; in additions a is the first and b the second operand; invalid as in a rule; absent: every NaN is the same",
        values: "a list of a, b, c and invalid",
        variants: NODES,
        lower: |n, d| d.newest().nan_operands = n.nan_operands.clone(),
    }
}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_decides_a_feature_that_keys_name() {
        let all: Vec<(String, &Setting)> = settings().collect();
        for feature in all.iter().flat_map(|(_, setting)| setting.decides.iter().chain(setting.shapes)) {
            let deciding = all.iter().filter(|(_, setting)| setting.decides.contains(feature));
            assert_eq!(deciding.count(), 1, "{feature}");
        }
    }
}
