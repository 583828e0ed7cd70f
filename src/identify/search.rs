//! The search: candidates that agree with everything that is known, found by climbing and refuted by what is known beyond the
//! cases that guide it.

use std::collections::HashSet;

use rayon::prelude::*;
use toml::{Table, Value};

use super::{
    candidate::Candidate,
    climb::{EFFORT, Effort, climb, climb_in_pairs},
    pool::{Measure, Pool},
    starts::Start,
};

/// Tiles that guide the search at first, and how many of those that a candidate fails are added at a time.
const GUIDES: usize = 32;
const ADDED: usize = 6;
/// Tiles that guide it at least beside those that show steps alone.
const FEWEST_OTHERS: usize = 12;
/// Starts from which the search climbs.
const CLIMBED: usize = 8;
/// How often tiles are added before a start is given up.
const ROUNDS: usize = 40;

/// What is known, and the part of it that guides the search.
pub(super) struct Search {
    /// Every answered tile.
    pub known: Pool,
    guides: Pool,
    effort: Effort,
}

/// A candidate, and what it began from.
pub(super) struct Found {
    /// The candidate, judged by all that is known.
    pub candidate: Candidate,
    /// The shipped model and the instruction that it has the rule of, unchanged.
    pub known: Option<(String, String)>,
}

impl Search {
    /// A search over the tiles of `known`.
    pub(super) fn new(known: Pool) -> Search {
        let mut search = Search { guides: Pool::new(&known.part), known, effort: Effort(EFFORT) };
        search.guide(search.known.len());
        search
    }

    /// Lets the tiles from this one on guide the search, and some of those before it.
    pub(super) fn guide(&mut self, from: usize) {
        self.guides = Pool::new(&self.known.part);
        let own = self.known.len() - from;
        let others = GUIDES.saturating_sub(own).max(FEWEST_OTHERS);
        let step = (from / others).max(1);
        for tile in (from..self.known.len()).chain((0..from).step_by(step)) {
            self.guides.take(&self.known, tile);
        }
    }

    /// The first of these rules that agrees with all that is known, unchanged.
    pub(super) fn unchanged(&self, starts: &[Start]) -> Option<Found> {
        starts.iter().find_map(|start| {
            let candidate = Candidate::new(start.rule.clone(), &self.guides, Measure::All, 0)?;
            let agrees = self.known.penalty(&candidate.evaluator, Measure::All, 0) == 0;
            agrees.then(|| Found { candidate, known: start.known.clone() })
        })
    }

    /// The nearest candidate that can be reached from `starts`: the first one that agrees with all that is known, else that which
    /// is nearest to it.
    pub(super) fn reach(&mut self, starts: &[Start]) -> Option<Candidate> {
        let guides = &self.guides;
        let judged = starts
            .par_iter()
            .filter_map(|start| Candidate::new(start.rule.clone(), guides, Measure::Ordinary, u64::MAX));
        let mut judged: Vec<Candidate> = judged.collect();
        judged.sort_by_key(|candidate| candidate.penalty);
        // One of every kind, so that not all are alike.
        let mut kinds = HashSet::new();
        judged.retain(|candidate| kinds.insert(kind(&candidate.rule)));
        let mut best: Option<Candidate> = None;
        let (trees, shapes): (Vec<Candidate>, Vec<Candidate>) =
            judged.into_iter().partition(|candidate| candidate.rule.contains_key("node"));
        for start in shapes.into_iter().take(CLIMBED).chain(trees) {
            self.effort = Effort(EFFORT);
            let reached = self.refine(start, Steps::Single);
            if best.as_ref().is_none_or(|best| reached.penalty < best.penalty) {
                best = Some(reached);
            }
            if best.as_ref().is_some_and(|best| best.penalty == 0) {
                return best;
            }
        }
        best.map(|best| self.refine(best, Steps::Pairs))
    }

    /// Climbs from a candidate, adding to the guides what the candidate fails of what is known; judged by all of that.
    pub(super) fn refine(&mut self, from: Candidate, steps: Steps) -> Candidate {
        let mut best = from;
        for _ in 0..ROUNDS {
            best.judge(&self.guides, Measure::All);
            best = climb(&self.guides, best, &mut self.effort);
            while best.penalty > 0
                && steps == Steps::Pairs
                && let Some(better) = climb_in_pairs(&self.guides, &best, &mut self.effort)
            {
                best = climb(&self.guides, better, &mut self.effort);
            }
            let misses = self.known.misses(&best.evaluator);
            if best.penalty > 0 || misses.is_empty() {
                break;
            }
            let step = (misses.len() / ADDED).max(1);
            misses.iter().step_by(step).for_each(|(tile, _)| self.guides.take(&self.known, *tile));
        }
        best.judge(&self.known, Measure::All);
        best
    }
}

/// How a search climbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// By single changes.
    Single,
    /// By pairs of changes too.
    Pairs,
}

/// What a rule is like, whatever its numbers are.
fn kind(rule: &Table) -> String {
    let word = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let has = |key: &str| rule.contains_key(key).to_string();
    [word("step"), word("start"), word("join"), word("c"), has("lanes"), has("late"), has("node")].join(" ")
}
