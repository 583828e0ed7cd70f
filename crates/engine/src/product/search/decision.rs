//! Decisions of D on its schedule: each aspect, with the values that give D.

use super::MatchCandidate;
use crate::product::Aspect;

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
    let mut all: Vec<Decision> = Vec::new();
    let mut unusual: Vec<Aspect> = Vec::new();
    for MatchCandidate { arithmetic, schedule } in candidates {
        for own in schedule.aspects(k) {
            if !own.usual {
                unusual.push(own.aspect);
                unusual.dedup();
            }
            let words = match own.aspect {
                Aspect::Instruction => format!("{} of {}", own.words, arithmetic.model),
                _ => own.words,
            };
            match all.iter_mut().find(|decision| decision.aspect == own.aspect) {
                Some(decision) if decision.values.contains(&words) => (),
                Some(decision) => decision.values.push(words),
                None => all.push(Decision { aspect: own.aspect, values: vec![words] }),
            }
        }
    }
    // One part is a decision, too; no bias and no scales are none.
    let told = [Aspect::Split, Aspect::Promotion, Aspect::Order];
    all.retain(|own| told.contains(&own.aspect) || !own.is_decided() || unusual.contains(&own.aspect));
    all
}
