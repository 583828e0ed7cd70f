//! Is O the attention of Q, K and V: every element of softmax(s Q K^T) V against a rigorous bound.
//!
//! [`check`] computes the exact values in f64 with a proven error, a sample of them by MPFR too. The bound covers every order of tiles, by
//! one pass with a running maximum, in parts or in several steps, and every rounding of the claimed formats. Where an element is outside,
//! faults of kernels are tried as causes. docs/attention.md has the derivation.

mod claim;
mod exponential;
mod fault;
mod judge;
mod mask;
mod operands;
#[cfg(feature = "mpfr")]
mod precise;
mod row;
pub mod tables;
#[cfg(all(test, feature = "mpfr"))]
mod tests;

pub use claim::{AttentionClaim, EXP_ERROR, TILE};
pub use fault::{AttentionCause, AttentionPower, Fault, FaultPower};
pub use judge::{Judged, OutsideElement, RowPlace};
pub use mask::{AddedScores, Causal, Mask, ScoreExtents};
pub use operands::{Heads, Operands};
#[cfg(feature = "mpfr")]
pub use precise::ReferenceCheck;
pub use row::Unbounded;

use claim::Constants;

use crate::{Error, Result};

/// Rows whose elements MPFR computes too.
#[cfg(feature = "mpfr")]
const PRECISE_ROWS: usize = 4;

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct AttentionCheck {
    /// Verdicts about the elements.
    pub judged: Judged,
    /// True if no interruption ended the check early.
    pub is_finished: bool,
    /// The cause of the errors, where an element is outside.
    pub cause: Option<AttentionCause>,
    /// The faults that the bound finds, where all elements are within.
    pub power: Option<AttentionPower>,
    /// The reference against MPFR.
    #[cfg(feature = "mpfr")]
    pub reference: ReferenceCheck,
    /// Notes.
    pub notes: Vec<String>,
}

impl AttentionCheck {
    /// True if every element is within its bound.
    pub fn holds(&self) -> bool {
        self.judged.outside == 0 && self.judged.undecided == 0
    }
}

/// Judges every element of O by a claim.
///
/// An interrupted check has the elements judged so far.
///
/// # Errors
/// A claim that has no bound, with the reason; an interruption before the first verdict.
pub fn check(operands: &Operands, claim: &AttentionClaim, done: &dyn Fn(u64)) -> Result<AttentionCheck> {
    let mut check = AttentionCheck::default();
    let constants = Constants::new(claim, operands, &mut check.notes)?;
    match complete(operands, claim, &constants, &mut check, done) {
        Ok(()) => check.is_finished = true,
        Err(Error::Interrupted { .. }) if check.judged.elements > 0 => return Ok(check),
        Err(error) => return Err(error),
    }
    let judged = &check.judged;
    match judged.reason {
        Some(reason) if judged.undecided + judged.without_key == judged.elements => Err(Error::request(format!(
            "the claim has no bound for any row: {}; claim fewer roundings, or check rows with smaller scores",
            crate::base::named::Named::meaning(reason)
        ))),
        _ => Ok(check),
    }
}

fn complete(
    operands: &Operands,
    claim: &AttentionClaim,
    constants: &Constants,
    check: &mut AttentionCheck,
    done: &dyn Fn(u64),
) -> Result<()> {
    judge::judge(operands, claim, constants, &mut check.judged, done)?;
    let rows = operands.q.rows;
    let all: Vec<RowPlace> =
        (0..operands.q.count() * rows).map(|at| RowPlace { head: at / rows, row: at % rows }).collect();
    #[cfg(feature = "mpfr")]
    {
        check.reference = precise::compare(operands, claim, constants, &fault::spread(&all, PRECISE_ROWS))?;
    }
    if check.judged.outside > 0 {
        let lists = fault::rows_by_error(all, &check.judged.rows);
        check.cause = Some(fault::Trial::new(operands, claim, constants, &lists)?.cause()?);
    } else {
        check.power = Some(fault::Trial::new(operands, claim, constants, &[all])?.power()?);
    }
    Ok(())
}
