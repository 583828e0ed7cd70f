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
    /// Number of the program's step; `None` for the conversion to D, and for what decides before all steps.
    pub step: Option<usize>,
    /// Value before a rounding.
    pub unrounded: Option<Unrounded>,
}

/// Value before a rounding, and the terms of the addition that made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unrounded {
    /// The value.
    pub value: Real,
    /// Both terms of an addition or a fused multiply-add; `None` for a rounding alone.
    pub terms: Option<[Real; 2]>,
}

impl ExplanationLine {
    /// Line without exponent, kept part and code.
    pub(super) fn new(group: Option<usize>, what: impl Into<String>, value: Real) -> ExplanationLine {
        ExplanationLine {
            group,
            what: what.into(),
            value,
            exponent: None,
            kept: None,
            code: None,
            step: None,
            unrounded: None,
        }
    }
}

/// Observer of an evaluation.
pub(in crate::arithmetic) trait Observer {
    /// Takes a line; lines are made only for an observer.
    fn line(&mut self, line: impl FnOnce() -> ExplanationLine);

    /// Names the step of the lines that follow; `None` after all steps.
    #[inline]
    fn begin(&mut self, _step: Option<usize>) {}
}

/// Observer that ignores everything.
pub(in crate::arithmetic) struct Silent;

impl Observer for Silent {
    #[inline]
    fn line(&mut self, _: impl FnOnce() -> ExplanationLine) {}
}

/// Observer that keeps all lines.
#[derive(Default)]
pub(in crate::arithmetic) struct Recorder {
    pub(in crate::arithmetic) lines: Vec<ExplanationLine>,
    step: Option<usize>,
}

impl Observer for Recorder {
    fn line(&mut self, line: impl FnOnce() -> ExplanationLine) {
        self.lines.push(ExplanationLine { step: self.step, ..line() });
    }

    fn begin(&mut self, step: Option<usize>) {
        self.step = step;
    }
}
