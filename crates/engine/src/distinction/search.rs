//! The search for inputs on which two sides differ, and for the reasons that explain each difference.

use std::cmp::Reverse;

use super::{
    answers::{Answerer, Evaluators, InputBatch},
    kind::DifferenceKind,
    rules::{RuleSide, Rules},
};
use crate::{
    Error, Result,
    base::interrupt,
    comparison::{
        Complexity,
        shrink::{BUDGET, shrink},
    },
    format::Format,
    inputs::{Corners, stream},
    isa::{Case, Codes, Instruction},
};

/// Corners in a batch.
const CORNERS: usize = 1 << 12;
/// Outputs in the first batch of the stream.
const FIRST_TILES: usize = 1 << 10;
/// Outputs in the largest batch of the stream.
const MOST_TILES: usize = 1 << 15;
/// Inputs kept for each suspected reason, from which the reduction starts.
const KEPT: usize = 3;
/// Largest number of differing inputs of a batch whose costs are compared.
const WEIGHED: usize = 64;

/// A suspected reason: keys of two rules, or a kind of difference.
pub(super) struct SuspectedReason {
    /// The keys; empty where no rules are known.
    pub(super) keys: Vec<String>,
    /// The kind of difference that it covers; `None` for all kinds.
    pub(super) kind: Option<DifferenceKind>,
    /// Each rule with the other's values of the keys; `None` where the rules differ in these keys only.
    pub(super) between: Option<[Evaluators; 2]>,
}

/// How well a reason explains a difference, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Explains {
    /// The first rule with the second's value gives the second's result.
    Suffices,
    /// The second rule with the first's value gives the first's result.
    IsNeeded,
    /// Both.
    Alone,
}

/// An input that confirms a suspected reason.
#[derive(Debug, Clone)]
pub(super) struct SuspectWitness {
    pub(super) explains: Explains,
    pub(super) case: Case,
    /// D of both sides.
    pub(super) d: [u64; 2],
}

/// The best inputs so far for a suspected reason.
#[derive(Default)]
struct Starts(Vec<(Reverse<Explains>, Complexity, SuspectWitness)>);

impl Starts {
    fn add(&mut self, i: &Instruction, shown: SuspectWitness) {
        self.0.push((Reverse(shown.explains), Complexity::of(i, &shown.case), shown));
        self.0.sort_by(|x, y| (x.0, &x.1).cmp(&(y.0, &y.1)));
        let best = self.0[0].0;
        self.0.retain(|(explains, ..)| *explains == best);
        self.0.truncate(KEPT);
    }

    /// True if the search for better inputs may end.
    fn are_enough(&self) -> bool {
        self.0.first().is_some_and(|(explains, ..)| explains.0 == Explains::Alone)
    }
}

impl SuspectedReason {
    /// True if it covers the difference between `dx` and `dy`.
    fn is_of(&self, d: &Format, dx: u64, dy: u64) -> bool {
        self.kind.is_none_or(|kind| kind == DifferenceKind::between(d, dx, dy))
    }

    /// How well it explains the results `[dx, dy]`, given the results of the rules between.
    fn explains(&self, d: &Format, [dx, dy]: [u64; 2], between: Option<[u64; 2]>) -> Option<Explains> {
        if !self.is_of(d, dx, dy) {
            return None;
        }
        let Some([from_x, from_y]) = between else { return Some(Explains::Alone) };
        match (from_x == dy, from_y == dx) {
            (true, true) => Some(Explains::Alone),
            (false, true) => Some(Explains::IsNeeded),
            (true, false) => Some(Explains::Suffices),
            (false, false) => None,
        }
    }
}

/// The inputs for the shared operands `i`: the corners, then `cases` cases of the stream, in batches.
pub(super) fn inputs(i: &Instruction, seed: u64, cases: u64) -> impl Iterator<Item = InputBatch> + use<> {
    let mut corners = Corners::cases(i);
    let mut batches = Vec::new();
    while !corners.is_empty() {
        let rest = corners.split_off(corners.len().min(CORNERS));
        batches.push(InputBatch::Cases(std::mem::replace(&mut corners, rest)));
    }
    let (each, i) = ((i.m * i.n) as u64, i.clone());
    let (mut from, mut outputs) = (0, FIRST_TILES as u64);
    let streamed = std::iter::from_fn(move || {
        let to = (from + (outputs / each).max(1)).min(cases.div_ceil(each));
        let tiles = (to > from).then(|| stream::tiles(&i, seed, from, (to - from) as usize))?;
        (from, outputs) = (to, (outputs * 4).min(MOST_TILES as u64));
        Some(InputBatch::Tiles(Box::new(i.clone()), tiles))
    });
    batches.into_iter().chain(streamed)
}

/// The result of a search.
pub(super) struct WitnessesFound {
    /// The simplest input for each suspected reason.
    pub(super) shown: Vec<Option<SuspectWitness>>,
    /// Number of inputs that both sides answered.
    pub(super) tried: u64,
    /// Number of inputs with different results.
    pub(super) differing: u64,
    /// The failure or interruption that ended the search; witnesses may then not be reduced.
    pub(super) stopped: Option<Error>,
}

/// Two sources of answers, and the operands that they share.
pub(super) struct AnsweringPair<'a> {
    pub(super) i: Instruction,
    pub(super) answerers: [Answerer<'a>; 2],
}

impl AnsweringPair<'_> {
    /// Searches `inputs` for witnesses of each suspected reason, and reduces them.
    ///
    /// The search ends early once every suspected reason alone explains a difference.
    ///
    /// # Errors
    /// A failure or an interruption before the first answer.
    pub(super) fn search(
        &mut self,
        suspects: &[SuspectedReason],
        inputs: impl Iterator<Item = InputBatch>,
    ) -> Result<WitnessesFound> {
        let (mut tried, mut differing, mut stopped) = (0, 0, None);
        let mut starts: Vec<Starts> = suspects.iter().map(|_| Starts::default()).collect();
        for batch in inputs {
            let [x, y] = match interrupt::check().and_then(|()| self.both(&batch)) {
                Ok(both) => both,
                Err(error) if tried == 0 => return Err(error),
                Err(error) => {
                    stopped = Some(error);
                    break;
                }
            };
            tried += batch.len() as u64;
            if x.as_bytes() == y.as_bytes() {
                continue;
            }
            let places: Vec<usize> = (0..batch.len()).filter(|at| x.get(*at) != y.get(*at)).collect();
            differing += places.len() as u64;
            for (suspect, starts) in suspects.iter().zip(&mut starts).filter(|(_, starts)| !starts.are_enough()) {
                let between =
                    suspect.between.as_ref().map(|both| both.each_ref().map(|evaluators| evaluators.answers(&batch)));
                let explains = |at: usize| {
                    let between = between.as_ref().map(|both| both.each_ref().map(|codes| codes.get(at)));
                    suspect.explains(self.i.d, [x.get(at), y.get(at)], between)
                };
                let mut shown: Vec<(Explains, usize)> =
                    places.iter().filter_map(|at| Some((explains(*at)?, *at))).collect();
                let Some(best) = shown.iter().map(|(explains, _)| *explains).max() else { continue };
                shown.retain(|(explains, _)| *explains == best);
                let step = shown.len().div_ceil(WEIGHED);
                let shown = shown.iter().step_by(step).map(|(_, at)| *at);
                let shown =
                    shown.map(|at| SuspectWitness { explains: best, case: batch.case(at), d: [x.get(at), y.get(at)] });
                shown.for_each(|shown| starts.add(&self.i, shown));
            }
            if !suspects.is_empty() && starts.iter().all(Starts::are_enough) {
                break;
            }
        }
        let mut shown = Vec::new();
        for (suspect, starts) in suspects.iter().zip(starts) {
            let first = starts.0.first().map(|(.., shown)| shown.clone());
            let reduced = if stopped.is_none() { self.reduced(suspect, starts) } else { Ok(first.clone()) };
            shown.push(reduced.unwrap_or_else(|error| {
                stopped = Some(error);
                first
            }));
        }
        Ok(WitnessesFound { shown, tried, differing, stopped })
    }

    /// The answers of both sides.
    fn both(&mut self, inputs: &InputBatch) -> Result<[Codes; 2]> {
        let [x, y] = &mut self.answerers;
        Ok([x.answers(inputs)?, y.answers(inputs)?])
    }

    /// The answers of both sides to one case in a separate tile.
    fn alone(&mut self, case: &Case) -> Result<[u64; 2]> {
        let case = std::slice::from_ref(case);
        let [x, y] = &mut self.answerers;
        Ok([x.alone(case)?.get(0), y.alone(case)?.get(0)])
    }

    /// The simplest witness that the kept inputs are reduced to.
    fn reduced(&mut self, suspect: &SuspectedReason, starts: Starts) -> Result<Option<SuspectWitness>> {
        let mut best: Option<(Complexity, SuspectWitness)> = None;
        for (.., start) in starts.0 {
            let Some(shown) = self.reduced_alone(suspect, &start)? else { continue };
            let cost = Complexity::of(&self.i, &shown.case);
            if best.as_ref().is_none_or(|(known, _)| cost < *known) {
                best = Some((cost, shown));
            }
        }
        Ok(best.map(|(_, shown)| shown))
    }

    /// Reduces one input, as long as the reason explains the difference as well.
    fn reduced_alone(&mut self, suspect: &SuspectedReason, start: &SuspectWitness) -> Result<Option<SuspectWitness>> {
        let SuspectWitness { explains: wanted, case, .. } = start;
        let i = self.i.clone();
        // Shared tiles are faster, but a separate tile may not confirm the result.
        for alone in [false, true] {
            let mut first = |cases: &[Case]| {
                let [x, y] = &mut self.answerers;
                let [x, y] = match alone {
                    true => [x.alone(cases)?, y.alone(cases)?],
                    false => {
                        let cases = InputBatch::Cases(cases.to_vec());
                        [x.answers(&cases)?, y.answers(&cases)?]
                    }
                };
                let shows = |at: &usize| {
                    let d = [x.get(*at), y.get(*at)];
                    let one = || {
                        suspect
                            .between
                            .as_ref()
                            .map(|both| both.each_ref().map(|evaluators| evaluators.one(&cases[*at])))
                    };
                    d[0] != d[1] && suspect.explains(i.d, d, one()) >= Some(*wanted)
                };
                Ok((0..cases.len()).find(shows))
            };
            if let Some(least) = shrink(&i, case, BUDGET, &mut first)? {
                let [x, y] = self.alone(&least)?;
                let confirmed = x != y && suspect.is_of(i.d, x, y);
                if confirmed {
                    return Ok(Some(SuspectWitness { explains: *wanted, case: least, d: [x, y] }));
                }
            }
        }
        Ok(None)
    }
}

/// One suspected reason for each kind of difference, with all `keys`.
pub(super) fn by_kind(keys: &[String]) -> Vec<SuspectedReason> {
    DifferenceKind::ALL.map(|kind| SuspectedReason { keys: keys.to_vec(), kind: Some(kind), between: None }).into()
}

/// The suspected reasons: each key alone where the language allows it, all other keys together.
pub(super) fn suspects(rules: &Rules) -> Vec<SuspectedReason> {
    let mut suspects = Vec::new();
    let mut together = Vec::new();
    for key in rules.keys() {
        let keys = vec![key];
        let between = [RuleSide::X, RuleSide::Y].map(|which| rules.between(which, &keys));
        match between {
            [Some(from_x), Some(from_y)] => {
                suspects.push(SuspectedReason { keys, kind: None, between: Some([from_x, from_y]) });
            }
            _ => together.extend(keys),
        }
    }
    if !together.is_empty() {
        let between = [RuleSide::X, RuleSide::Y].map(|which| rules.between(which, &together));
        match between {
            [Some(from_x), Some(from_y)] if !suspects.is_empty() => {
                suspects.push(SuspectedReason { keys: together, kind: None, between: Some([from_x, from_y]) });
            }
            // The language has no rule between the two.
            _ => return by_kind(&rules.keys()),
        }
    }
    suspects
}
