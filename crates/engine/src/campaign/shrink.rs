//! Reduction of a case on which a device and a model differ to a minimal one.

use crate::{
    Result,
    arithmetic::Evaluator,
    base::parallel,
    comparison::{Answer, Discrepancy, Nans, shrink as reduction, shrink::Budget},
    device::{Batches, Device, Spot, ask},
    isa::{Case, Instruction},
};

/// A device and a model under comparison.
pub struct Compared<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// The model.
    pub model: &'a Evaluator,
    /// The instruction of both.
    pub instruction: &'a Instruction,
    /// Equality of NaN codes.
    pub nans: Nans,
}

impl Compared<'_> {
    /// The answers of device and model to each case, with up to `lanes` cases in a tile.
    fn answers(&mut self, cases: &[Case], spot: &Spot, lanes: usize) -> Result<Vec<Answer>> {
        let (row, column) = (spot.row as usize, spot.column as usize);
        let outputs = ask(self.device, &mut Batches::default(), self.instruction, cases, row, column, lanes)?;
        let answer = |(case, device): (&Case, u64)| Answer { case: case.clone(), device, model: self.model.dot(case) };
        Ok(parallel::map(cases.iter().zip(outputs), answer))
    }
}

/// Reduces the case of `original`, whose outputs at `spot` differ (see [`reduction`]).
/// A finite difference stays finite, and one between infinities and numbers gets no NaN.
/// `None` if they agree when the rest of the tile is zero, or nothing could be asked. The budget is for each of two searches, the
/// second for devices whose cases in one tile affect each other; each search confirms its result with one more case.
///
/// # Errors
/// The device fails.
pub fn shrink(
    pair: &mut Compared,
    spot: &Spot,
    original: &Answer,
    budget: impl Into<Budget>,
) -> Result<Option<Answer>> {
    let (i, budget) = (pair.instruction, budget.into());
    let rank = |answer: &Answer| Discrepancy::between(i.d, answer.device, answer.model).rank();
    // Cases that share a tile are faster, but a case alone in its tile may not confirm the result.
    for lanes in [i.m.min(i.n), 1] {
        let nans = pair.nans;
        let differs = |answer: &Answer| !nans.agree(i.d, answer.device, answer.model) && rank(answer) <= rank(original);
        let mut first = |cases: &[Case]| Ok(pair.answers(cases, spot, lanes)?.iter().position(differs));
        if let Some(simplest) = reduction::shrink(i, &original.case, budget, &mut first)? {
            let confirmed = pair.answers(&[simplest], spot, 1)?.remove(0);
            if differs(&confirmed) {
                return Ok(Some(confirmed));
            }
        }
    }
    Ok(None)
}
