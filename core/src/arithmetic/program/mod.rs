//! The arithmetic of one instruction as a list of elementary operations over values: what a rule is lowered to, and what
//! every evaluator runs.
//!
//! Each operation makes one value ([`ElementaryOperation::Multiply`] a list of them) from the operands of the instruction and from
//! values before it. What an operation means is written once in each evaluator (the reference, the fast one, CUDA); how
//! operations are strung together is written here alone: the keys of a rule make a tree of nodes ([`super::language`]), and a tree
//! becomes a program in [`tree`].

mod frame;
mod text;
mod tree;

use super::{Alignment, NanOperand, ResultTininess, Rule, Subnormals, Wrap, ZeroSign};
use crate::{format::Format, isa::Instruction, softfloat::ResultTarget};

/// The arithmetic of one instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The instruction.
    pub instruction: Instruction,
    /// How the codes of A, B and C become values.
    pub unpack: [Unpack; 3],
    /// The operations, each behind those whose values it takes.
    pub steps: Vec<OperationStep>,
    /// What D is made of.
    pub output: Output,
}

/// How the codes of an operand become values: decoded, subnormal numbers settled, then converted exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unpack {
    /// What becomes of subnormal numbers.
    pub subnormals: Subnormals,
    /// The format that numbers are converted to, whose exponents count in alignments; `None`: the operand's own.
    pub wider: Option<&'static Format>,
}

/// An operation, and what explanations call its value.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationStep {
    /// What it computes.
    pub operation: ElementaryOperation,
    /// The group or node that it belongs to, counted from 0; `None` for what comes after all of them.
    pub group: Option<usize>,
    /// What its value is called.
    pub name: String,
}

/// A value that an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The unpacked element of C.
    C,
    /// +0.
    Zero,
    /// The value of the step with this number.
    Value(usize),
    /// The product at a place in the list of the step with this number.
    Product(usize, usize),
}

/// An elementary operation.
#[derive(Debug, Clone, PartialEq)]
pub enum ElementaryOperation {
    /// A list of products.
    Multiply(Multiply),
    /// Values aligned, cut and added exactly; the sum is not rounded.
    Sum(Sum),
    /// A value rounded to a format.
    Round {
        /// The value.
        value: Source,
        /// Where it goes.
        to: Destination,
        /// Whether a NaN keeps the leading bits of its payload.
        passes_nan: bool,
    },
    /// An ordinary addition of two values.
    Add {
        /// The values.
        terms: [Source; 2],
        /// Where the sum goes.
        to: Destination,
        /// See [`Sum::nans`]; `A` is the first and `B` the second term.
        nans: Vec<NanOperand>,
    },
    /// A fused multiply-add.
    Fma {
        /// The product.
        factors: Factors,
        /// The addend.
        addend: Source,
        /// Where the sum goes.
        to: Destination,
        /// See [`Sum::nans`].
        nans: Vec<NanOperand>,
    },
    /// The exact sum of c and products of integers (or exclusive ors, as the instruction has it), brought into a range.
    Integer(IntegerSum),
}

/// A sum of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegerSum {
    /// What becomes of a sum beyond the range.
    pub wrap: Wrap,
    /// How many products are added to a sum before it is brought into the range.
    pub group: usize,
    /// The bits of the range, which has a sign where D has one.
    pub bits: u32,
}

impl IntegerSum {
    /// A sum brought into the range.
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

/// The factors of a product: elements of A and B with the same stored k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factors {
    /// The stored k.
    pub k: usize,
    /// The bits of A's significand (an integer of the unpacked format's precision) that are taken: `u64::MAX` for all.
    pub a: u64,
    /// The bits of B's.
    pub b: u64,
}

/// Products, exact unless they are rounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Multiply {
    /// Their factors, in order.
    pub factors: Vec<Factors>,
    /// How block scales take part.
    pub scaling: Scaling,
    /// Products of magnitude 2^this or more, before they are rounded or scaled, are infinite.
    pub limit: Option<i32>,
    /// What each is rounded to; `None`: it is exact.
    pub rounded: Option<Destination>,
    /// Whether the exponent that counts in an alignment is that of the leading bit (else the sum of the factors' exponents).
    pub normalised: bool,
    /// See [`Sum::nans`]; there is no `C`.
    pub nans: Vec<NanOperand>,
}

/// How block scales take part in products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// There are none.
    None,
    /// Each product is multiplied by its scales, exactly.
    Each,
    /// This many consecutive products are added exactly, and their sum times their common scales is one value, whose exponent
    /// is that of the scales.
    Sums(usize),
}

impl Multiply {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self.scaling {
            Scaling::Sums(run) => self.factors.len() / run,
            _ => self.factors.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.factors.is_empty()
    }
}

/// A sum that is not rounded. A zero among its values does not count in the alignment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Steps whose lists of products are added.
    pub products: Vec<usize>,
    /// What else is added.
    pub addends: Vec<Addend>,
    /// How values are aligned; `None`: the sum is exact, and has the exponent of the value with the largest.
    pub alignment: Option<Alignment>,
    /// Whether the exponent of the sum is that of its leading bit (else the one that was aligned to).
    pub normalised: bool,
    /// The order in which a NaN among the operands becomes the result, quiet, with the leading bits of its payload: product by
    /// product (`A` and `B` are its factors), the addends (`C`) before or after all of them. Empty: every NaN is the same.
    pub nans: Vec<NanOperand>,
}

/// A value that is added to products.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Addend {
    /// The value.
    pub source: Source,
    /// The bits kept of it after the binary point, where they are not those of the alignment.
    pub bits: Option<i32>,
    /// It is left out if its exponent is more than this below the one that is aligned to.
    pub drop: Option<i32>,
}

impl From<Source> for Addend {
    fn from(source: Source) -> Addend {
        Addend { source, bits: None, drop: None }
    }
}

/// Where a value goes: rounded to a format, subnormal numbers flushed or kept, zeros signed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Destination {
    /// Format, rounding, overflow, and the code of a NaN that has no payload.
    pub target: ResultTarget,
    /// What becomes of subnormal results.
    pub subnormals: Subnormals,
    /// Which those are, where they are not kept.
    pub tininess: ResultTininess,
    /// The sign of zero results.
    pub zero: ZeroSign,
}

/// What D is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    /// The value.
    pub value: Source,
    /// Its conversion to D; the code of NaN.
    pub target: ResultTarget,
    /// Whether a NaN keeps its payload.
    pub passes_nan: bool,
}

impl Program {
    /// `rule` for `instruction`.
    ///
    /// # Errors
    /// What keeps the rule from holding for this instruction, with the key.
    pub(super) fn new(rule: &Rule, instruction: &Instruction) -> Result<Program, String> {
        tree::program(&rule.draft(instruction.stored_k())?, instruction)
    }

    /// The formats of A and B after unpacking.
    pub fn factors(&self) -> [&'static Format; 2] {
        let i = &self.instruction;
        [self.unpack[0].wider.unwrap_or(i.a), self.unpack[1].wider.unwrap_or(i.b)]
    }

    /// The format of C after unpacking.
    pub fn addend(&self) -> &'static Format {
        self.unpack[2].wider.unwrap_or(self.instruction.c)
    }

    /// The steps, as operations.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = &ElementaryOperation> + ExactSizeIterator {
        self.steps.iter().map(|step| &step.operation)
    }

    /// The products of the step with this number; `None` if it is another operation.
    pub fn products(&self, step: usize) -> Option<&Multiply> {
        match &self.steps[step].operation {
            ElementaryOperation::Multiply(multiply) => Some(multiply),
            _ => None,
        }
    }
}

impl ElementaryOperation {
    /// The values that it takes.
    pub fn sources(&self) -> Vec<Source> {
        match self {
            ElementaryOperation::Multiply(_) | ElementaryOperation::Integer(_) => Vec::new(),
            ElementaryOperation::Sum(sum) => sum.addends.iter().map(|addend| addend.source).collect(),
            ElementaryOperation::Round { value, .. } => vec![*value],
            ElementaryOperation::Add { terms, .. } => terms.to_vec(),
            ElementaryOperation::Fma { addend, .. } => vec![*addend],
        }
    }

    /// Where its value goes, if it is rounded.
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
