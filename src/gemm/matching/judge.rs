//! How far candidates are from D on a few of its elements.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use super::{
    MatchCandidate,
    candidates::{Suspect, suited},
    runs::{RunKey, key},
};
use crate::{
    Result,
    arithmetic::{Evaluator, Model},
    base::{interrupt, parallel},
    exact,
    gemm::{
        Factors, Schedule,
        compute::{Start, elements},
        sample::Sample,
    },
    isa::{Codes, Instruction},
};

/// What runs have summed, by what they are, and what they began from.
type Runs = HashMap<(RunKey, Start), Codes>;

/// How far a candidate is from D on a sample: elements that differ, then how many numbers of the format lie between, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    differing: usize,
    bits: u32,
}

impl Score {
    /// Elements that differ.
    pub(super) fn differing(self) -> usize {
        self.differing
    }

    pub(super) fn agrees(self) -> bool {
        self.differing == 0
    }
}

impl Sample {
    /// Adds how far each of some candidates, of which kin stand together, is from D; of a search that is ended, those that were judged.
    pub(super) fn judge(&self, suspects: Vec<Suspect>, judged: &mut Vec<(Score, Suspect)>) -> Result<()> {
        let mut families: BTreeMap<usize, Vec<Suspect>> = BTreeMap::new();
        for suspect in suspects {
            families.entry(suspect.kin).or_default().push(suspect);
        }
        // In the order of kin, whichever is judged first.
        let done = Mutex::new(BTreeMap::new());
        let outcome = parallel::try_map(families, |(kin, family)| {
            let mut own = Vec::with_capacity(family.len());
            let outcome = self.judge_kin(family, &mut own);
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(kin, own);
            outcome
        });
        judged.extend(done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().flatten());
        outcome.map(drop)
    }

    /// The same for kin, which share what runs have summed.
    fn judge_kin(&self, family: Vec<Suspect>, judged: &mut Vec<(Score, Suspect)>) -> Result<()> {
        let MatchCandidate { arithmetic, schedule } = &family.first().expect("a family has a member").candidate;
        let tile = Instruction { m: self.d.rows, n: self.d.columns, ..schedule.instruction.clone() };
        let evaluator = Model::load(&arithmetic.model)?.evaluator(&tile)?;
        let (factors, mut runs) = (suited(&self.factors, schedule)?, Runs::new());
        for suspect in family {
            let score = self.score(&suspect.candidate.schedule, &tile, &evaluator, &factors, &mut runs)?;
            judged.push((score, suspect));
        }
        Ok(())
    }

    fn score(
        &self,
        schedule: &Schedule,
        tile: &Instruction,
        evaluator: &Evaluator,
        factors: &Factors,
        runs: &mut Runs,
    ) -> Result<Score> {
        interrupt::check()?;
        let own = elements(&schedule.narrowed(), factors, tile, &mut |run, start, sum| {
            let place = (key(run), start);
            if let Some(codes) = runs.get(&place) {
                return Ok(codes.clone());
            }
            let codes = sum(&mut |tiles| Ok(evaluator.execute_here(tiles)))?;
            runs.insert(place, codes.clone());
            Ok(codes)
        })?;
        let mut score = Score { differing: 0, bits: 0 };
        for (x, y) in own.codes.iter().zip(self.d.codes.iter()).filter(|(x, y)| x != y) {
            score.differing += 1;
            score.bits += exact::distance(self.d.format, x, y).map_or(64, |distance| 64 - distance.leading_zeros());
        }
        Ok(score)
    }
}
