//! Schemes: how a matrix product is made of products of parts.

use crate::{
    base::named::named,
    format::{self, Format, Rounding},
};

/// A scheme: a product of high precision, made of products that a unit computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// The name of its file.
    pub name: String,
    /// The scheme in a line.
    pub title: String,
    /// Where it comes from, if the file says.
    pub source: Option<String>,
    /// The split of elements of A.
    pub a: OperandSplit,
    /// The split of elements of B.
    pub b: OperandSplit,
    /// The sums, in the order in which they are combined: each is multiplied by its power of two and added.
    pub sums: Vec<PartSum>,
    /// The register that combines the sums.
    pub register: SumRegister,
    /// The format of the unit's accumulators.
    pub accumulator: &'static Format,
}

/// The split of an element.
#[derive(Debug, Clone, PartialEq)]
pub enum OperandSplit {
    /// Each part is the rounded remainder of a number of f32 after the parts before.
    Parts(Vec<SplitPart>),
    /// Integers that count units of the row of A (column of B), which its largest element decides.
    Slices(Slices),
    /// Digits of an integer, the lowest first.
    Digits(Digits),
}

/// A part: the remainder after the parts before, times a power of two, rounded to a format.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPart {
    /// The name.
    pub name: String,
    /// The format.
    pub format: &'static Format,
    /// The rounding.
    pub rounding: Rounding,
    /// The exponent of the power of two.
    pub shift: i32,
}

/// Slices `1`, `2`, ... without error.
///
/// A row whose elements are below 2^e has units of 2^e over powers of two. A slice is the remainder after the slices before,
/// rounded to a multiple of its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slices {
    /// Number of slices.
    pub count: usize,
    /// The exponent of the ratio of two units.
    pub bits: u32,
    /// RZ (integers below 2^bits) or RNE (integers up to half of that).
    pub rounding: Rounding,
    /// The format of the integers.
    pub format: &'static Format,
}

/// Digits `0`, `1`, ... of integers in two's complement; a sign has only the highest, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    /// Bits of the integers.
    pub bits: u32,
    /// Bits of a digit.
    pub digit: u32,
    /// True for signed integers.
    pub signed: bool,
}

/// Products that are added in one accumulator.
#[derive(Debug, Clone, PartialEq)]
pub struct PartSum {
    /// Products as pairs of a part of A and a part of B, in their order.
    pub products: Vec<(usize, usize)>,
    /// Number of k that each product takes in turn.
    pub block: ProductTurn,
    /// When the unit's sum is added to a register outside of it, to nearest.
    pub promote: Promote,
    /// The exponent of the unit of the sum.
    pub scale: i32,
}

/// Number of k of a product before the next product's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProductTurn {
    /// A step of the instruction.
    Step,
    /// So many, rounded up to whole steps.
    Terms(usize),
    /// All.
    All,
}

named! {
    /// When the unit's sum is added to a register outside of it and begins from zero.
    pub enum Promote {
        Never = "never": "The sum stays in the unit";
        Step = "step": "After every step of the instruction";
        Block = "block": "After a block of all products";
    }
}

named! {
    /// The register that combines sums: to nearest, ties to even; integers modulo 2^32.
    pub enum SumRegister {
        Single = "f32": "f32";
        Double = "f64": "f64, and the result is rounded to f32";
        Integer = "s32": "s32, which wraps";
    }
}

impl OperandSplit {
    /// Number of parts.
    pub fn count(&self) -> usize {
        match self {
            OperandSplit::Parts(parts) => parts.len(),
            OperandSplit::Slices(slices) => slices.count,
            OperandSplit::Digits(digits) => digits.count(),
        }
    }

    /// The name of a part.
    pub fn name(&self, part: usize) -> String {
        match self {
            OperandSplit::Parts(parts) => parts[part].name.clone(),
            OperandSplit::Slices(_) => (part + 1).to_string(),
            OperandSplit::Digits(_) => part.to_string(),
        }
    }

    /// The format of a part.
    pub fn format(&self, part: usize) -> &'static Format {
        match self {
            OperandSplit::Parts(parts) => parts[part].format,
            OperandSplit::Slices(slices) => slices.format,
            OperandSplit::Digits(digits) => digits.format(part),
        }
    }

    /// The exponent of the unit of a part; for slices, in a row whose elements are below 1.
    pub(super) fn scale(&self, part: usize) -> i32 {
        match self {
            OperandSplit::Parts(parts) => -parts[part].shift,
            OperandSplit::Slices(slices) => slices.scale(part),
            OperandSplit::Digits(digits) => (digits.digit as usize * part) as i32,
        }
    }
}

impl Slices {
    /// The exponent of the unit of a slice, of a row whose elements are below 1.
    pub(super) fn scale(&self, slice: usize) -> i32 {
        let first = if self.rounding == Rounding::Rz { self.bits } else { self.bits - 1 };
        -(first as i32 + self.bits as i32 * slice as i32)
    }

    /// The largest integer of a slice.
    pub(super) fn largest(&self) -> u64 {
        if self.rounding == Rounding::Rz { (1 << self.bits) - 1 } else { 1 << (self.bits - 1) }
    }
}

impl Digits {
    pub(super) fn count(&self) -> usize {
        (self.bits / self.digit) as usize
    }

    fn format(&self, digit: usize) -> &'static Format {
        let sign = if self.signed && digit + 1 == self.count() { 's' } else { 'u' };
        format::find(&format!("{sign}{}", self.digit)).expect("digits have 4 or 8 bits")
    }

    /// The smallest and the largest integer.
    pub fn range(&self) -> (i64, i64) {
        match self.signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        }
    }
}

impl Scheme {
    /// True if it multiplies integers.
    pub fn is_integer(&self) -> bool {
        self.register == SumRegister::Integer
    }

    /// Number of products.
    pub fn products(&self) -> usize {
        self.sums.iter().map(|sum| sum.products.len()).sum()
    }

    /// The formats of A and B in the products of a sum.
    pub fn formats(&self, sum: &PartSum) -> [&'static Format; 2] {
        let (a, b) = sum.products[0];
        [self.a.format(a), self.b.format(b)]
    }
}
