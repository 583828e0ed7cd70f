//! Decisions of D on its schedule: each aspect, with the values that give D.

use super::MatchCandidate;
use crate::product::{Aspect, AspectWords};

/// An aspect of the schedules that give D.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The aspect.
    pub aspect: Aspect,
    /// Its values in words, the most usual first; one, if D decides the aspect.
    pub values: Vec<String>,
}

impl Decision {
    /// True if one value gives D.
    pub fn is_decided(&self) -> bool {
        self.values.len() == 1
    }
}

/// Decisions of a D that these candidates give and no others, for sums of `k` terms.
///
/// Aspects that no candidate has are left out.
pub fn decisions<'c>(candidates: impl IntoIterator<Item = &'c MatchCandidate>, k: usize) -> Vec<Decision> {
    let told = [Aspect::Split, Aspect::Promotion, Aspect::Order];
    of_aspects(candidates.into_iter().map(|candidate| candidate.aspects(k)), &told)
}

impl MatchCandidate {
    /// The aspects of the schedule, the instruction with its model.
    fn aspects(&self, k: usize) -> Vec<AspectWords> {
        let mut all = self.schedule.aspects(k);
        for instruction in all.iter_mut().filter(|words| words.aspect == Aspect::Instruction) {
            instruction.words += &format!(" of {}", self.arithmetic.model);
        }
        all
    }
}

/// The decisions on some aspects: those in `told`, those that are open, and those that are unusual.
pub(super) fn of_aspects(all: impl IntoIterator<Item = Vec<AspectWords>>, told: &[Aspect]) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = Vec::new();
    let mut unusual: Vec<Aspect> = Vec::new();
    for AspectWords { aspect, words, usual } in all.into_iter().flatten() {
        if !usual && !unusual.contains(&aspect) {
            unusual.push(aspect);
        }
        match decisions.iter_mut().find(|decision| decision.aspect == aspect) {
            Some(decision) if decision.values.contains(&words) => (),
            Some(decision) => decision.values.push(words),
            None => decisions.push(Decision { aspect, values: vec![words] }),
        }
    }
    // One part is a decision, too; no bias and no scales are none.
    decisions.retain(|decision| {
        told.contains(&decision.aspect) || !decision.is_decided() || unusual.contains(&decision.aspect)
    });
    decisions
}
