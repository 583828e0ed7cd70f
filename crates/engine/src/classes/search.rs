//! Search for inputs that fill holes: corners, the adversarial stream, then changed cases.

use super::{ClassKind, ClassStep, Classes, Counts};
use crate::{
    Result,
    base::{interrupt, parallel},
    format::Format,
    inputs::{Corners, Sequence, random},
    isa::{Case, Instruction},
};

/// Inputs of a batch, between two looks at an interruption.
const BATCH: usize = 1 << 11;
/// Share of the inputs that the stream gives; the others are changes of cases.
const STREAMED: usize = 4;
/// Most changes of a case.
const CHANGES: u64 = 3;

/// The inputs that fill holes, and the length of the search.
#[derive(Debug, Clone)]
pub struct Filled {
    /// For each class of the list: an input, if the cases had none and the search has one.
    pub inputs: Vec<Option<Case>>,
    /// Inputs that were tried.
    pub tried: u64,
}

/// Searches at most `limit` inputs for the classes without a case in `counts`.
/// An interruption ends the search, and `filled` has its inputs so far.
///
/// # Errors
/// An interruption.
pub fn fill(classes: &Classes, counts: &Counts, seed: u64, limit: u64, filled: &mut Filled) -> Result<()> {
    let mut search = Search {
        classes,
        known: counts.classes.iter().map(|class| class.first.as_ref().map(|(_, case)| case.clone())).collect(),
        holes: (0..counts.classes.len()).filter(|at| counts.classes[*at].cases == 0).collect(),
        filled,
    };
    search.filled.inputs = vec![None; counts.classes.len()];
    let outcome = search.run(seed, limit);
    let inputs = std::mem::take(&mut search.filled.inputs);
    search.filled.inputs =
        parallel::map(inputs.into_iter().enumerate(), |(at, input)| Some(simplified(classes, at, input?)));
    outcome
}

struct Search<'a> {
    classes: &'a Classes,
    /// A case of each class, if there is one.
    known: Vec<Option<Case>>,
    holes: Vec<usize>,
    filled: &'a mut Filled,
}

impl Search<'_> {
    fn run(&mut self, seed: u64, limit: u64) -> Result<()> {
        let i = self.classes.instruction().clone();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut corners = Corners::cases(&i);
        corners.truncate(limit);
        self.take(corners)?;
        let each = i.m * i.n;
        let streamed = limit.saturating_sub(self.filled.tried as usize) / STREAMED / each;
        for first in (0..streamed).step_by((BATCH / each).max(1)) {
            if self.holes.is_empty() {
                return Ok(());
            }
            let count = (BATCH / each).max(1).min(streamed - first);
            // Another seed than that of the cases, whose tiles are known.
            let tiles = Sequence::Random { seed: !seed }.tiles(&i, first as u64, count);
            let places = (0..count * each).map(|at| tiles.case(&i, at / each, at % each / i.n, at % i.n));
            self.take(places.collect())?;
        }
        while !self.holes.is_empty() && (self.filled.tried as usize) < limit {
            let count = BATCH.min(limit - self.filled.tried as usize);
            let first = self.filled.tried;
            let bases: Vec<Vec<usize>> = self.holes.iter().map(|hole| self.near(*hole)).collect();
            if bases.iter().all(Vec::is_empty) {
                return Ok(());
            }
            let batch = parallel::map(0..count, |at| {
                let mut drawn = Drawn { seed, place: (first + at as u64) << 6 };
                let near = &bases[at % bases.len()];
                let known = near.get(drawn.below(near.len())).and_then(|base| self.known[*base].as_ref());
                changed(&i, known.cloned().unwrap_or_else(|| Case::zeros(&i)), self.classes, &mut drawn)
            });
            self.take(batch)?;
        }
        Ok(())
    }

    /// Classes whose cases are changed for a hole: of its kind, of its step, else all.
    fn near(&self, hole: usize) -> Vec<usize> {
        let (step, kind) = self.classes.list()[hole];
        let like = |other: &(ClassStep, ClassKind)| std::mem::discriminant(&other.1) == std::mem::discriminant(&kind);
        let known = |at: &usize| self.known[*at].is_some();
        let all = || (0..self.known.len()).filter(known);
        let alike: Vec<usize> =
            all().filter(|at| self.classes.list()[*at].0 == step && like(&self.classes.list()[*at])).collect();
        let of_step: Vec<usize> = all().filter(|at| self.classes.list()[*at].0 == step).collect();
        // Half of the draws are of the nearest kind.
        let repeats = of_step.len() / alike.len().max(1);
        let near: Vec<usize> = alike.iter().copied().cycle().take(alike.len() * repeats).chain(of_step).collect();
        if near.is_empty() { all().collect() } else { near }
    }

    /// Classifies inputs, and keeps those that fill a hole.
    fn take(&mut self, inputs: Vec<Case>) -> Result<()> {
        interrupt::check()?;
        let all_places = parallel::map(&inputs, |case| self.classes.of(case).places);
        self.filled.tried += inputs.len() as u64;
        for (case, places) in inputs.iter().zip(all_places) {
            for at in places {
                if self.known[at].is_none() {
                    self.known[at] = Some(case.clone());
                    self.filled.inputs[at] = Some(case.clone());
                    self.holes.retain(|hole| *hole != at);
                }
            }
        }
        Ok(())
    }
}

/// Random numbers of an input.
struct Drawn {
    seed: u64,
    place: u64,
}

impl Drawn {
    fn next(&mut self) -> u64 {
        self.place += 1;
        random(self.seed, self.place)
    }

    fn below(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.next() % count as u64) as usize }
    }
}

/// The case with one to three operands changed.
fn changed(i: &Instruction, mut case: Case, classes: &Classes, drawn: &mut Drawn) -> Case {
    for _ in 0..=drawn.below(CHANGES as usize) {
        let (at, from) = (drawn.below(case.a.len()), drawn.below(case.a.len()));
        let (k, from_k) = (case.logical(i, at), case.logical(i, from));
        match drawn.below(9) {
            0 | 1 => case.a[at] = code(i.a, case.a[at], drawn),
            2 | 3 => case.b[k] = code(i.b, case.b[k], drawn),
            4 => case.c = code(i.c, case.c, drawn),
            // The negative of another product.
            5 => {
                case.a[at] = case.a[from] ^ sign(i.a);
                case.b[k] = case.b[from_k];
            }
            6 => (case.a[at], case.b[k]) = (0, 0),
            // One product at all positions, which carries most.
            7 => {
                let (a, b) = (case.a[from], case.b[from_k]);
                case.a.fill(a);
                case.b.fill(b);
            }
            // The negative of the sum, which cancels.
            _ if i.c == i.d && !i.c.is_integer() => {
                case.c = 0;
                case.c = classes.evaluator().dot(&case) ^ sign(i.c);
            }
            _ => case.c = 0,
        }
        if let Some(scale) = i.scale {
            let block = drawn.below(case.scale_a.len());
            match drawn.below(8) {
                0 => case.scale_a[block] = code(scale.format, case.scale_a[block], drawn),
                1 => case.scale_b[block] = code(scale.format, case.scale_b[block], drawn),
                _ => {}
            }
        }
    }
    case
}

fn sign(format: &Format) -> u64 {
    let mask = format.code_mask();
    if format.is_signed() && !format.is_integer() { mask ^ mask >> 1 } else { 0 }
}

/// Another code: any, with a bit or the exponent changed, or an extreme.
fn code(format: &Format, before: u64, drawn: &mut Drawn) -> u64 {
    let mask = format.code_mask();
    let unit = 1u64 << format.fraction_bits();
    match drawn.below(6) {
        0 => drawn.next() & mask,
        1 => before ^ 1 << drawn.below(format.bits as usize),
        2 => before.wrapping_add(unit) & mask,
        3 => before.wrapping_sub(unit) & mask,
        4 => before ^ sign(format),
        _ => {
            let (smallest, below_normal) = format.subnormals().unwrap_or((0, 0));
            let extremes = [
                Some(0),
                Some(smallest),
                Some(below_normal),
                Some(format.smallest_normal()),
                Some(format.largest(false)),
                format.infinity(false),
                format.nan(),
            ];
            let extreme = extremes[drawn.below(extremes.len())].unwrap_or(0);
            if drawn.below(2) == 0 { extreme } else { extreme ^ sign(format) }
        }
    }
}

/// The input without the operands that its class does not need.
fn simplified(classes: &Classes, class: usize, mut case: Case) -> Case {
    let i = classes.instruction();
    let has = |case: &Case| classes.of(case).places.contains(&class);
    for at in 0..case.a.len() {
        let k = case.logical(i, at);
        let (a, b) = (case.a[at], case.b[k]);
        (case.a[at], case.b[k]) = (0, 0);
        if (a, b) != (0, 0) && !has(&case) {
            (case.a[at], case.b[k]) = (a, b);
        }
    }
    let c = std::mem::take(&mut case.c);
    if c != 0 && !has(&case) {
        case.c = c;
    }
    case
}
