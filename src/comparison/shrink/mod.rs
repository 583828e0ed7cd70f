//! Reducing a case that has a property (two devices differ on it) to a minimal one that still has it.
//!
//! First the fewest terms: every choice of up to three of them, and where there are too many, blocks left out as long as the
//! property remains. Then change by change to the simplest of the neighbouring cases that still has it, until none does
//! ([`Cost`] says what is simpler). The same case gives the same result, after a bounded number of questions.

mod moves;
mod terms;

use super::Cost;
use crate::{
    Result,
    base::interrupt,
    isa::{Case, Instruction},
};

/// The most cases that are asked about for one reduction, where nobody says less.
pub const BUDGET: usize = 60_000;
/// The most cases of one choice of terms.
const MOST_SUBSETS: usize = 10_000;
/// Cases that are asked about at a time.
const BATCH: usize = 256;

/// The place of the first of some cases that has the property.
pub type First<'a> = &'a mut dyn FnMut(&[Case]) -> Result<Option<usize>>;

/// The minimal case that `case` of an instruction is reduced to, when at most `budget` cases may be asked about; `None` if it does not have
/// the property.
///
/// # Errors
/// Those of `first`; a signal.
pub fn shrink(i: &Instruction, case: &Case, budget: usize, first: First) -> Result<Option<Case>> {
    let mut search = Search { i, first, left: budget };
    let Some(start) = search.first(vec![case.clone()])? else { return Ok(None) };
    let fewest = search.fewest_terms(start)?;
    search.simplest(fewest).map(Some)
}

/// A search under way.
struct Search<'a> {
    i: &'a Instruction,
    first: First<'a>,
    /// How many cases may still be asked about.
    left: usize,
}

impl Search<'_> {
    /// The first of `cases` that has the property.
    fn first(&mut self, mut cases: Vec<Case>) -> Result<Option<Case>> {
        let mut from = 0;
        while from < cases.len() {
            let to = cases.len().min(from + BATCH);
            if self.left < to - from {
                return Ok(None);
            }
            self.left -= to - from;
            interrupt::check()?;
            if let Some(at) = (self.first)(&cases[from..to])? {
                return Ok(Some(cases.swap_remove(from + at)));
            }
            from = to;
        }
        Ok(None)
    }

    /// A case with as few of the terms of `case` as are found to be enough.
    fn fewest_terms(&mut self, mut case: Case) -> Result<Case> {
        let mut tried = 0;
        loop {
            let count = terms::terms(self.i, &case).len();
            while tried <= 3 && tried < count && terms::subset_count(count, tried) <= MOST_SUBSETS {
                if let Some(few) = self.first(terms::subsets(self.i, &case, tried))? {
                    return Ok(few);
                }
                tried += 1;
            }
            match self.fewer_terms(&case)? {
                Some(fewer) => case = fewer,
                None => return Ok(case),
            }
        }
    }

    /// A case without some of the terms: the largest block that can be left out, of halves down to single terms.
    fn fewer_terms(&mut self, case: &Case) -> Result<Option<Case>> {
        let all = terms::terms(self.i, case);
        let mut block = all.len().div_ceil(2);
        while block > 0 {
            let cases = all.chunks(block).map(|gone| terms::without(self.i, case, gone.iter().copied())).collect();
            if let Some(fewer) = self.first(cases)? {
                return Ok(Some(fewer));
            }
            block = if block == 1 { 0 } else { block.div_ceil(2) };
        }
        Ok(None)
    }

    /// From neighbour to simplest neighbour until no simpler one has the property.
    fn simplest(&mut self, mut case: Case) -> Result<Case> {
        loop {
            let cost = Cost::of(self.i, &case);
            let costed = moves::neighbours(self.i, &case).into_iter().map(|case| (Cost::of(self.i, &case), case));
            let mut simpler: Vec<(Cost, Case)> = costed.filter(|(other, _)| *other < cost).collect();
            simpler.sort_unstable_by(|x, y| x.0.cmp(&y.0));
            simpler.dedup_by(|x, y| x.1 == y.1);
            match self.first(simpler.into_iter().map(|(_, case)| case).collect())? {
                Some(better) => case = better,
                None => return Ok(case),
            }
        }
    }
}
