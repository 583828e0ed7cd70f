//! The operations, as data.

use std::cmp::Ordering;

/// Operation on codes of one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `x + y`.
    Add,
    /// `x - y`.
    Sub,
    /// `x * y`.
    Mul,
    /// `x / y`.
    Div,
    /// `sqrt(x)`.
    Sqrt,
    /// `x * y + z`, rounded once.
    Fma,
    /// IEEE 754 remainder: `x - n * y`, n the integer nearest to `x / y`, ties to even; always exact.
    /// A zero has the sign of x. An infinite x, and y = 0, are invalid.
    Rem,
    /// Rounding to an integral value, without the inexact flag (IEEE 754: roundToIntegral...).
    Rint,
    /// Rounding to an integral value, with the inexact flag (IEEE 754: roundToIntegralExact).
    RintExact,
    /// Least number or infinity greater than x (IEEE 754: nextUp).
    /// The largest number of a format without infinities, and an infinity, give themselves. The negative number next to
    /// zero gives -0 (+0 in a format without -0).
    NextUp,
    /// Greatest number or infinity less than x (IEEE 754: nextDown).
    NextDown,
    /// IEEE 754-2019 minimum: NaN if an operand is NaN; -0 below +0.
    Minimum,
    /// IEEE 754-2019 maximum.
    Maximum,
    /// IEEE 754-2019 minimumNumber: the other operand if one is NaN.
    MinimumNumber,
    /// IEEE 754-2019 maximumNumber.
    MaximumNumber,
    /// IEEE 754-2008 minNum: minimumNumber, except that a signalling NaN gives a quiet NaN.
    MinNum,
    /// IEEE 754-2008 maxNum.
    MaxNum,
    /// `x = y`, quiet: invalid for signalling NaNs only (IEEE 754: compareQuietEqual).
    Equal,
    /// `x = y`, signalling: invalid for every NaN.
    EqualSignaling,
    /// `x < y`, signalling.
    Less,
    /// `x < y`, quiet.
    LessQuiet,
    /// `x <= y`, signalling.
    LessEqual,
    /// `x <= y`, quiet.
    LessEqualQuiet,
    /// Neither less, equal nor greater, quiet (IEEE 754: compareQuietUnordered).
    Unordered,
    /// IEEE 754 totalOrder(x, y): 1 if x is below y or the same datum.
    /// -0 is below +0; NaNs lie beyond the infinities, by sign, then signalling before quiet seen from zero, then by
    /// payload.
    TotalOrder,
    /// IEEE 754 class, as an index into [`CLASSES`].
    Classify,
}

/// Meaning of the code of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// Code of the format.
    Number,
    /// 0 or 1.
    Truth,
    /// Index into [`CLASSES`].
    Class,
}

/// Classes of IEEE 754 (clause 5.7.2).
pub const CLASSES: [&str; 10] = [
    "signalingNaN",
    "quietNaN",
    "negativeInfinity",
    "negativeNormal",
    "negativeSubnormal",
    "negativeZero",
    "positiveZero",
    "positiveSubnormal",
    "positiveNormal",
    "positiveInfinity",
];

impl Operation {
    /// True if a comparison predicate holds for operands in this order; `None` is unordered.
    pub(super) fn holds(self, order: Option<Ordering>) -> bool {
        use Operation::*;
        match self {
            Equal | EqualSignaling => order == Some(Ordering::Equal),
            Less | LessQuiet => order == Some(Ordering::Less),
            LessEqual | LessEqualQuiet => order.is_some_and(Ordering::is_le),
            _ => order.is_none(),
        }
    }

    /// All operations: name in options and reports, number of operands, kind of result.
    #[rustfmt::skip]
    pub const TABLE: &[(Operation, &'static str, usize, ResultKind)] = &[
        (Operation::Add, "add", 2, ResultKind::Number),
        (Operation::Sub, "sub", 2, ResultKind::Number),
        (Operation::Mul, "mul", 2, ResultKind::Number),
        (Operation::Div, "div", 2, ResultKind::Number),
        (Operation::Sqrt, "sqrt", 1, ResultKind::Number),
        (Operation::Fma, "fma", 3, ResultKind::Number),
        (Operation::Rem, "rem", 2, ResultKind::Number),
        (Operation::Rint, "rint", 1, ResultKind::Number),
        (Operation::RintExact, "rint-exact", 1, ResultKind::Number),
        (Operation::NextUp, "next-up", 1, ResultKind::Number),
        (Operation::NextDown, "next-down", 1, ResultKind::Number),
        (Operation::Minimum, "minimum", 2, ResultKind::Number),
        (Operation::Maximum, "maximum", 2, ResultKind::Number),
        (Operation::MinimumNumber, "minimum-number", 2, ResultKind::Number),
        (Operation::MaximumNumber, "maximum-number", 2, ResultKind::Number),
        (Operation::MinNum, "min-num", 2, ResultKind::Number),
        (Operation::MaxNum, "max-num", 2, ResultKind::Number),
        (Operation::Equal, "eq", 2, ResultKind::Truth),
        (Operation::EqualSignaling, "eq-signaling", 2, ResultKind::Truth),
        (Operation::Less, "lt", 2, ResultKind::Truth),
        (Operation::LessQuiet, "lt-quiet", 2, ResultKind::Truth),
        (Operation::LessEqual, "le", 2, ResultKind::Truth),
        (Operation::LessEqualQuiet, "le-quiet", 2, ResultKind::Truth),
        (Operation::Unordered, "unordered", 2, ResultKind::Truth),
        (Operation::TotalOrder, "total-order", 2, ResultKind::Truth),
        (Operation::Classify, "classify", 1, ResultKind::Class),
    ];

    /// All operations.
    pub fn all() -> impl Iterator<Item = Operation> {
        Self::TABLE.iter().map(|row| row.0)
    }

    /// True if the result can be zero though no operand is, or is a root of more than powers of two.
    pub(super) fn needs_zero(self) -> bool {
        use Operation::*;
        matches!(self, Add | Sub | Sqrt | Fma | Rem | Rint | RintExact)
    }

    /// True if the result can be negative though no operand is.
    pub(super) fn needs_sign(self) -> bool {
        matches!(self, Operation::Sub | Operation::Rem)
    }

    fn row(self) -> &'static (Operation, &'static str, usize, ResultKind) {
        // A test checks that the table is in the order of the variants.
        &Self::TABLE[self as usize]
    }

    /// Name in options and reports.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Number of operands.
    pub fn operands(self) -> usize {
        self.row().2
    }

    /// Kind of result.
    pub fn result(self) -> ResultKind {
        self.row().3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_stands_at_its_own_place_in_the_table() {
        for (place, operation) in Operation::all().enumerate() {
            assert_eq!(operation as usize, place, "{operation:?}");
            assert!((1..=3).contains(&operation.operands()), "{operation:?}");
        }
    }
}
