//! How far candidates are from D on a few of its elements.

use std::collections::{BTreeMap, HashMap};

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
    pub(super) fn agrees(self) -> bool {
        self.differing == 0
    }
}

impl Sample {
    /// How far each of some candidates, of which kin stand together, is from D.
    pub(super) fn judge(&self, suspects: Vec<Suspect>) -> Result<Vec<(Score, Suspect)>> {
        let mut families: BTreeMap<usize, Vec<Suspect>> = BTreeMap::new();
        for suspect in suspects {
            families.entry(suspect.kin).or_default().push(suspect);
        }
        let judged = parallel::try_map(families.into_values(), |family| self.judge_kin(family))?;
        Ok(judged.into_iter().flatten().collect())
    }

    /// The same for kin, which share what runs have summed.
    fn judge_kin(&self, family: Vec<Suspect>) -> Result<Vec<(Score, Suspect)>> {
        let MatchCandidate { arithmetic, schedule } = &family.first().expect("a family has a member").candidate;
        let tile = Instruction { m: self.d.rows, n: self.d.columns, ..schedule.instruction.clone() };
        let evaluator = Model::load(&arithmetic.model)?.evaluator(&tile)?;
        let (factors, mut runs) = (suited(&self.factors, schedule)?, Runs::new());
        let judge = |suspect: Suspect| {
            Ok((self.score(&suspect.candidate.schedule, &tile, &evaluator, &factors, &mut runs)?, suspect))
        };
        family.into_iter().map(judge).collect()
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
