//! One dot-product-add, step by step: what the reference says about its work.

use crate::format::{Finite, Format, Real};

/// The steps of one dot-product-add, and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// What happened, in order.
    pub lines: Vec<ExplanationLine>,
    /// The code of D.
    pub d: u64,
}

/// One line of an explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplanationLine {
    /// The group that it belongs to, counted from 0; `None` for what happens outside of groups.
    pub group: Option<usize>,
    /// What it is about: `a[3]*b[3]`, `c`, `sum`, `rounded to f32 RZ`.
    pub what: String,
    /// Its exact value (of a rounding: after it).
    pub value: Real,
    /// The exponent that counts in an alignment; of an alignment, the largest.
    pub exponent: Option<i32>,
    /// Of a term, what alignment keeps of it.
    pub kept: Option<Finite>,
    /// Of a rounding, the format and the code.
    pub code: Option<(&'static Format, u64)>,
}

impl ExplanationLine {
    /// A line without exponent, kept part and code.
    pub(super) fn new(group: Option<usize>, what: impl Into<String>, value: Real) -> ExplanationLine {
        ExplanationLine { group, what: what.into(), value, exponent: None, kept: None, code: None }
    }
}

/// Observes an evaluation.
pub(in crate::arithmetic) trait Observer {
    /// Takes a line; it is only made where somebody observes.
    fn line(&mut self, line: impl FnOnce() -> ExplanationLine);
}

/// Observes nothing.
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
