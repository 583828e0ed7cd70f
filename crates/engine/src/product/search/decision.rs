//! Decisions of D on its schedule: each aspect, with the values that give D.

use super::{MatchCandidate, Matches, Suspects};
use crate::product::{Aspect, AspectWords};

/// Schedules that were not computed in full, and whose spellings are compared, at most.
const SPELLED: usize = 64;

/// An aspect of the schedules that give D.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The aspect.
    pub aspect: Aspect,
    /// Its values in words, the most usual first; one, if D decides the aspect.
    pub values: Vec<String>,
    /// Values that every sum which gives D has in a spelling.
    common: Vec<String>,
}

impl Decision {
    /// True if one value gives D.
    pub fn is_decided(&self) -> bool {
        self.values.len() == 1
    }

    /// True if the values are spellings of the same sums, which no D tells apart.
    pub fn is_spelling(&self) -> bool {
        !self.is_decided() && !self.common.is_empty()
    }

    /// True if a larger or wider D may decide the aspect.
    pub fn is_open(&self) -> bool {
        self.common.is_empty()
    }
}

/// Decisions of a D that these candidates give and no others, for sums of `k` terms.
///
/// Aspects that no candidate has are left out.
pub(super) fn decisions(matches: &Matches, suspects: &Suspects, k: usize) -> Vec<Decision> {
    let told = [Aspect::Split, Aspect::Promotion, Aspect::Order];
    let Matches { confirmed, unchecked, .. } = matches;
    // Spellings of the first of those that were not computed show how the others are spelled.
    let unchecked = unchecked.iter().enumerate().map(|(place, candidate)| match place {
        0..SPELLED => candidate.clone().spelled(suspects, k).aspects(k),
        _ => candidate.aspects(k),
    });
    of_aspects(confirmed.iter().map(|candidate| candidate.aspects(k)).chain(unchecked), &told)
}

impl MatchCandidate {
    /// The aspects of each spelling, the instruction with its model.
    fn aspects(&self, k: usize) -> Vec<Vec<AspectWords>> {
        let mut all: Vec<Vec<AspectWords>> = self.spellings().map(|schedule| schedule.aspects(k)).collect();
        for instruction in all.iter_mut().flatten().filter(|words| words.aspect == Aspect::Instruction) {
            instruction.words += &format!(" of {}", self.arithmetic.model);
        }
        all
    }
}

/// Decisions on aspects in all spellings of sums: those in `told`, open ones, and unusual ones.
pub(super) fn of_aspects(sums: impl IntoIterator<Item = Vec<Vec<AspectWords>>>, told: &[Aspect]) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = Vec::new();
    let mut unusual: Vec<Aspect> = Vec::new();
    // Aspects that some spelling of a sum lacks: the others do not decide them.
    let mut lacking: Vec<Aspect> = Vec::new();
    for spellings in sums {
        for AspectWords { aspect, words, usual } in spellings.iter().flatten() {
            let has = |spelling: &Vec<AspectWords>| spelling.iter().any(|other| other.aspect == *aspect);
            if !spellings.iter().all(has) {
                lacking.push(*aspect);
            }
            if !usual && !unusual.contains(aspect) {
                unusual.push(*aspect);
            }
            match decisions.iter_mut().find(|decision| decision.aspect == *aspect) {
                Some(decision) if decision.values.contains(words) => (),
                Some(decision) => decision.values.push(words.clone()),
                None => {
                    let (values, common) = (vec![words.clone()], values(&spellings, *aspect).cloned().collect());
                    decisions.push(Decision { aspect: *aspect, values, common });
                }
            }
        }
        for decision in &mut decisions {
            let aspect = decision.aspect;
            if values(&spellings, aspect).next().is_some() {
                decision.common.retain(|common| values(&spellings, aspect).any(|words| words == common));
            }
        }
    }
    // One part is a decision, too; no bias and no scales are none.
    decisions.retain(|decision| {
        let is_told = told.contains(&decision.aspect) || !decision.is_decided() || unusual.contains(&decision.aspect);
        is_told && (decision.is_open() || !lacking.contains(&decision.aspect))
    });
    decisions
}

/// The values of an aspect in the spellings of a sum.
fn values(spellings: &[Vec<AspectWords>], aspect: Aspect) -> impl Iterator<Item = &String> {
    spellings.iter().flatten().filter(move |words| words.aspect == aspect).map(|words| &words.words)
}
