//! Reducing a case that has a property (two devices differ on it) to a minimal one that still has it.
//!
//! PropertyTest the fewest terms: every choice of up to three of them, and where there are too many, blocks left out as long as the
//! property remains. Then change by change to the simplest of the neighbouring cases that still has it, until none does
//! ([`Complexity`] says what is simpler). The same case gives the same result, after a bounded number of questions.

mod moves;
mod terms;

use std::time::Instant;

use super::Complexity;
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
pub type PropertyTest<'a> = &'a mut dyn FnMut(&[Case]) -> Result<Option<usize>>;

/// How much may be asked for a reduction.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Cases.
    pub cases: usize,
    /// When the time is over, after which nothing more is asked; `None`: never.
    pub until: Option<Instant>,
}

impl Budget {
    /// Whether the time is over.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

impl From<usize> for Budget {
    fn from(cases: usize) -> Budget {
        Budget { cases, until: None }
    }
}

/// The minimal case that `case` of an instruction is reduced to within a budget; `None` if it does not have the property, or nothing
/// could be asked.
///
/// # Errors
/// Those of `first`; a signal.
pub fn shrink(i: &Instruction, case: &Case, budget: impl Into<Budget>, first: PropertyTest) -> Result<Option<Case>> {
    let mut search = Reduction { i, first, left: budget.into() };
    let Some(start) = search.first(vec![case.clone()])? else { return Ok(None) };
    let fewest = search.fewest_terms(start)?;
    search.simplest(fewest).map(Some)
}

/// A search under way.
struct Reduction<'a> {
    i: &'a Instruction,
    first: PropertyTest<'a>,
    /// What may still be asked.
    left: Budget,
}

impl Reduction<'_> {
    /// The first of `cases` that has the property.
    fn first(&mut self, mut cases: Vec<Case>) -> Result<Option<Case>> {
        let mut from = 0;
        while from < cases.len() {
            let to = cases.len().min(from + BATCH);
            if self.left.cases < to - from || self.left.is_over() {
                return Ok(None);
            }
            self.left.cases -= to - from;
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
            let cost = Complexity::of(self.i, &case);
            let costed = moves::neighbours(self.i, &case).into_iter().map(|case| (Complexity::of(self.i, &case), case));
            let mut simpler: Vec<(Complexity, Case)> = costed.filter(|(other, _)| *other < cost).collect();
            simpler.sort_unstable_by(|x, y| x.0.cmp(&y.0));
            simpler.dedup_by(|x, y| x.1 == y.1);
            match self.first(simpler.into_iter().map(|(_, case)| case).collect())? {
                Some(better) => case = better,
                None => return Ok(case),
            }
        }
    }
}
