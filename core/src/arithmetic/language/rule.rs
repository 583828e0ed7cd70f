//! One rule of a model file: how the instructions that it covers compute a dot-product-add.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    evidence::{Evidence, sources},
    node::Node,
    values::{code, format_name, optional_format, overflow, rounding, some_tininess, standard, tininess},
};
use crate::{
    base::words::words,
    format::{Format, Overflow, Rounding},
};

/// How a set of instructions computes `d = c + sum over k of a*b`.
///
/// Most of its keys are a shorthand for common shapes: the k indices (of sparse forms the stored ones) are split into
/// `parts` (by default one, all of them, ascending) and each part into groups of `group` consecutive indices. Each group is
/// summed in one `step`. By default the result of one group is the c of the next; `start`, `join` and `c` say where it is not.
/// Any other shape is spelled as a tree of named nodes (`node`). The last value is rounded to the format of D.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// Patterns of instruction names (see the model files).
    pub instructions: Vec<String>,
    /// The sources of the rule; of several that cover a key, the first holds.
    #[serde(deserialize_with = "sources")]
    pub evidence: Vec<Evidence>,
    /// The format that A and B are first converted to (exactly); absent: none. It matters where a subnormal
    /// operand becomes a normal one, whose term has a smaller exponent.
    #[serde(default, deserialize_with = "optional_format")]
    pub unpack: Option<&'static Format>,
    /// The format that C is first converted to (exactly); absent: none.
    #[serde(default, deserialize_with = "optional_format")]
    pub unpack_c: Option<&'static Format>,
    /// What becomes of subnormal operands of A, B and C.
    #[serde(default)]
    pub operand_subnormals: Subnormals,
    /// What becomes of subnormal results of a step and of every ordinary addition and rounded product.
    #[serde(default)]
    pub result_subnormals: Subnormals,
    /// When a result counts as subnormal.
    #[serde(default, deserialize_with = "tininess")]
    pub result_tininess: ResultTininess,
    /// How the significands of A and B are cut into pieces, whose products are terms of their own; absent: they are not.
    pub split: Option<Split>,
    /// How k is split before it is grouped.
    pub parts: Option<Parts>,
    /// Indices in a group; absent: all of a part.
    pub group: Option<usize>,
    /// How one group is summed.
    #[serde(default)]
    pub step: Step,
    /// The steps of an arithmetic that the other keys cannot say, by name.
    #[serde(default, rename = "node")]
    pub nodes: BTreeMap<String, Node>,
    /// Format and rounding of each product; absent: exact.
    pub product: Option<Rounded>,
    /// Products of magnitude 2^this or more are infinite; absent: none is.
    pub product_limit: Option<i32>,
    /// Whether the exponent of a product is that of its leading bit (else the sum of the operands' exponents).
    pub normalised: Option<bool>,
    /// Alignment of the terms of a fused step.
    pub alignment: Option<Alignment>,
    /// How the positions of a group are summed apart before they are joined (fused).
    pub lanes: Option<Lanes>,
    /// How c is aligned with the sum of the products, where it is not a term among them (fused).
    pub late: Option<Late>,
    /// Block-scaled forms: this many consecutive products are added exactly first, and their sum times the scales is one
    /// term, whose exponent is the sum of the scales' exponents; absent: each product is scaled.
    pub scale_sums: Option<usize>,
    /// The sign of zero results of a fused or exact step; absent: positive.
    pub zero: Option<ZeroSign>,
    /// What a chain, or each group that is summed apart, starts from.
    #[serde(default)]
    pub start: Start,
    /// How the results of the groups come together.
    #[serde(default)]
    pub join: Join,
    /// When c enters.
    #[serde(default)]
    pub c: CPosition,
    /// Format and rounding of the result of a step, and of the ordinary additions of `join` and `c`.
    pub result: Option<Rounded>,
    /// Format and rounding of the result of a step that another group continues from, where it differs from `result`.
    pub between: Option<Rounded>,
    /// Rounding of ordinary additions where it differs from the result's.
    pub addition: Option<Rounded>,
    /// How the last value becomes a code of D; absent: RNE, which is exact where the value is already one.
    pub output: Option<Conversion>,
    /// What an integer sum beyond the range of D becomes.
    pub wrap: Option<Wrap>,
    /// The bits of the accumulator of an integer sum, whose sign D keeps; absent: those of D.
    pub accumulator: Option<u32>,
    /// The operands of a step in the order in which a NaN among them becomes the result, made quiet; absent: every NaN
    /// result is the same.
    pub nan_operands: Option<Vec<NanOperand>>,
    /// The code of D for every NaN, or with `nan-operands` for those of invalid operations.
    #[serde(default, deserialize_with = "code")]
    pub nan: Option<u64>,
}

/// An operand whose NaN may become the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NanOperand {
    /// The first factor of a product; of an addition its first term.
    A,
    /// The second factor; of an addition its second term.
    B,
    /// The addend of a fused multiply-add, or the addends of a sum.
    C,
}

words!(NanOperand: "a" = A, "b" = B, "c" = C);

impl NanOperand {
    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            NanOperand::A => "a",
            NanOperand::B => "b",
            NanOperand::C => "c",
        }
    }
}

/// How one group is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Step {
    /// The nodes say how, for all k at once.
    #[default]
    Tree,
    /// All terms are aligned to the largest exponent, cut, added exactly, and the sum is rounded once.
    Fused,
    /// All terms are added exactly, and the sum is rounded once.
    Exact,
    /// A chain of IEEE 754 fused multiply-adds over ascending indices.
    Fma,
    /// Products are added one after the other by ordinary additions.
    Sequential,
    /// Products are added by ordinary additions in a binary tree: the sum of the first half of a group plus the sum of the
    /// second half; the group's sum is then added to what the group starts from.
    Pairwise,
    /// Exact integers.
    Integer,
}

words!(Step: "tree" = Tree, "fused" = Fused, "exact" = Exact, "fma" = Fma, "sequential" = Sequential, "pairwise" = Pairwise, "integer" = Integer);

impl Step {
    /// Every step.
    pub const ALL: &'static [Step] =
        &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise, Step::Integer, Step::Tree];

    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Step::Tree => "tree",
            Step::Fused => "fused",
            Step::Exact => "exact",
            Step::Fma => "fma",
            Step::Sequential => "sequential",
            Step::Pairwise => "pairwise",
            Step::Integer => "integer",
        }
    }
}

/// What becomes of subnormal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subnormals {
    /// They are kept.
    #[default]
    Keep,
    /// They become the zero of their sign.
    SignedZero,
    /// They become +0.
    PositiveZero,
}

words!(Subnormals: "keep" = Keep, "signed-zero" = SignedZero, "positive-zero" = PositiveZero);

impl Subnormals {
    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Subnormals::Keep => "keep",
            Subnormals::SignedZero => "signed-zero",
            Subnormals::PositiveZero => "positive-zero",
        }
    }
}

/// When a result counts as subnormal, where subnormal results are flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultTininess {
    /// The exact result lies below the smallest normal number.
    Before,
    /// The result, rounded to the format, does.
    #[default]
    After,
    /// The result does when it is rounded to the format's precision as if exponents had no limit (IEEE 754, 7.5, "after
    /// rounding").
    AfterUnbounded,
}

impl ResultTininess {
    /// Every definition.
    pub const ALL: &'static [ResultTininess] =
        &[ResultTininess::Before, ResultTininess::After, ResultTininess::AfterUnbounded];

    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            ResultTininess::Before => "before",
            ResultTininess::After => "after",
            ResultTininess::AfterUnbounded => "after, unbounded exponent",
        }
    }
}

/// The significands of A and B cut into pieces, from the leading bit down: as many bits in each.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The widths of the pieces of A; absent: one piece.
    #[serde(default)]
    pub a: Vec<u32>,
    /// The widths of the pieces of B; absent: one piece.
    #[serde(default)]
    pub b: Vec<u32>,
}

/// The sign of a zero result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZeroSign {
    /// Always +0.
    #[default]
    Positive,
    /// Always -0.
    Negative,
    /// IEEE 754: the sign of a sum that underflows is kept; an exact sum of zero is -0 where every term is a
    /// negative zero (under RD, where not every term is a positive one), else +0.
    Ieee,
    /// +0 for a sum that is exactly zero, the sign of one that underflows.
    ExactPositive,
}

words!(ZeroSign: "positive" = Positive, "negative" = Negative, "ieee" = Ieee, "exact-positive" = ExactPositive);

impl ZeroSign {
    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            ZeroSign::Positive => "positive",
            ZeroSign::Negative => "negative",
            ZeroSign::Ieee => "ieee",
            ZeroSign::ExactPositive => "exact-positive",
        }
    }
}

/// k split by residue: part i takes, in ascending order, the indices whose remainder modulo `period` is in `residues[i]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// The modulus.
    pub period: usize,
    /// The remainders of each part.
    pub residues: Vec<Vec<usize>>,
}

/// What a chain starts from: the first of several groups, or each where they are summed apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// c, or +0 where c enters last.
    #[default]
    C,
    /// The first product itself, rounded to the result's format (no addition).
    Product,
}

words!(Start: "c" = C, "product" = Product);

/// How the results of groups come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// The result of one group is the c of the next.
    #[default]
    Chain,
    /// Each group is summed apart, and the results are added in order by ordinary additions, to c where that
    /// enters first.
    Add,
}

words!(Join: "chain" = Chain, "add" = Add);

/// When c enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CPosition {
    /// Before everything else: as a term of the first group, or as the first term of the additions of `join`.
    #[default]
    First,
    /// After everything else, by an ordinary addition.
    Last,
}

words!(CPosition: "first" = First, "last" = Last);

/// The alignment of a fused step's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alignment {
    /// Bits kept after the binary point of a significand whose units digit weighs 2^e_max (F).
    pub bits: i32,
    /// How the bits beyond are cut off (RO: their presence sets the last bit, "sticky").
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// The smallest e_max: the largest term exponent counts as at least this. Absent: none.
    pub floor: Option<i32>,
    /// Whether a sum of which anything was cut off counts as a little more where it is rounded (a sticky bit): more in magnitude, with
    /// RD larger, with RU smaller.
    #[serde(default)]
    pub sticky: bool,
}

impl Alignment {
    /// Where sums are sticky, the sign of what a sum that is not zero counts as more: what is cut off downwards (RD) is positive, upwards
    /// (RU) negative; otherwise the bit belongs to the magnitude.
    pub(crate) fn rest_is_negative(self, negative: bool) -> bool {
        match self.rounding {
            Rounding::Rd => false,
            Rounding::Ru => true,
            _ => negative,
        }
    }
}

/// Positions of a group by remainder: each lane is aligned to its own largest exponent and summed, then the lanes' sums
/// are aligned to the largest of those exponents, cut, and added exactly.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// Lane i takes the positions whose remainder modulo this is i.
    pub period: usize,
    /// Bits kept after the binary point where the lanes' sums are joined.
    pub bits: i32,
    /// How the bits beyond are cut off.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
}

/// A late c: the aligned sum of the products and c are aligned to the larger of their exponents, each cut to its own
/// width, and added exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Late {
    /// Bits kept of the sum after the binary point.
    pub sum_bits: i32,
    /// Bits kept of c after the binary point.
    pub c_bits: i32,
    /// How the bits beyond are cut off.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// A c whose exponent is more than this below the larger one is left out. Absent: none is.
    pub drop: Option<i32>,
    /// The larger exponent counts as at least this. Absent: no floor.
    pub floor: Option<i32>,
}

/// How the last value becomes a code of D.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversion {
    /// The rounding direction.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// What happens beyond the largest finite number.
    #[serde(default = "standard", deserialize_with = "overflow")]
    pub overflow: Overflow,
}

/// A format to round to, and how.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounded {
    /// The format.
    #[serde(deserialize_with = "format_name")]
    pub format: &'static Format,
    /// The rounding direction.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// What happens beyond the largest finite number.
    #[serde(default = "standard", deserialize_with = "overflow")]
    pub overflow: Overflow,
    /// What becomes of a subnormal result; absent: as the rule's `result-subnormals` says.
    pub subnormals: Option<Subnormals>,
    /// When a result counts as subnormal; absent: as the rule's `result-tininess` says.
    #[serde(default, deserialize_with = "some_tininess")]
    pub tininess: Option<ResultTininess>,
}

/// What an integer sum beyond the range of D becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// Reduced modulo 2^32.
    Wrap,
    /// The nearest end of the range.
    Saturate,
}

words!(Wrap: "wrap" = Wrap, "saturate" = Saturate);
