//! Climbing: from a candidate to the nearest one that no single change improves.

use std::collections::{HashMap, HashSet};

use toml::Table;

use super::{
    candidate::Candidate,
    moves::{self, Move},
    pool::{Measure, Pool},
};
use crate::{
    arithmetic::{Setting, setting},
    base::{interrupt, parallel},
};

/// What it takes to judge a move, about.
const MOVE: u64 = 1 << 17;
/// Moves that are looked ahead, candidates that are kept after each, and of these at most with one penalty.
const AHEAD: usize = 3;
const KEPT: usize = 32;
const ALIKE: usize = 6;
/// How much further than it a candidate on the way may be.
const WORSE: u64 = 16;
/// By how much bits are changed together with a rounding: where one change is looked for, and where several are.
const FAR: i64 = 30;
const NEAR: i64 = 2;

/// How far the work of judging candidates may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort(pub u64);

impl Effort {
    /// So much from now on, and no more than the whole search may take.
    pub(super) fn of(pool: &Pool, work: u64) -> Effort {
        Effort((pool.work() + work).min(pool.most))
    }

    fn left(self, pool: &Pool) -> u64 {
        // A signal ends every climb.
        if interrupt::pending().is_some() { 0 } else { self.0.saturating_sub(pool.work()) }
    }

    /// Whether any is left.
    pub(super) fn is_left(self, pool: &Pool) -> bool {
        self.left(pool) > 0
    }
}

/// What a key decides, and so when it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Ordinary results: order, widths, roundings.
    Ordinary,
    /// Results of special operands, or few of the others.
    Special,
    /// It begins what the rule does not have.
    Begun,
}

const BEGUN: [&str; 7] = ["product", "lanes", "late", "between", "addition", "scale-sums", "split"];

impl Part {
    fn of(own: &Move) -> Part {
        let last = own.key().rsplit('.').next().unwrap_or_default();
        match () {
            () if setting(own.key()).is_some_and(Setting::is_rare) => Part::Special,
            () if BEGUN.contains(&last) && own.0[0].to.is_some() => Part::Begun,
            () => Part::Ordinary,
        }
    }
}

/// Changes `from` as long as that brings it nearer to the answers: first what decides ordinary results, by these.
pub(super) fn climb(pool: &Pool, from: Candidate, effort: Effort) -> Candidate {
    let mut best = from;
    best.judge(pool, Measure::Ordinary);
    if best.rule.contains_key("node") {
        // Of many keys, one after the other.
        let parts = |part: Part| part != Part::Special;
        while let Some(better) = sweep(pool, best.clone(), (&parts, Measure::Ordinary), effort) {
            best = better;
        }
    }
    loop {
        let single = step(pool, &best, (Part::Ordinary, Measure::Ordinary), effort);
        match single.or_else(|| compound(pool, &best, Measure::Ordinary, effort)) {
            Some(better) => best = better,
            None => break,
        }
    }
    best.judge(pool, Measure::All);
    loop {
        let before = best.penalty;
        let special = |part: Part| part == Part::Special;
        best = sweep(pool, best.clone(), (&special, Measure::All), effort).unwrap_or(best);
        if best.penalty < before {
            continue;
        }
        let better = step(pool, &best, (Part::Ordinary, Measure::All), effort);
        let better = better.or_else(|| step(pool, &best, (Part::Begun, Measure::All), effort));
        match better.or_else(|| compound(pool, &best, Measure::All, effort)) {
            Some(better) => best = better,
            None => return best,
        }
    }
}

/// Gives every key that decides special results the value that is nearest: of a candidate whose ordinary results are right already.
pub(super) fn settle(pool: &Pool, from: Candidate, effort: Effort) -> Candidate {
    let special = |part: Part| part == Part::Special;
    let mut best = from;
    best.judge(pool, Measure::All);
    while let Some(better) = sweep(pool, best.clone(), (&special, Measure::All), effort) {
        best = better;
    }
    best
}

/// The best of all changes of a part by a measure, if one is better.
fn step(pool: &Pool, from: &Candidate, (part, measure): (Part, Measure), effort: Effort) -> Option<Candidate> {
    let moves: Vec<Move> =
        moves::by_key(&from.rule, &pool.part).into_iter().flatten().filter(|own| Part::of(own) == part).collect();
    if from.penalty == 0 || !effort.is_left(pool) {
        return None;
    }
    best_of(pool, from, measure, moves.iter().map(|own| own.applied(&from.rule)))
}

/// The best of all changes of several keys that say one thing, if one is better.
fn compound(pool: &Pool, from: &Candidate, measure: Measure, effort: Effort) -> Option<Candidate> {
    if from.penalty == 0 || !effort.is_left(pool) {
        return None;
    }
    best_of(pool, from, measure, moves::compound(&from.rule, FAR).iter().map(|own| own.applied(&from.rule)))
}

/// Gives every key of some parts in turn the value that is nearest by a measure, if one is better.
fn sweep(
    pool: &Pool,
    from: Candidate,
    (parts, measure): (&dyn Fn(Part) -> bool, Measure),
    effort: Effort,
) -> Option<Candidate> {
    let before = from.penalty;
    let mut best = from;
    for moves in moves::by_key(&best.rule, &pool.part) {
        if best.penalty == 0 || !parts(Part::of(&moves[0])) || !effort.is_left(pool) {
            continue;
        }
        if let Some(better) = best_of(pool, &best, measure, moves.iter().map(|own| own.applied(&best.rule))) {
            best = better;
        }
    }
    (best.penalty < before).then_some(best)
}

/// The first candidate better than `from` that is reached by a few moves which do not improve it one by one: of all moves from several
/// candidates the best are kept, whether they are better or not.
pub(super) fn look_ahead(pool: &Pool, from: &Candidate, effort: Effort) -> Option<Candidate> {
    let mut seen = HashSet::from([from.rule.to_string()]);
    let mut kept = vec![from.clone()];
    let limit = from.penalty.saturating_mul(WORSE);
    for _ in 0..AHEAD {
        let mut rules = Vec::new();
        for candidate in &kept {
            let single =
                moves::by_key(&candidate.rule, &pool.part).into_iter().flatten().filter(|own| !own.is_ranged());
            let all = single.chain(moves::compound(&candidate.rule, NEAR)).map(|own| own.applied(&candidate.rule));
            rules.extend(all.filter(|rule| seen.insert(rule.to_string())));
        }
        if rules.len() as u64 > effort.left(pool) / MOVE {
            return None;
        }
        let judged = parallel::map(rules, |rule| Candidate::new(rule, pool, Measure::All, limit));
        let mut judged: Vec<Candidate> = judged.into_iter().flatten().collect();
        judged.sort_by_key(|candidate| candidate.penalty);
        if judged.first().is_some_and(|best| best.penalty < from.penalty) {
            return judged.into_iter().next();
        }
        // Those of one penalty are much the same.
        let mut alike = HashMap::new();
        judged.retain(|candidate| {
            let count = alike.entry(candidate.penalty).or_insert(0);
            *count += 1;
            *count <= ALIKE
        });
        judged.truncate(KEPT);
        kept = judged;
    }
    None
}

/// The best candidate that is nearer to the answers than `than`.
fn best_of(pool: &Pool, than: &Candidate, measure: Measure, rules: impl Iterator<Item = Table>) -> Option<Candidate> {
    let limit = than.penalty.checked_sub(1)?;
    let candidates = parallel::map(rules, |rule| Candidate::new(rule, pool, measure, limit));
    candidates.into_iter().flatten().min_by_key(|candidate| candidate.penalty)
}
