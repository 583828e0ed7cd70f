//! Climbing: from a candidate to the nearest one that no single change improves.

use rayon::prelude::*;
use toml::Table;

use super::{candidate::Candidate, moves, pool::Pool};
use crate::power::Change;

/// Candidates that a search may judge before it gives up.
pub(super) const EFFORT: usize = 60_000;

/// How many candidates a search may still judge.
#[derive(Debug)]
pub(super) struct Effort(pub usize);

impl Effort {
    fn spend(&mut self, count: usize) -> bool {
        self.0 = self.0.saturating_sub(count);
        self.0 > 0
    }
}

/// Changes `from` key by key, as long as that brings it nearer to the answers.
pub(super) fn climb(pool: &Pool, from: Candidate, effort: &mut Effort) -> Candidate {
    let mut best = from;
    loop {
        let before = best.penalty;
        if before == 0 {
            return best;
        }
        for changes in moves::by_key(&best.rule, &pool.part) {
            if !effort.spend(changes.len()) {
                return best;
            }
            if let Some(better) = best_of(pool, &best, changes.iter().map(|change| changed(&best.rule, change))) {
                best = better;
            }
        }
        if best.penalty == before {
            return best;
        }
    }
}

/// The best of all pairs of changes of different keys, if one is better.
pub(super) fn climb_in_pairs(pool: &Pool, from: &Candidate, effort: &mut Effort) -> Option<Candidate> {
    let keys = moves::by_key(&from.rule, &pool.part);
    let near: Vec<&Change> = keys.iter().flatten().filter(|change| !change.ranged).collect();
    let pairs = near.iter().enumerate().flat_map(|(at, one)| near[..at].iter().map(move |other| (*one, *other)));
    let pairs: Vec<_> = pairs.filter(|(one, other)| one.key != other.key).collect();
    if !effort.spend(pairs.len()) {
        return None;
    }
    best_of(pool, from, pairs.into_iter().map(|(one, other)| changed(&changed(&from.rule, one), other)))
}

/// The best candidate that is nearer to the answers than `than`.
fn best_of(pool: &Pool, than: &Candidate, rules: impl Iterator<Item = Table>) -> Option<Candidate> {
    let limit = than.penalty.checked_sub(1)?;
    let rules: Vec<Table> = rules.collect();
    let candidates = rules.into_par_iter().enumerate().filter_map(|(at, rule)| {
        Some((at, Candidate::new(rule, pool, limit)?))
    });
    candidates.min_by_key(|(at, candidate)| (candidate.penalty, *at)).map(|(_, candidate)| candidate)
}

/// A rule with a change.
pub(super) fn changed(rule: &Table, change: &Change) -> Table {
    let mut rule = rule.clone();
    change.apply(&mut rule);
    rule
}
