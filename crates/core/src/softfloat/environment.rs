//! Environment of an operation: rounding, overflow, tininess, flushing of subnormals, rule for NaNs.

use super::NanRule;
use crate::format::{Overflow, Rounding};

/// Settings that, with format and operands, determine an operation's result and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Environment {
    /// Rounding direction.
    pub rounding: Rounding,
    /// Treatment of results beyond the largest finite number, infinities included.
    /// An infinity that becomes something else overflows (as in the saturating conversions of GPUs, which have no
    /// flags).
    pub overflow: Overflow,
    /// Definition of tiny results, for the underflow flag and for flushing.
    pub tininess: Tininess,
    /// Flush of subnormal operands to zeros of their sign (+0 where there is no -0; DAZ), without a flag.
    pub flush_inputs: bool,
    /// Flush of tiny non-zero results to zeros of their sign (FTZ), with underflow and inexact flagged.
    pub flush_results: bool,
    /// Rule for NaN results.
    pub nan: NanRule,
}

/// Tininess of a non-zero result (IEEE 754, clause 7.5): implementations choose a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tininess {
    /// Before rounding: the exact result lies strictly below the smallest normal magnitude (ARM).
    Before,
    /// After rounding: so does the result rounded with an unbounded exponent (x86, RISC-V).
    After,
}

impl Tininess {
    /// Name in options and reports: `before`, `after`.
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
