//! Explanation of one dot-product-add, step by step, by the reference.

use crate::format::{Finite, Format, Real};

/// Steps of one dot-product-add, and its result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// Steps, in order.
    pub lines: Vec<ExplanationLine>,
    /// Code of D.
    pub d: u64,
}

/// Line of an explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplanationLine {
    /// Group, counted from 0; `None` outside of groups.
    pub group: Option<usize>,
    /// Subject: `a[3]*b[3]`, `c`, `sum`, `rounded to f32 RZ`.
    pub what: String,
    /// Exact value; for a rounding, the rounded one.
    pub value: Real,
    /// Exponent that counts in an alignment; for an alignment, the largest one.
    pub exponent: Option<i32>,
    /// Part of a term that the alignment keeps.
    pub kept: Option<Finite>,
    /// Format and code of a rounding.
    pub code: Option<(&'static Format, u64)>,
}

impl ExplanationLine {
    /// Line without exponent, kept part and code.
    pub(super) fn new(group: Option<usize>, what: impl Into<String>, value: Real) -> ExplanationLine {
        ExplanationLine { group, what: what.into(), value, exponent: None, kept: None, code: None }
    }
}

/// Observer of an evaluation.
pub(in crate::arithmetic) trait Observer {
    /// Takes a line; lines are made only for an observer.
    fn line(&mut self, line: impl FnOnce() -> ExplanationLine);
}

/// Observer that ignores everything.
pub(in crate::arithmetic) struct Silent;

impl Observer for Silent {
    #[inline]
    fn line(&mut self, _: impl FnOnce() -> ExplanationLine) {}
}

impl Observer for Vec<ExplanationLine> {
    fn line(&mut self, line: impl FnOnce() -> ExplanationLine) {
        self.push(line());
    }
}
