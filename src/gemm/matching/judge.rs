//! Distance of candidates from a few elements of D.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use super::{
    MatchCandidate,
    candidates::{FamilyMember, suited},
    runs::{RunKey, key},
};
use crate::{
    Result,
    arithmetic::{Evaluator, Model},
    base::{interrupt, parallel},
    exact,
    gemm::{
        Factors, Schedule,
        compute::{InitialSum, elements},
        sample::Sample,
    },
    isa::{Codes, Instruction},
};

/// Sums of runs, by the run and its initial value.
type Runs = HashMap<(RunKey, InitialSum), Codes>;

/// Distance of a candidate from D on a sample: elements that differ, then the bits of their distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MatchScore {
    differing: usize,
    bits: u32,
}

impl MatchScore {
    /// Elements that differ.
    pub(super) fn differing(self) -> usize {
        self.differing
    }

    pub(super) fn agrees(self) -> bool {
        self.differing == 0
    }
}

impl Sample {
    /// Adds the score of each candidate, kin side by side; an ended search leaves the judged ones.
    pub(super) fn judge(
        &self,
        suspects: Vec<FamilyMember>,
        judged: &mut Vec<(MatchScore, FamilyMember)>,
    ) -> Result<()> {
        let mut families: BTreeMap<usize, Vec<FamilyMember>> = BTreeMap::new();
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

    /// The scores of kin, which share the sums of runs.
    fn judge_kin(&self, family: Vec<FamilyMember>, judged: &mut Vec<(MatchScore, FamilyMember)>) -> Result<()> {
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
    ) -> Result<MatchScore> {
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
        let mut score = MatchScore { differing: 0, bits: 0 };
        for (x, y) in own.codes.iter().zip(self.d.codes.iter()).filter(|(x, y)| x != y) {
            score.differing += 1;
            score.bits += exact::distance(self.d.format, x, y).map_or(64, |distance| 64 - distance.leading_zeros());
        }
        Ok(score)
    }
}
