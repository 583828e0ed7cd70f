//! Values of the keys of a rule.

use serde::Deserialize;

use super::values::{format_name, overflow, rounding, some_tininess, standard};
use crate::{
    base::words::words,
    format::{Format, Overflow, Rounding},
};

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
