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
        for aspect_words in schedule.aspects(k) {
            if !aspect_words.usual {
                unusual.push(aspect_words.aspect);
                unusual.dedup();
            }
            let words = match aspect_words.aspect {
                Aspect::Instruction => format!("{} of {}", aspect_words.words, arithmetic.model),
                _ => aspect_words.words,
            };
            match all.iter_mut().find(|decision| decision.aspect == aspect_words.aspect) {
                Some(decision) if decision.values.contains(&words) => (),
                Some(decision) => decision.values.push(words),
                None => all.push(Decision { aspect: aspect_words.aspect, values: vec![words] }),
            }
        }
    }
    // One part is a decision, too; no bias and no scales are none.
    let told = [Aspect::Split, Aspect::Promotion, Aspect::Order];
    all.retain(|decision| {
        told.contains(&decision.aspect) || !decision.is_decided() || unusual.contains(&decision.aspect)
    });
    all
}
