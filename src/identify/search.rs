//! The search: candidates that agree with everything that is known, found by climbing and refuted by what is known beyond the
//! cases that guide it.

use std::collections::HashSet;

use toml::{Table, Value};

use super::{
    candidate::{Candidate, evaluator},
    climb::{Effort, climb, look_ahead, settle},
    pool::{self, Measure, Pool},
    starts::Start,
};
use crate::{
    arithmetic::Evaluator,
    base::{interrupt, parallel},
};

/// Tiles that guide the search at first, and how many of those that a candidate fails are added at a time.
const GUIDES: usize = 32;
const ADDED: usize = 6;
/// Tiles by which starts are judged.
const JUDGED: usize = 12;
/// Starts from which the search climbs, and of these the nearest, from which it goes on.
const CLIMBED: usize = 8;
const REFINED: usize = 3;
/// The work of the climbs from the nearest of the rules of what steps do, with which it begins.
const NEAREST: [u64; 3] = [1 << 31, 1 << 29, 1 << 29];
/// What judging those of them may take that the fast evaluator does not have, and the fewest of these that are judged.
const JUDGING: u64 = 1 << 31;
const FEWEST_SLOW: usize = 6;
/// Trees from which it goes on besides.
const TREES: usize = 2;
/// The work of each climb, as products that are computed: of the first, and of the others.
const LITTLE: u64 = 1 << 28;
pub(super) const MUCH: u64 = 1 << 32;
/// How many of those that the nearest rule fails lead to another one.
const LEARNT: usize = 12;
/// How often tiles are added before a start is given up.
const ROUNDS: usize = 40;

/// What is known, and the part of it that guides the search.
pub(super) struct Search {
    /// Every answered tile.
    pub known: Pool,
    guides: Pool,
    /// Tiles that show steps alone: they come before the guides.
    isolated: Pool,
    /// Whether the device adds two terms at a time, never more.
    pub in_pairs: bool,
    /// Rules of what the steps do that were looked at one by one.
    pub fitted: Vec<Table>,
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
        let mut guides = known.another();
        let step = (known.len() / GUIDES).max(1);
        (0..known.len()).step_by(step).for_each(|tile| guides.take(&known, tile));
        Search { isolated: known.another(), guides, known, in_pairs: false, fitted: Vec::new() }
    }

    /// Lets the tiles from this one on, which show steps alone, come before all others.
    pub(super) fn isolate(&mut self, from: usize) {
        (from..self.known.len()).for_each(|tile| self.isolated.take(&self.known, tile));
    }

    /// The first of these rules that agrees with all that is known, unchanged.
    pub(super) fn unchanged(&self, starts: &[Start]) -> Option<Found> {
        starts.iter().find_map(|start| {
            let candidate = Candidate::new(start.rule.clone(), &self.guides, Measure::All, 0)?;
            let agrees = self.known.penalty(&candidate.evaluator, Measure::All, 0) == 0;
            agrees.then(|| Found { candidate, known: start.known.clone() })
        })
    }

    /// The nearest of these rules by the tiles that guide the search, unchanged.
    pub(super) fn nearest(&self, starts: &[Start]) -> Option<Candidate> {
        let judged = starts.iter().filter_map(|start| {
            let evaluator = evaluator(&start.rule, &self.known.part)?;
            let penalty = self.guides.penalty(&evaluator, Measure::All, u64::MAX);
            Some(Candidate { rule: start.rule.clone(), evaluator, penalty })
        });
        judged.min_by_key(|candidate| candidate.penalty)
    }

    /// The nearest candidate that can be reached from `starts`: the first one that agrees with all that is known, else that which
    /// is nearest to it. An interruption ends it with the nearest one until then.
    pub(super) fn reach(&mut self, starts: &[Start]) -> Option<Candidate> {
        let first = if self.isolated.len() > 0 { &self.isolated } else { &self.guides };
        let few = first.first(JUDGED);
        let judged =
            parallel::map(starts, |start| Candidate::new(start.rule.clone(), &few, Measure::Ordinary, u64::MAX));
        let mut judged: Vec<Candidate> = judged.into_iter().flatten().collect();
        judged.sort_by_key(|candidate| candidate.penalty);
        // One of every kind, so that not all are alike.
        let mut kinds = HashSet::new();
        judged.retain(|candidate| kinds.insert(kind(&candidate.rule)));
        let (trees, shapes): (Vec<Candidate>, Vec<Candidate>) =
            judged.into_iter().partition(|candidate| candidate.rule.contains_key("node"));
        let nodes: Vec<Table> = trees.iter().map(|tree| tree.rule.clone()).collect();
        // The simplest first: a little way from each, then further from the nearest.
        let mut starts: Vec<Candidate> = shapes.into_iter().take(CLIMBED).chain(trees).collect();
        starts.sort_by_cached_key(|start| rank(&start.rule, self.in_pairs));
        let first = first.clone();
        let mut reached = Vec::new();
        // What is known of every step is near already.
        let mut near = self.judged_fitted();
        near.sort_by_key(|candidate| candidate.penalty);
        let going_on = || interrupt::pending().is_none();
        for (candidate, work) in near.into_iter().zip(NEAREST).take_while(|_| going_on()) {
            let candidate = settle(&self.guides.first(JUDGED), candidate, Effort::of(&self.known, work / 2));
            let refined = self.refine(candidate, Steps::Single, work);
            if refined.penalty == 0 {
                return Some(refined);
            }
            reached.push(refined);
        }
        for start in starts.into_iter().take_while(|_| going_on()) {
            let approached = approach(&first, start);
            let refined = self.refine(approached, Steps::Single, LITTLE);
            if refined.penalty == 0 {
                return Some(refined);
            }
            reached.push(refined);
        }
        reached.sort_by_key(|candidate| candidate.penalty);
        if !going_on() {
            return reached.into_iter().next();
        }
        let mut best: Option<Candidate> = None;
        // Trees come further on than shapes with as many keys.
        let (near, far) = reached.split_at(REFINED.min(reached.len()));
        let trees = far.iter().filter(|candidate| candidate.rule.contains_key("node")).take(TREES);
        for from in near.iter().chain(trees).cloned().collect::<Vec<_>>().into_iter().take_while(|_| going_on()) {
            let refined = self.refine(from, Steps::Ahead, MUCH);
            if best.as_ref().is_none_or(|best| refined.penalty < best.penalty) {
                best = Some(refined);
            }
            if best.as_ref().is_some_and(|best| best.penalty == 0) {
                break;
            }
        }
        // What a shape says, of each node apart.
        for tree in nodes.into_iter().take_while(|_| going_on()) {
            let Some(shape) = best.as_ref().filter(|best| best.penalty > 0 && !best.rule.contains_key("node")) else {
                break;
            };
            let written = written_out(&shape.rule, tree);
            let Some(candidate) = Candidate::new(written, &self.guides, Measure::All, u64::MAX) else { continue };
            let refined = self.refine(candidate, Steps::Ahead, MUCH);
            if best.as_ref().is_none_or(|best| refined.penalty < best.penalty) {
                best = Some(refined);
            }
        }
        best
    }

    /// The rules of what the steps do, judged by the guides: of those that take long only the first ones.
    fn judged_fitted(&self) -> Vec<Candidate> {
        let made = parallel::map(&self.fitted, |rule| evaluator(rule, &self.known.part));
        let (fast, slow): (Vec<_>, Vec<_>) =
            self.fitted.iter().zip(made).partition(|(_, own)| own.as_ref().is_some_and(Evaluator::is_fast));
        let each = (self.guides.outputs() * self.known.part.stored_k()) as u64 * pool::SLOW;
        let affordable = FEWEST_SLOW.max((JUDGING / each.max(1)) as usize);
        let few: Vec<&Table> =
            fast.into_iter().chain(slow.into_iter().take(affordable)).map(|(rule, _)| rule).collect();
        let judged = parallel::map(few, |rule| Candidate::new(rule.clone(), &self.guides, Measure::All, u64::MAX));
        judged.into_iter().flatten().collect()
    }

    /// Lets tiles that a candidate fails come before all others too.
    pub(super) fn learn(&mut self, candidate: &Candidate) {
        let misses = self.known.misses(&candidate.evaluator);
        let step = (misses.len() / LEARNT).max(1);
        misses.iter().step_by(step).for_each(|(tile, _)| self.isolated.take(&self.known, *tile));
    }

    /// The nearest candidate, changed once more by what it fails, first in what decides special results; itself where that is no nearer.
    pub(super) fn finish(&mut self, from: Candidate, work: u64) -> Candidate {
        self.guide_by(&from);
        let settled = settle(&self.guides, from.clone(), Effort::of(&self.known, work / 2));
        let refined = self.refine(settled, Steps::Single, work);
        if refined.penalty < from.penalty { refined } else { from }
    }

    /// Lets some of the tiles that a candidate fails guide the search; whether it fails any.
    fn guide_by(&mut self, candidate: &Candidate) -> bool {
        let misses = self.known.misses(&candidate.evaluator);
        let step = (misses.len() / ADDED).max(1);
        misses.iter().step_by(step).for_each(|(tile, _)| self.guides.take(&self.known, *tile));
        !misses.is_empty()
    }

    /// Climbs from a candidate, adding to the guides what the candidate fails of what is known; judged by all of that.
    pub(super) fn refine(&mut self, from: Candidate, steps: Steps, work: u64) -> Candidate {
        let mut best = from;
        let effort = Effort::of(&self.known, work);
        for _ in (0..ROUNDS).take_while(|_| interrupt::pending().is_none()) {
            best.judge(&self.guides, Measure::All);
            best = climb(&self.guides, best, effort);
            while best.penalty > 0
                && steps == Steps::Ahead
                && let Some(better) = look_ahead(&self.guides, &best, effort)
            {
                best = climb(&self.guides, better, effort);
            }
            if best.penalty > 0 || !self.guide_by(&best) {
                break;
            }
        }
        best.judge(&self.known, Measure::All);
        best
    }
}

/// A tree of nodes with what the rule of a shape says of all of them.
fn written_out(shape: &Table, mut tree: Table) -> Table {
    const OF_ALL: [&str; 7] =
        ["operand-subnormals", "result-subnormals", "result-tininess", "nan", "unpack", "unpack-c", "product-limit"];
    for key in OF_ALL {
        match shape.get(key) {
            Some(value) => tree.insert(key.into(), value.clone()),
            None => tree.remove(key),
        };
    }
    for (_, node) in tree.get_mut("node").and_then(Value::as_table_mut).into_iter().flatten() {
        let Some(node) = node.as_table_mut() else { continue };
        let adds = node.get("kind").and_then(Value::as_str) == Some("add");
        let own = shape.get("addition").filter(|_| adds).or(shape.get("result"));
        for (key, value) in [("result", own), ("alignment", shape.get("alignment").filter(|_| !adds))] {
            if let (Some(value), true) = (value, node.contains_key(key)) {
                node.insert(key.into(), value.clone());
            }
        }
    }
    tree
}

/// Climbs by ever more tiles: the first ones show the last step of a sum.
fn approach(pool: &Pool, start: Candidate) -> Candidate {
    let effort = Effort::of(pool, LITTLE);
    let mut best = start;
    let mut count = JUDGED;
    loop {
        let few = pool.first(count);
        best = climb(&few, best, effort);
        best.judge(&few, Measure::Ordinary);
        if count >= pool.len() {
            best.judge(pool, Measure::All);
            return best;
        }
        count *= 2;
    }
}

/// How a search climbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// By single changes.
    Single,
    /// By several that only together bring it nearer, too.
    Ahead,
}

/// Which of several rules is looked at first: plain fused sums, or chains where all is added in pairs, then those with fewest keys.
fn rank(rule: &Table, in_pairs: bool) -> (usize, usize) {
    let step = rule.get("step").and_then(Value::as_str).unwrap_or_default();
    let plain = !rule.contains_key("late") && !rule.contains_key("lanes");
    let usual: &[&str] = if in_pairs { &["fma", "sequential", "pairwise"] } else { &["fused"] };
    let place = usual.iter().position(|usual| plain && *usual == step).unwrap_or(usual.len());
    (place, keys(rule))
}

/// How many keys a rule has, those of its tables included.
fn keys(rule: &Table) -> usize {
    rule.values().map(|value| 1 + value.as_table().map_or(0, keys)).sum()
}

/// What a rule is like, whatever its numbers are.
fn kind(rule: &Table) -> String {
    let word = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let has = |key: &str| rule.contains_key(key).to_string();
    let keys = ["lanes", "late", "node", "addition", "scale-sums"].map(has).join(" ");
    [word("step"), word("start"), word("join"), word("c"), keys].join(" ")
}
