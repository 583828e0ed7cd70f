//! Reduction of a case with a property (two devices differ on it) to a minimal one that keeps it.
//!
//! The reduction first seeks the fewest terms: every choice of up to three, or blocks left out while the property
//! remains. Then it goes to the simplest neighbouring case with the property, change by change, until none is simpler
//! ([`Complexity`]). The same case gives the same result, after a bounded number of questions.

mod moves;
mod terms;

use std::time::Instant;

use super::Complexity;
use crate::{
    Result,
    base::interrupt,
    isa::{Case, Instruction},
};

/// Cases asked about for one reduction, at most, by default.
pub const BUDGET: usize = 60_000;
/// Cases of one choice of terms, at most.
const MOST_SUBSETS: usize = 10_000;
/// Cases asked about at a time.
const BATCH: usize = 256;

/// A test that returns the place of the first case with the property.
pub type PropertyTest<'a> = &'a mut dyn FnMut(&[Case]) -> Result<Option<usize>>;

/// The budget of a reduction.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Number of cases.
    pub cases: usize,
    /// Deadline, after which nothing is asked; `None` for none.
    pub until: Option<Instant>,
}

impl Budget {
    /// Returns true if the deadline has passed.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

impl From<usize> for Budget {
    fn from(cases: usize) -> Budget {
        Budget { cases, until: None }
    }
}

/// Reduces `case` of an instruction within a budget.
/// Returns `None` if the case lacks the property, or nothing could be asked.
///
/// # Errors
/// Errors of `first`; a signal.
pub fn shrink(i: &Instruction, case: &Case, budget: impl Into<Budget>, first: PropertyTest) -> Result<Option<Case>> {
    let mut search = Reduction { i, first, left: budget.into() };
    let Some(start) = search.first(vec![case.clone()])? else { return Ok(None) };
    let fewest = search.fewest_terms(start)?;
    search.simplest(fewest).map(Some)
}

/// A running reduction.
struct Reduction<'a> {
    i: &'a Instruction,
    first: PropertyTest<'a>,
    /// Remaining budget.
    left: Budget,
}

impl Reduction<'_> {
    /// Finds the first of `cases` with the property.
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

    /// Finds a case with as few terms of `case` as suffice.
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

    /// Removes the largest possible block of terms, from halves down to single terms.
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

    /// Moves to the simplest neighbour with the property until none is simpler.
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
