//! Looking for inputs on which two answer differently, and for which of them each suspected reason is enough.

use std::cmp::Reverse;

use super::{
    answers::{Answerer, Arithmetic, Inputs},
    kind::DifferenceKind,
    rules::{Rules, Which},
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

/// Corners that are asked about at a time.
const CORNERS: usize = 1 << 12;
/// Outputs of the first tiles of the stream, and of the most at a time.
const FIRST_TILES: usize = 1 << 10;
const MOST_TILES: usize = 1 << 15;
/// Starting points that are kept of each suspect.
const KEPT: usize = 3;
/// Differing inputs of a batch whose cost is compared.
const WEIGHED: usize = 64;

/// What may be a reason: keys of two rules, or all that two arithmetics are.
pub(super) struct Suspect {
    /// The keys; none where nothing is known but that answers differ.
    pub(super) keys: Vec<String>,
    /// The kind of differences that it is looked for in; `None`: in all.
    pub(super) kind: Option<DifferenceKind>,
    /// Each of the two arithmetics with the other's values of the keys; `None` where the keys are all that they differ in.
    pub(super) between: Option<[Arithmetic; 2]>,
}

/// How far a suspect explains that answers differ: the greater, the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Explains {
    /// The first arithmetic with the other's value gives the other's result.
    Suffices,
    /// The second arithmetic with the first's value gives the first's result.
    IsNeeded,
    /// Both.
    Alone,
}

/// An input that shows a suspect to be a reason.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) explains: Explains,
    pub(super) case: Case,
    /// What both answer.
    pub(super) d: [u64; 2],
}

/// The inputs that show a suspect.
#[derive(Default)]
struct Starts(Vec<(Reverse<Explains>, Complexity, Shown)>);

impl Starts {
    fn add(&mut self, i: &Instruction, shown: Shown) {
        self.0.push((Reverse(shown.explains), Complexity::of(i, &shown.case), shown));
        self.0.sort_by(|x, y| (x.0, &x.1).cmp(&(y.0, &y.1)));
        let best = self.0[0].0;
        self.0.retain(|(explains, ..)| *explains == best);
        self.0.truncate(KEPT);
    }

    /// Whether nothing better is looked for.
    fn are_enough(&self) -> bool {
        self.0.first().is_some_and(|(explains, ..)| explains.0 == Explains::Alone)
    }
}

impl Suspect {
    /// Whether results that differ do so in a way that it is looked for in.
    fn is_of(&self, d: &Format, dx: u64, dy: u64) -> bool {
        self.kind.is_none_or(|kind| kind == DifferenceKind::between(d, dx, dy))
    }

    /// How far it explains that x and y answer `[dx, dy]`, which differ; the answers of what is between are asked for where they are.
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

/// The inputs that two with these shared operands are asked: corners, then so many cases of the stream, in batches.
pub(super) fn inputs(i: &Instruction, seed: u64, cases: u64) -> impl Iterator<Item = Inputs> + use<> {
    let mut corners = Corners::cases(i);
    let mut batches = Vec::new();
    while !corners.is_empty() {
        let rest = corners.split_off(corners.len().min(CORNERS));
        batches.push(Inputs::Cases(std::mem::replace(&mut corners, rest)));
    }
    let (each, i) = ((i.m * i.n) as u64, i.clone());
    let (mut from, mut outputs) = (0, FIRST_TILES as u64);
    let streamed = std::iter::from_fn(move || {
        let to = (from + (outputs / each).max(1)).min(cases.div_ceil(each));
        let tiles = (to > from).then(|| stream::tiles(&i, seed, from, (to - from) as usize))?;
        (from, outputs) = (to, (outputs * 4).min(MOST_TILES as u64));
        Some(Inputs::Tiles(Box::new(i.clone()), tiles))
    });
    batches.into_iter().chain(streamed)
}

/// What a search found.
pub(super) struct WitnessesFound {
    /// For each suspect the simplest input that shows it.
    pub(super) shown: Vec<Option<Shown>>,
    /// Inputs that both were asked.
    pub(super) tried: u64,
    /// How many of them differ.
    pub(super) differing: u64,
    /// What ended the search early: a device failed; an interruption. What is shown may then not be reduced.
    pub(super) stopped: Option<Error>,
}

/// Two that answer, and the operands that they share.
pub(super) struct Two<'a> {
    pub(super) i: Instruction,
    pub(super) answerers: [Answerer<'a>; 2],
}

impl Two<'_> {
    /// Looks among `inputs` for those that show each suspect, and reduces them. It ends where every suspect is shown to explain a
    /// difference alone (never, where there is none).
    ///
    /// # Errors
    /// A device fails before the first answer; an interruption before it.
    pub(super) fn search(
        &mut self,
        suspects: &[Suspect],
        inputs: impl Iterator<Item = Inputs>,
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
                let between = suspect.between.as_ref().map(|both| both.each_ref().map(|own| own.answers(&batch)));
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
                let shown = shown.map(|at| Shown { explains: best, case: batch.case(at), d: [x.get(at), y.get(at)] });
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

    /// The answers of both.
    fn both(&mut self, inputs: &Inputs) -> Result<[Codes; 2]> {
        let [x, y] = &mut self.answerers;
        Ok([x.answers(inputs)?, y.answers(inputs)?])
    }

    /// The answers of both to one case, which has a tile to itself.
    ///
    /// # Errors
    /// A device fails.
    fn alone(&mut self, case: &Case) -> Result<[u64; 2]> {
        let case = std::slice::from_ref(case);
        let [x, y] = &mut self.answerers;
        Ok([x.alone(case)?.get(0), y.alone(case)?.get(0)])
    }

    /// The simplest of the inputs that some starting points of a suspect are reduced to.
    fn reduced(&mut self, suspect: &Suspect, starts: Starts) -> Result<Option<Shown>> {
        let mut best: Option<(Complexity, Shown)> = None;
        for (.., start) in starts.0 {
            let Some(shown) = self.reduced_alone(suspect, &start)? else { continue };
            let cost = Complexity::of(&self.i, &shown.case);
            if best.as_ref().is_none_or(|(known, _)| cost < *known) {
                best = Some((cost, shown));
            }
        }
        Ok(best.map(|(_, shown)| shown))
    }

    /// The minimal case that one is reduced to, on which the suspect explains as much.
    fn reduced_alone(&mut self, suspect: &Suspect, start: &Shown) -> Result<Option<Shown>> {
        let Shown { explains: wanted, case, .. } = start;
        let i = self.i.clone();
        // Cases that share the tile of a device are a shortcut, which a tile of its own may not confirm.
        for alone in [false, true] {
            let mut first = |cases: &[Case]| {
                let [x, y] = &mut self.answerers;
                let [x, y] = match alone {
                    true => [x.alone(cases)?, y.alone(cases)?],
                    false => {
                        let cases = Inputs::Cases(cases.to_vec());
                        [x.answers(&cases)?, y.answers(&cases)?]
                    }
                };
                let shows = |at: &usize| {
                    let d = [x.get(*at), y.get(*at)];
                    let one = || suspect.between.as_ref().map(|both| both.each_ref().map(|own| own.one(&cases[*at])));
                    d[0] != d[1] && suspect.explains(i.d, d, one()) >= Some(*wanted)
                };
                Ok((0..cases.len()).find(shows))
            };
            if let Some(least) = shrink(&i, case, BUDGET, &mut first)? {
                let [x, y] = self.alone(&least)?;
                let confirmed = x != y && suspect.is_of(i.d, x, y);
                if confirmed {
                    return Ok(Some(Shown { explains: *wanted, case: least, d: [x, y] }));
                }
            }
        }
        Ok(None)
    }
}

/// All that two arithmetics are (of rules the keys in which they differ), for each kind of difference.
pub(super) fn by_kind(keys: &[String]) -> Vec<Suspect> {
    DifferenceKind::ALL.map(|kind| Suspect { keys: keys.to_vec(), kind: Some(kind), between: None }).into()
}

/// The suspects of two rules: each key on its own where the language allows that, the others together.
pub(super) fn suspects(rules: &Rules) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    let mut together = Vec::new();
    for key in rules.keys() {
        let keys = vec![key];
        let between = [Which::X, Which::Y].map(|which| rules.between(which, &keys));
        match between {
            [Some(from_x), Some(from_y)] => {
                suspects.push(Suspect { keys, kind: None, between: Some([from_x, from_y]) });
            }
            _ => together.extend(keys),
        }
    }
    if !together.is_empty() {
        let between = [Which::X, Which::Y].map(|which| rules.between(which, &together));
        match between {
            [Some(from_x), Some(from_y)] if !suspects.is_empty() => {
                suspects.push(Suspect { keys: together, kind: None, between: Some([from_x, from_y]) });
            }
            // Nothing is between the two.
            _ => return by_kind(&rules.keys()),
        }
    }
    suspects
}
