//! Arithmetic of one instruction as a list of elementary operations, the input of all evaluators.
//!
//! Each operation makes one value ([`ElementaryOperation::Multiply`] a list of them) from the operands of the
//! instruction and from earlier values. The meaning of an operation is written once in each evaluator (the reference,
//! the fast one, CUDA). The combination of operations is written here alone: the keys of a rule make a tree of nodes
//! ([`super::language`]), and a tree becomes a program in [`tree`].

mod frame;
mod text;
mod tree;

use super::{
    Alignment, NanOperand, OppositeInfinities, OverflowTest, ResultTininess, Rule, SpecialOperands, Subnormals, Wrap,
    ZeroSign, ZeroTimesInfinity,
};
use crate::{
    format::Format,
    isa::Instruction,
    number::{self, Finite, Real},
    softfloat::ResultTarget,
};

/// Program: the arithmetic of one instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Instruction of the program.
    pub instruction: Instruction,
    /// Conversion of the codes of A, B and C to values.
    pub unpack: [Unpack; 3],
    /// Order of NaN operands where all products and c decide infinities and NaNs first.
    /// `None` if each operation makes them of its own operands.
    pub specials: Option<Vec<NanOperand>>,
    /// Code of D whose sign and payload every NaN of A and B has; `None` if it has its own.
    pub factor_nan: Option<u64>,
    /// Results of invalid operations with infinities.
    pub invalid: InvalidOperations,
    /// Operations, each after those whose values it takes.
    pub steps: Vec<OperationStep>,
    /// Conversion of the last value to D.
    pub output: Output,
}

/// Conversion of an operand's codes to values: decoding, treatment of subnormals, exact conversion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unpack {
    /// Treatment of subnormal numbers.
    pub subnormals: Subnormals,
    /// Format after the conversion, whose exponents count in alignments; `None` for the operand's own.
    pub wider: Option<&'static Format>,
    /// True if a zero's exponent counts in alignments: the one of the format's smallest normal number.
    pub zeros: bool,
    /// Values of codes that stand for infinities and NaNs.
    pub specials: SpecialOperands,
}

/// Results of the operations with infinities that IEEE 754 (clause 7.2) calls invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InvalidOperations {
    /// Product of an infinity and a zero.
    pub zero_times_infinity: ZeroTimesInfinity,
    /// Sum of infinities with opposite signs.
    pub opposite_infinities: OppositeInfinities,
}

impl InvalidOperations {
    /// Product of two factors.
    pub(crate) fn product(&self, x: &Real, y: &Real) -> Real {
        match (x, y) {
            (Real::Infinity { negative }, Real::Finite(zero)) if zero.is_zero() => {
                self.zero_product(*negative != zero.negative)
            }
            (Real::Finite(zero), Real::Infinity { negative }) if zero.is_zero() => {
                self.zero_product(*negative != zero.negative)
            }
            _ => number::product(x, y),
        }
    }

    fn zero_product(&self, negative: bool) -> Real {
        match self.zero_times_infinity {
            ZeroTimesInfinity::Nan => Real::Nan,
            ZeroTimesInfinity::Zero => Real::Finite(Finite::zero(negative)),
            ZeroTimesInfinity::Infinity => Real::Infinity { negative },
        }
    }

    /// Infinity or NaN of a sum; `None` if all its terms are finite.
    pub(crate) fn special_sum<'a>(&self, terms: impl IntoIterator<Item = &'a Real>) -> Option<Real> {
        let (mut nan, mut signs) = (false, [false; 2]);
        for term in terms {
            match term {
                Real::Nan => nan = true,
                Real::Infinity { negative } => signs[usize::from(*negative)] = true,
                Real::Finite(_) => {}
            }
        }
        Some(match (nan, signs, self.opposite_infinities) {
            (true, ..) | (false, [true, true], OppositeInfinities::Nan) => Real::Nan,
            (false, [true, false], _) | (false, [true, true], OppositeInfinities::Positive) => {
                Real::Infinity { negative: false }
            }
            (false, [false, true], _) | (false, [true, true], OppositeInfinities::Negative) => {
                Real::Infinity { negative: true }
            }
            (false, [false, false], _) => return None,
        })
    }

    /// `x + y`, as [`number::sum`].
    pub(crate) fn sum(&self, x: &Real, y: &Real, negative_zero: bool) -> Real {
        self.special_sum([x, y]).unwrap_or_else(|| number::sum(x, y, negative_zero))
    }
}

/// Operation, and the name of its value in explanations.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationStep {
    /// The operation.
    pub operation: ElementaryOperation,
    /// Group or node, counted from 0; `None` after all groups.
    pub group: Option<usize>,
    /// Name of its value.
    pub name: String,
}

/// Operand of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Unpacked element of C.
    C,
    /// +0.
    Zero,
    /// Value of the step with this number.
    Value(usize),
    /// Product at a place in the list of the step with this number.
    Product(usize, usize),
}

/// Elementary operation of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum ElementaryOperation {
    /// List of products.
    Multiply(Multiply),
    /// Unrounded sum: values aligned, truncated and added exactly.
    Sum(Sum),
    /// Rounding of a value to a format.
    Round {
        /// Operand.
        value: Source,
        /// Destination of the value.
        to: Destination,
        /// True if a NaN keeps the leading bits of its payload.
        passes_nan: bool,
    },
    /// Ordinary addition of two values.
    Add {
        /// Operands.
        terms: [Source; 2],
        /// Destination of the sum.
        to: Destination,
        /// See [`Sum::nans`]; `A` is the first and `B` the second term.
        nans: Vec<NanOperand>,
    },
    /// Fused multiply-add.
    Fma {
        /// Factors of the product.
        factors: Factors,
        /// Addend.
        addend: Source,
        /// Destination of the sum.
        to: Destination,
        /// See [`Sum::nans`].
        nans: Vec<NanOperand>,
    },
    /// Exact sum of c and products (or exclusive ors) of integers, brought into a range.
    Integer(IntegerSum),
}

/// Sum of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegerSum {
    /// Treatment of a sum beyond the range.
    pub wrap: Wrap,
    /// Number of products added to a sum before it is brought into the range.
    pub group: usize,
    /// Bits of the range, which is signed if D is.
    pub bits: u32,
    /// Bits of the signed range of a group's sum of products.
    /// The sum saturates there before it is added; `None` if it is exact.
    pub group_bits: Option<u32>,
    /// Bits of the signed range into which c wraps before it is added; `None` if it keeps its value.
    pub c_bits: Option<u32>,
}

impl IntegerSum {
    /// The element of C as it is added.
    pub(crate) fn of_c(&self, c: i128) -> i128 {
        self.c_bits.map_or(c, |bits| c << (128 - bits) >> (128 - bits))
    }

    /// The sum of a group's products as it is added.
    pub(crate) fn of_group(&self, sum: i128) -> i128 {
        self.group_bits.map_or(sum, |bits| sum.clamp(-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1))
    }

    /// Brings a sum into the range.
    pub(crate) fn within(&self, sum: i128, signed: bool) -> i128 {
        let (low, high) = match signed {
            true => (-(1i128 << (self.bits - 1)), (1i128 << (self.bits - 1)) - 1),
            false => (0, (1i128 << self.bits) - 1),
        };
        match self.wrap {
            Wrap::Saturate => sum.clamp(low, high),
            Wrap::Wrap => low + (sum - low).rem_euclid(1i128 << self.bits),
        }
    }
}

/// Factors of a product: elements of A and B with the same stored k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factors {
    /// Stored k.
    pub k: usize,
    /// Mask of A's significand bits (an integer of the unpacked precision); `u64::MAX` for all.
    pub a: u64,
    /// Mask of B's significand bits.
    pub b: u64,
}

/// Products, exact unless they are rounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Multiply {
    /// Factors, in order.
    pub factors: Vec<Factors>,
    /// Part of the block scales.
    pub scaling: Scaling,
    /// Binary logarithm of the magnitude from which on products, before rounding and scaling, are infinite.
    pub limit: Option<i32>,
    /// Fraction bits kept of each product, relative to the sum of its factors' exponents; `None` for all.
    pub bits: Option<i32>,
    /// Rounding of each product; `None` if it is exact.
    pub rounded: Option<Destination>,
    /// True if the leading bit's exponent counts in an alignment, else the sum of the factors' exponents.
    pub normalised: bool,
    /// See [`Sum::nans`]; there is no `C`.
    pub nans: Vec<NanOperand>,
}

/// Part of block scales in products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// There are none.
    None,
    /// Each product is multiplied by its scales, exactly.
    Each,
    /// Exact sums of this many consecutive products, each times its common scales as one value.
    /// The exponent of the value is that of the scales.
    Sums(usize),
}

impl Multiply {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self.scaling {
            Scaling::Sums(run) => self.factors.len() / run,
            _ => self.factors.len(),
        }
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.factors.is_empty()
    }
}

/// Unrounded sum. A zero value counts in the alignment only where [`Unpack::zeros`] says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Steps whose lists of products are added.
    pub products: Vec<usize>,
    /// Other addends.
    pub addends: Vec<Addend>,
    /// Alignment of the values; `None` for an exact sum, with the exponent of the value with the largest.
    pub alignment: Option<Alignment>,
    /// True if the exponent of the sum belongs to its leading bit, else the aligned exponent.
    pub normalised: bool,
    /// Order in which NaN operands become the result; empty if every NaN is the same.
    /// The result is quiet, with the leading bits of the payload. Products come one by one (`A` and `B` are their
    /// factors), the addends (`C`) before or after all of them. `Invalid` is the NaN of an invalid operation among terms
    /// that are no NaN, which comes last if the order does not name it.
    pub nans: Vec<NanOperand>,
}

/// Addend of products.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Addend {
    /// Operand.
    pub source: Source,
    /// Fraction bits of the term; `None` uses the bits of the alignment.
    pub bits: Option<i32>,
    /// Largest distance of its exponent below the aligned one; beyond, it is ignored.
    pub drop: Option<i32>,
}

impl From<Source> for Addend {
    fn from(source: Source) -> Addend {
        Addend { source, bits: None, drop: None }
    }
}

/// Destination of a value: format, treatment of subnormals, signs of zeros.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Destination {
    /// Format, rounding, overflow, and the code of a NaN without payload.
    pub target: ResultTarget,
    /// Treatment of subnormal results.
    pub subnormals: Subnormals,
    /// Definition of subnormal results, if they are not kept.
    pub tininess: ResultTininess,
    /// Value that decides whether a result overflows.
    pub overflow_test: OverflowTest,
    /// Sign of zero results.
    pub zero: ZeroSign,
}

/// Conversion of the last value to D.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    /// Last value.
    pub value: Source,
    /// Target of the conversion, with the code of NaN.
    pub target: ResultTarget,
    /// True if a NaN keeps its payload.
    pub passes_nan: bool,
}

impl Program {
    /// Lowers `rule` for `instruction`, whether or not the rule's patterns match it.
    ///
    /// # Errors
    /// The defect of the rule, or its conflict with the instruction, with the key.
    pub fn of(rule: &Rule, instruction: &Instruction) -> Result<Program, String> {
        tree::program(&rule.draft(instruction.stored_k())?, instruction)
    }

    /// Formats of A and B after unpacking.
    pub fn factors(&self) -> [&'static Format; 2] {
        let i = &self.instruction;
        [self.unpack[0].wider.unwrap_or(i.a), self.unpack[1].wider.unwrap_or(i.b)]
    }

    /// Format of C after unpacking.
    pub fn addend(&self) -> &'static Format {
        self.unpack[2].wider.unwrap_or(self.instruction.c)
    }

    /// True if infinities, NaNs and overflows follow IEEE 754.
    pub fn has_usual_specials(&self) -> bool {
        let tests = self.operations().filter_map(ElementaryOperation::destination).map(|to| to.overflow_test);
        self.invalid == InvalidOperations::default()
            && tests.into_iter().all(|test| test == OverflowTest::Rounded)
            && self.unpack.iter().all(|unpack| unpack.specials == SpecialOperands::Keep)
    }

    /// Operations of the steps.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = &ElementaryOperation> + ExactSizeIterator {
        self.steps.iter().map(|step| &step.operation)
    }

    /// Products of the step with this number; `None` for another operation.
    pub fn products(&self, step: usize) -> Option<&Multiply> {
        match &self.steps[step].operation {
            ElementaryOperation::Multiply(multiply) => Some(multiply),
            _ => None,
        }
    }
}

impl ElementaryOperation {
    /// Operands.
    pub fn sources(&self) -> Vec<Source> {
        match self {
            ElementaryOperation::Multiply(_) | ElementaryOperation::Integer(_) => Vec::new(),
            ElementaryOperation::Sum(sum) => sum.addends.iter().map(|addend| addend.source).collect(),
            ElementaryOperation::Round { value, .. } => vec![*value],
            ElementaryOperation::Add { terms, .. } => terms.to_vec(),
            ElementaryOperation::Fma { addend, .. } => vec![*addend],
        }
    }

    /// Destination of its value, if it is rounded.
    pub fn destination(&self) -> Option<&Destination> {
        match self {
            ElementaryOperation::Round { to, .. }
            | ElementaryOperation::Add { to, .. }
            | ElementaryOperation::Fma { to, .. } => Some(to),
            ElementaryOperation::Multiply(multiply) => multiply.rounded.as_ref(),
            ElementaryOperation::Sum(_) | ElementaryOperation::Integer(_) => None,
        }
    }
}
