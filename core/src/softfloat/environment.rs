//! The environment of an operation: rounding, overflow, tininess, flushing of subnormals, rule for NaNs.

use super::NanRule;
use crate::format::{Overflow, Rounding};

/// Everything besides the format and the operands that an operation's result and flags depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Environment {
    /// Rounding direction.
    pub rounding: Rounding,
    /// What happens to a result beyond the largest finite number, an infinity included: where that becomes something else, it
    /// overflows (as it does in the saturating conversions of GPUs, which have no flags).
    pub overflow: Overflow,
    /// When a result counts as tiny, for the underflow flag and for flushing.
    pub tininess: Tininess,
    /// Subnormal operands are replaced by zeros of their sign (+0 where there is no -0; DAZ); nothing is flagged.
    pub flush_inputs: bool,
    /// Tiny non-zero results become zeros of their sign (FTZ), with underflow and inexact flagged.
    pub flush_results: bool,
    /// Which NaN an operation gives.
    pub nan: NanRule,
}

/// When a non-zero result is tiny (IEEE 754, clause 7.5): implementations choose one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tininess {
    /// The exact result lies strictly below the smallest normal magnitude (ARM).
    Before,
    /// So does the exact result rounded as if the exponent range were unbounded (x86, RISC-V).
    After,
}

impl Tininess {
    /// The name that options and reports use: `before`, `after`.
    pub fn name(self) -> &'static str {
        match self {
            Tininess::Before => "before",
            Tininess::After => "after",
        }
    }
}

impl Default for Environment {
    /// RNE, the format's own overflow, tininess after rounding, subnormals kept, the canonical NaN.
    fn default() -> Self {
        Environment {
            rounding: Rounding::Rne,
            overflow: Overflow::Standard,
            tininess: Tininess::After,
            flush_inputs: false,
            flush_results: false,
            nan: NanRule::Canonical,
        }
    }
}
