//! Values of the keys of a rule.

use serde::Deserialize;

use super::values::{format_name, output_rounding, rounding, standard};
use crate::{
    base::words::words,
    format::{Format, Overflow, Rounding},
};

/// Operand whose NaN may become the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NanOperand {
    /// First factor of a product, or first term of an addition.
    A,
    /// Second factor, or second term of an addition.
    B,
    /// Addend of a fused multiply-add, or the addends of a sum.
    C,
    /// No operand: the NaN of an invalid operation among the operands that are no NaN.
    Invalid,
}

words!(named pub NanOperand: "a" = A, "b" = B, "c" = C, "invalid" = Invalid);

/// Step: the way in which one group is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Step {
    /// The nodes define it, for all k at once.
    #[default]
    Tree,
    /// All terms are aligned to the largest exponent, truncated, added exactly, and rounded once.
    Fused,
    /// All terms are added exactly and rounded once.
    Exact,
    /// Chain of IEEE 754 fused multiply-adds over ascending indices.
    Fma,
    /// Ordinary additions of the products, one after the other.
    Sequential,
    /// Binary tree of ordinary additions: first half of a group plus second half.
    /// The group's sum is then added to its start.
    Pairwise,
    /// Exact integers.
    Integer,
}

words!(named pub Step: "tree" = Tree, "fused" = Fused, "exact" = Exact, "fma" = Fma, "sequential" = Sequential, "pairwise" = Pairwise, "integer" = Integer);

impl Step {
    /// All steps.
    pub const ALL: &'static [Step] =
        &[Step::Fused, Step::Exact, Step::Fma, Step::Sequential, Step::Pairwise, Step::Integer, Step::Tree];
}

/// Treatment of subnormal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subnormals {
    /// Kept.
    #[default]
    Keep,
    /// Replaced by zeros of their sign.
    SignedZero,
    /// Replaced by +0.
    PositiveZero,
}

words!(named pub Subnormals: "keep" = Keep, "signed-zero" = SignedZero, "positive-zero" = PositiveZero);

/// Definition of subnormal results, for flushing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultTininess {
    /// The exact result lies below the smallest normal number.
    Before,
    /// The result, rounded to the format, lies below it.
    #[default]
    After,
    /// The result, rounded with an unbounded exponent, lies below it (IEEE 754, 7.5, "after rounding").
    AfterUnbounded,
}

words!(named pub ResultTininess: "before" = Before, "after" = After, "after, unbounded exponent" = AfterUnbounded);

impl ResultTininess {
    /// All definitions.
    pub const ALL: &'static [ResultTininess] =
        &[ResultTininess::Before, ResultTininess::After, ResultTininess::AfterUnbounded];
}

/// Significands of A and B cut into pieces, from the leading bit down, by numbers of bits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Widths of the pieces of A; absent: one piece.
    #[serde(default)]
    pub a: Vec<u32>,
    /// Widths of the pieces of B; absent: one piece.
    #[serde(default)]
    pub b: Vec<u32>,
}

/// Sign of a zero result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZeroSign {
    /// Always +0.
    #[default]
    Positive,
    /// Always -0.
    Negative,
    /// IEEE 754: the sign of a sum that underflows; an exact zero sum is -0 if every term is -0, else +0.
    /// Under RD an exact zero sum is -0 unless every term is +0.
    Ieee,
    /// +0 for an exact zero sum, else the sign of the sum that underflows.
    ExactPositive,
    /// The sign of a sum that underflows; -0 for a zero sum whose terms are all negative.
    /// Terms that were cut to nothing count too; any other zero sum is +0.
    Common,
}

words!(named pub ZeroSign: "positive" = Positive, "negative" = Negative, "ieee" = Ieee, "exact-positive" = ExactPositive, "common" = Common);

/// Zero terms whose exponents count in the largest exponent of an alignment.
///
/// A zero has the exponent of the smallest normal number of its format; a zero product has the sum of its
/// factors' exponents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZeroTerms {
    /// No zero counts.
    #[default]
    Ignored,
    /// Zero products count.
    Products,
    /// Zero products and other zero terms count.
    All,
}

words!(named pub ZeroTerms: "ignored" = Ignored, "products" = Products, "all" = All);

/// Origin of infinities and NaNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Specials {
    /// Each step makes them of its terms.
    #[default]
    Steps,
    /// All products and c decide them at once, before anything is added.
    Operands,
}

words!(named pub Specials: "steps" = Steps, "operands" = Operands);

/// Value that decides whether a result overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverflowTest {
    /// The rounded result, with an unbounded exponent, as in IEEE 754 (clause 7.4).
    #[default]
    Rounded,
    /// The exact result: everything beyond the largest number overflows, also what would be rounded to it.
    Exact,
}

words!(named pub OverflowTest: "rounded" = Rounded, "exact" = Exact);

/// Values of operands whose codes stand for infinities and NaNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpecialOperands {
    /// Infinities and NaNs.
    #[default]
    Keep,
    /// NaN for an infinity, too.
    Nan,
    /// Numbers: the code is read as if the format had no infinities and NaNs.
    Finite,
}

words!(named pub SpecialOperands: "keep" = Keep, "nan" = Nan, "finite" = Finite);

/// Product of an infinity and a zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZeroTimesInfinity {
    /// NaN, as in IEEE 754.
    #[default]
    Nan,
    /// Zero with the sign of the product.
    Zero,
    /// Infinity with the sign of the product.
    Infinity,
}

words!(named pub ZeroTimesInfinity: "nan" = Nan, "zero" = Zero, "infinity" = Infinity);

/// Sum of infinities with opposite signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OppositeInfinities {
    /// NaN, as in IEEE 754.
    #[default]
    Nan,
    /// The positive infinity.
    Positive,
    /// The negative infinity.
    Negative,
}

words!(named pub OppositeInfinities: "nan" = Nan, "positive" = Positive, "negative" = Negative);

/// Split of k by residue: part i has, ascending, the indices whose residue is in `residues[i]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Modulus of the residues.
    pub period: usize,
    /// Residues of each part.
    pub residues: Vec<Vec<usize>>,
}

/// Start of a chain: of the first of several groups, or of each if they are summed separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// c, or +0 if c enters last.
    #[default]
    C,
    /// The first product, rounded to the result's format (no addition).
    Product,
}

words!(named pub(crate) Start: "c" = C, "product" = Product);

/// Combination of the results of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// The result of one group is the c of the next.
    #[default]
    Chain,
    /// Separate sums of the groups, added in order by ordinary additions, after c if c enters first.
    Add,
}

words!(named pub(crate) Join: "chain" = Chain, "add" = Add);

/// Place of c in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CPosition {
    /// First: as a term of the first group, or as the first term of the additions of `join`.
    #[default]
    First,
    /// Last, by an ordinary addition.
    Last,
}

words!(named pub(crate) CPosition: "first" = First, "last" = Last);

/// Alignment of a fused step's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Alignment {
    /// Fraction bits kept, relative to the largest exponent among the terms (never below `floor`).
    pub bits: i32,
    /// Rounding of the dropped bits (RO: a non-zero rest sets the last bit).
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// Smallest exponent of the alignment. Absent: none.
    pub floor: Option<i32>,
    /// Sticky bit: a non-zero dropped part makes the sum a little larger before rounding.
    /// Larger in magnitude; with RD larger, with RU smaller.
    #[serde(default)]
    pub sticky: bool,
    /// Number of dropped bits, below the last kept one, that can set the sticky bit. Absent: all of them.
    pub reach: Option<i32>,
    /// Place of the sticky bit below the last kept bit, as a bit of the sum.
    /// Absent: below all bits, where only a rounding of the sum sees it.
    pub sticky_place: Option<i32>,
    /// Carry bits of the register, above the bit of the largest exponent.
    /// The register is in two's complement. Absent: enough bits for every sum.
    pub carry: Option<i32>,
    /// True: a sum beyond the register becomes its largest or smallest number; false: it wraps.
    #[serde(default)]
    pub saturates: bool,
    /// True: terms are negated by flipping their bits.
    /// Nonzero terms with another sign than the last addend (without one: negative terms) become one unit of the last kept bit larger.
    #[serde(default)]
    pub complement: bool,
    /// True: a zero term with such a sign becomes one unit of the last kept bit, unless all terms are zero.
    #[serde(default)]
    pub complement_zeros: bool,
    /// Fraction bits kept of the last addend. Absent: `bits`.
    /// Its exponent counts as lower by what they exceed `bits`.
    pub c_bits: Option<i32>,
}

impl Alignment {
    /// Alignment without a floor and a sticky bit, in a register that holds every sum.
    pub fn new(bits: i32, rounding: Rounding) -> Alignment {
        Alignment {
            bits,
            rounding,
            floor: None,
            sticky: false,
            reach: None,
            sticky_place: None,
            carry: None,
            saturates: false,
            complement: false,
            complement_zeros: false,
            c_bits: None,
        }
    }

    /// Distance by which the exponent of the last addend counts as lower.
    pub fn c_offset(&self) -> i32 {
        self.c_bits.map_or(0, |bits| bits - self.bits)
    }

    /// The alignment in the text of a program: `25 bits RZ sticky, floor -133`.
    pub(in super::super) fn text(&self) -> String {
        let Alignment { bits, rounding, floor, sticky, reach, sticky_place, .. } = self;
        let floor = floor.map_or_else(String::new, |floor| format!(", floor {floor}"));
        let reach = reach.map_or_else(String::new, |reach| format!(" from {reach} bits"));
        let place = sticky_place.map_or_else(String::new, |place| format!(" at place {place}"));
        let sticky = if *sticky { format!(" sticky{reach}{place}") } else { String::new() };
        let end = self.end().map_or_else(String::new, |end| format!(", {end}"));
        let complement = match (self.complement, self.complement_zeros) {
            (false, _) => "",
            (true, false) => ", opposite terms by flipped bits",
            (true, true) => ", opposite terms and zeros by flipped bits",
        };
        let of_c = self.c_bits.map_or_else(String::new, |bits| format!(", {bits} of the last term"));
        format!("{bits} bits{of_c} {}{sticky}{floor}{end}{complement}", rounding.name())
    }

    /// Treatment of sums beyond the register, if it has an end.
    fn end(&self) -> Option<String> {
        let verb = if self.saturates { "saturates" } else { "wraps" };
        self.carry.map(|carry| format!("register {verb} above {carry} carry bits"))
    }

    /// The alignment in phrases.
    /// They are the cut, the reach of the sticky bit, the floor, the end of the register and the negation.
    pub fn words(&self) -> Vec<String> {
        let Alignment { bits, rounding, floor, sticky, reach, sticky_place, .. } = self;
        let sticky = if *sticky { ", sticky" } else { "" };
        let cut = format!("aligned, cut at {bits} bits {}{sticky}", rounding.name());
        let reach = reach.map(|reach| format!("sticky bit of {reach} dropped bits"));
        let floor = floor.map(|floor| format!("exponent at least {floor}"));
        let zeros = if self.complement_zeros { ", zeros too" } else { "" };
        let complement = self.complement.then(|| format!("terms of the other sign negated by flipping bits{zeros}"));
        let of_c = self.c_bits.map(|bits| format!("the exponent of c counts for {bits} bits"));
        let place = sticky_place.map(|place| format!("sticky bit {place} below the last kept bit"));
        std::iter::once(cut)
            .chain(reach)
            .chain(of_c)
            .chain(place)
            .chain(floor)
            .chain(self.end())
            .chain(complement)
            .collect()
    }

    /// Sign of the sticky part of a non-zero sum: positive if truncated by RD, negative if by RU.
    pub(crate) fn rest_is_negative(self, negative: bool) -> bool {
        match self.rounding {
            Rounding::Rd => false,
            Rounding::Ru => true,
            _ => negative,
        }
    }
}

/// Lanes: positions of a group by residue, each with an alignment of its own.
/// Each lane is aligned to its own largest exponent and summed; then the lanes' sums are aligned to the largest of
/// those exponents, truncated, and added exactly.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// Modulus of the positions: lane i has the positions with residue i.
    pub period: usize,
    /// Fraction bits kept where the lanes' sums are joined.
    pub bits: i32,
    /// Rounding of the dropped bits.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
}

/// Late c: aligned with the sum of the products to the larger of their exponents, and added exactly.
/// Each is truncated to its own width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Late {
    /// Fraction bits kept of the sum.
    pub sum_bits: i32,
    /// Fraction bits kept of c.
    pub c_bits: i32,
    /// Rounding of the dropped bits.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// Largest distance of c's exponent below the larger one; beyond, c is ignored. Absent: no limit.
    pub drop: Option<i32>,
    /// Smallest value of the larger exponent. Absent: none.
    pub floor: Option<i32>,
}

impl Late {
    /// Late c with these widths of the sum and of c, without a limit and a floor.
    pub fn new([sum_bits, c_bits]: [i32; 2], rounding: Rounding) -> Late {
        Late { sum_bits, c_bits, rounding, drop: None, floor: None }
    }
}

/// Conversion of the last value to a code of D.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conversion {
    /// Rounding direction. The bits of SR are `random_bits`.
    #[serde(deserialize_with = "output_rounding")]
    pub rounding: Rounding,
    /// Treatment of results beyond the largest finite number.
    #[serde(default = "standard")]
    pub overflow: Overflow,
    /// Random bits that the unit draws for each rounding with SR.
    pub random_bits: Option<u32>,
}

impl Conversion {
    /// Conversion without random bits.
    pub fn new(rounding: Rounding, overflow: Overflow) -> Conversion {
        Conversion { rounding, overflow, random_bits: None }
    }

    /// Stochastic rounding with this many random bits of the unit.
    pub fn stochastic(random_bits: u32) -> Conversion {
        let rounding = Rounding::Sr { random: 0, bits: random_bits };
        Conversion { rounding, overflow: Overflow::Standard, random_bits: Some(random_bits) }
    }
}

/// Rounding to a format.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounded {
    /// Target format.
    #[serde(deserialize_with = "format_name")]
    pub format: &'static Format,
    /// Rounding direction.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// Treatment of results beyond the largest finite number.
    #[serde(default = "standard")]
    pub overflow: Overflow,
    /// Treatment of a subnormal result; absent: the rule's `result-subnormals`.
    pub subnormals: Option<Subnormals>,
    /// Definition of a subnormal result; absent: the rule's `result-tininess`.
    #[serde(default)]
    pub tininess: Option<ResultTininess>,
    /// Value that is compared with the largest number; absent: the rule's `overflow-test`.
    #[serde(default, rename = "overflow-test")]
    pub overflow_test: Option<OverflowTest>,
}

impl Rounded {
    /// Rounding with the usual overflow and subnormal results.
    pub fn new(format: &'static Format, rounding: Rounding) -> Rounded {
        Rounded {
            format,
            rounding,
            overflow: Overflow::Standard,
            subnormals: None,
            tininess: None,
            overflow_test: None,
        }
    }
}

/// Treatment of an integer sum beyond the range of D.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// Reduced modulo 2^32.
    Wrap,
    /// Replaced by the nearest end of the range.
    Saturate,
}

words!(named pub(crate) Wrap: "wrap" = Wrap, "saturate" = Saturate);
