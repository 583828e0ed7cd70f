//! Reducing a case on which a device and a model differ to a minimal one on which they still do.

use crate::{
    Result,
    arithmetic::Evaluator,
    base::parallel,
    comparison::{Answer, shrink as reduction, shrink::Budget},
    device::{Device, Spot, ask},
    isa::{Case, Instruction},
};

/// A device and a model that are asked for the outputs of cases.
pub struct Compared<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// The model.
    pub model: &'a Evaluator,
    /// The instruction of both.
    pub instruction: &'a Instruction,
}

impl Compared<'_> {
    /// What device and model answer to each case, up to `lanes` of them in one tile.
    fn answers(&mut self, cases: &[Case], spot: &Spot, lanes: usize) -> Result<Vec<Answer>> {
        let outputs = ask(self.device, self.instruction, cases, spot, lanes)?;
        let answer = |(case, device): (&Case, u64)| Answer { case: case.clone(), device, model: self.model.dot(case) };
        Ok(parallel::map(cases.iter().zip(outputs), answer))
    }
}

/// The minimal case that `case`, of which the outputs at `spot` differ, is reduced to (see [`reduction`]); `None` if they do not
/// differ when the rest of the tile is zero, or nothing could be asked. The budget is for each of two searches, of which the second one
/// is needed where sharing tiles misleads; each confirms its result with one more case.
///
/// # Errors
/// The device fails.
pub fn shrink(pair: &mut Compared, spot: &Spot, case: &Case, budget: impl Into<Budget>) -> Result<Option<Answer>> {
    let (i, budget) = (pair.instruction, budget.into());
    // Cases that share tiles are a shortcut, which the last word, a tile of its own, may not confirm.
    for lanes in [i.m.min(i.n), 1] {
        let differs = |answer: &Answer| answer.device != answer.model;
        let mut first = |cases: &[Case]| Ok(pair.answers(cases, spot, lanes)?.iter().position(differs));
        if let Some(simplest) = reduction::shrink(i, case, budget, &mut first)? {
            let confirmed = pair.answers(&[simplest], spot, 1)?.remove(0);
            if differs(&confirmed) {
                return Ok(Some(confirmed));
            }
        }
    }
    Ok(None)
}
