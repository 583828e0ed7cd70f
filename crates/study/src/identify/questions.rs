//! Inputs that would decide what the answers leave open, for a device that answers elsewhere.

use std::collections::BTreeMap;

use super::{Finding, evidence::LOOKED_THROUGH};
use crate::{
    inputs::{Corners, Sequence},
    isa::Codes,
    rule::deciding,
    trace::{CONTENTS, QUESTIONS, Trace},
};

/// Inputs without answers, and the open changes of a rule that they decide.
#[derive(Debug, Clone)]
pub struct Questions {
    /// A trace without outputs; `None` if no input was found.
    pub trace: Option<Trace>,
    /// Open changes and pairs of changes that some input decides.
    pub decided: usize,
    /// All open changes and pairs of changes.
    pub open: usize,
}

impl Finding {
    /// Inputs that decide between the rule and its open changes, drawn with this seed.
    ///
    /// `None` if the rule misses an answer, or the work ended early.
    pub fn questions(&self, seed: u64) -> Option<Questions> {
        let (identification, tested) = (&self.identification, self.tested.as_ref()?);
        let part = identification.asked.part();
        let evaluator = identification.model()?.evaluator(&part).ok()?;
        let others = tested.survivors(&part);
        let first = identification.asked.count() as u64;
        let mut candidates = Sequence::Random { seed }.tiles(&part, first, LOOKED_THROUGH);
        candidates.extend(&Corners::of(&part).tiles);
        let (tiles, decided) = deciding(&evaluator, &others, &candidates);
        let trace = (tiles.count > 0).then(|| Trace {
            instruction: identification.instruction.clone(),
            m: part.m,
            n: part.n,
            k: part.k,
            d: Codes::zeros(part.d, 0),
            inputs: tiles,
            metadata: BTreeMap::from([(CONTENTS.into(), QUESTIONS.into())]),
        });
        Some(Questions { trace, decided, open: others.len() })
    }
}
