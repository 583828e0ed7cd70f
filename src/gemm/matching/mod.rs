//! Which schedule gives a matrix in every bit: candidates are judged on a few elements, the survivors on all.

mod candidates;
mod judge;
mod runs;
mod words;

use std::sync::Arc;

pub(super) use candidates::suited;
pub use words::{answer, remarks, together};

use super::{
    Differences, Executor, Extents, Factors, Matrix, Schedule,
    apart::{Apart, apart},
    compute::compute,
    sample::Sample,
};
use crate::{Result, base::interrupt, device::ModelDevice, isa::Instruction};
use candidates::{Suspect, arithmetics, scale_blocks, suspected, weight};
use judge::Score;

/// Rows and columns of the elements that every candidate is judged on, then those that are left, and so on.
const SAMPLES: [(usize, usize); 3] = [(1, 8), (8, 16), (32, 32)];
/// Of the candidates that do not give D, how many are looked at more closely for the nearest.
const NEAR: usize = 16;
/// The fewest elements of a row that are searched for a schedule of their own.
const FEWEST: usize = 4;
/// Of the survivors, how many are computed in full.
const MOST_MATCHES: usize = 64;

/// What a search for the schedules of a product found.
#[derive(Debug, Default)]
pub struct Matched {
    /// The schedules that give D in every bit, or the nearest.
    pub matches: Matches,
    /// Two schedules that together give every element, where none does.
    pub mixed: Option<Mixed>,
    /// A product that tells the schedules apart, where it was asked for and there are several.
    pub apart: Option<Apart>,
}

/// Finds the schedules that give `d`, or two that together do; with `tells_apart` also a product on which those that give it differ.
/// `matched` has what is known, also where an error ends the search.
///
/// # Errors
/// Formats that no instruction of the models multiplies; a device that fails; a signal.
pub fn search(
    suspects: &Suspects,
    factors: &Factors,
    d: &Matrix,
    tells_apart: bool,
    matched: &mut Matched,
    step: &dyn Fn(&str),
) -> Result<()> {
    find(suspects, factors, d, &mut matched.matches, step)?;
    matched.mixed = mixed(suspects, factors, d, &matched.matches, step)?;
    if tells_apart && matched.matches.found.len() > 1 {
        step("looking for a product that tells them apart");
        matched.apart = apart(&matched.matches.found, factors, d.format)?;
    }
    Ok(())
}

/// What a matrix product may have been made of.
#[derive(Debug, Clone)]
pub struct Suspects {
    /// The models.
    pub models: Vec<String>,
    /// The instructions; none: all that the models have for the formats of A and B.
    pub instructions: Vec<Instruction>,
    /// alpha and beta.
    pub factors: (f64, f64),
}

/// The arithmetic of an instruction in a model, and the instructions that have the same.
#[derive(Debug, Clone)]
pub struct SuspectedArithmetic {
    /// The model.
    pub model: String,
    /// The instruction.
    pub instruction: Instruction,
    /// Others with the same arithmetic, each with its model.
    pub alike: Vec<String>,
}

/// A schedule that was tried.
#[derive(Debug, Clone)]
pub struct MatchCandidate {
    /// The arithmetic.
    pub arithmetic: Arc<SuspectedArithmetic>,
    /// The schedule.
    pub schedule: Schedule,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Matches {
    /// How many schedules are tried, and of how many arithmetics.
    pub tried: usize,
    /// The arithmetics that they are of.
    pub arithmetics: usize,
    /// The nearest on the elements that were judged last, of a search that is not done.
    pub judged: Vec<Judged>,
    /// Those that give D in every bit, the simplest first.
    pub found: Vec<MatchCandidate>,
    /// How many more agreed on the elements that all are judged on, and were not computed in full.
    pub unchecked: usize,
    /// Where none gives D: the nearest, and where it differs.
    pub nearest: Option<(MatchCandidate, Differences)>,
}

/// A candidate that was judged on some elements of D.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The candidate.
    pub candidate: MatchCandidate,
    /// The elements.
    pub elements: usize,
    /// Those that it does not give.
    pub differing: usize,
}

/// Finds the schedules that give `d`; `step` is told what is being done. Whatever ends the search, `matches` has what was found until then.
///
/// # Errors
/// Matrices that do not fit, formats that no instruction of the models multiplies, [`Error::Interrupted`](crate::Error::Interrupted).
pub fn find(
    suspects: &Suspects,
    factors: &Factors,
    d: &Matrix,
    matches: &mut Matches,
    step: &dyn Fn(&str),
) -> Result<()> {
    Extents { d: Some((d.rows, d.columns)), ..factors.extents() }.fit()?;
    let blocks = scale_blocks(factors)?;
    let arithmetics = arithmetics(suspects, factors, d.format)?;
    step(&format!("{} arithmetics", arithmetics.len()));
    let mut left = suspected(&arithmetics, suspects, factors, d.format, blocks)?;
    (matches.tried, matches.arithmetics) = (left.len(), arithmetics.len());
    let mut agreeing = 0;
    for (seed, extents) in SAMPLES.into_iter().enumerate() {
        interrupt::check()?;
        let sample = Sample::new(factors, d, extents, seed as u64, blocks.as_ref());
        let mut judged = Vec::new();
        let outcome = sample.judge(left, &mut judged);
        // The simplest first, of those that are as near.
        judged.sort_by_cached_key(|(score, suspect)| (*score, weight(&suspect.candidate.schedule)));
        let elements = sample.d.codes.len();
        if outcome.is_ok() || matches.judged.is_empty() {
            let near = |(score, suspect): &(Score, Suspect)| Judged {
                candidate: suspect.candidate.clone(),
                elements,
                differing: score.differing(),
            };
            matches.judged = judged.iter().take(NEAR).map(near).collect();
        }
        outcome?;
        agreeing = judged.iter().filter(|(score, _)| score.agrees()).count();
        step(&format!("{agreeing} of {} schedules agree on {elements} elements", matches.tried));
        let kept = if agreeing > 0 { agreeing } else { NEAR };
        left = judged.into_iter().take(kept).map(|(_, suspect)| suspect).collect();
    }
    for (at, Suspect { candidate, .. }) in left.iter().take(agreeing.clamp(1, MOST_MATCHES)).enumerate() {
        interrupt::check()?;
        matches.unchecked = agreeing.saturating_sub(at);
        step(&format!("computing {}", candidate.schedule.sentence(factors.k())));
        let differences = Differences::between(&whole(candidate, factors)?, d)?;
        if differences.differing == 0 {
            matches.found.push(candidate.clone());
        } else if matches.nearest.as_ref().is_none_or(|(_, other)| differences.differing < other.differing) {
            matches.nearest = Some((candidate.clone(), differences));
        }
    }
    matches.unchecked = agreeing.saturating_sub(MOST_MATCHES);
    matches.judged.clear();
    if !matches.found.is_empty() {
        matches.nearest = None;
    }
    Ok(())
}

/// Two schedules of one product: some of its elements are made by the one, the others by the other, as where a library has another kernel for
/// what is left at the edges.
#[derive(Debug, Clone)]
pub struct Mixed {
    /// The schedule of most elements.
    pub first: MatchCandidate,
    /// That of the others.
    pub second: MatchCandidate,
    /// Where the first does not give D.
    pub others: Differences,
    /// The elements that the second gives.
    pub by_second: usize,
    /// Of each element, row by row, whether the first gives it.
    by_first: Vec<bool>,
}

impl Mixed {
    /// The schedule of an element: the first, if that gives it. Panics if there is no such element.
    pub fn of(&self, element: usize) -> &MatchCandidate {
        if self.by_first[element] { &self.first } else { &self.second }
    }
}

/// Where no schedule gives `d`: the nearest one and another which together give every element, if the one that is found for a row of what is
/// left does.
///
/// # Errors
/// As [`find`].
pub fn mixed(
    suspects: &Suspects,
    factors: &Factors,
    d: &Matrix,
    matches: &Matches,
    step: &dyn Fn(&str),
) -> Result<Option<Mixed>> {
    let Some((first, others)) =
        matches.nearest.as_ref().filter(|_| scale_blocks(factors).is_ok_and(|own| own.is_none()))
    else {
        return Ok(None);
    };
    let near = whole(first, factors)?;
    let differs = |row: usize, column: usize| near.get(row, column) != d.get(row, column);
    let left = |row: usize| (0..d.columns).filter(|column| differs(row, *column)).collect::<Vec<usize>>();
    let Some(row) = others.rows.iter().copied().max_by_key(|row| left(*row).len()) else { return Ok(None) };
    let columns = left(row);
    if columns.len() < FEWEST {
        return Ok(None);
    }
    step(&format!("looking for the schedule of what the nearest does not give: row {row}"));
    let mut part = Matches::default();
    find(suspects, &factors.chosen(&[row], &columns, None), &d.chosen(&[row], &columns), &mut part, step)?;
    for second in part.found.iter().take(NEAR) {
        let own = whole(second, factors)?;
        let codes = || near.codes.iter().zip(own.codes.iter()).zip(d.codes.iter());
        if codes().all(|((x, y), d)| x == d || y == d) {
            let by_second = codes().filter(|((_, y), d)| y == d).count();
            let by_first = codes().map(|((x, _), d)| x == d).collect();
            let (first, second, others) = (first.clone(), second.clone(), others.clone());
            return Ok(Some(Mixed { first, second, others, by_second, by_first }));
        }
    }
    Ok(None)
}

/// D of a candidate.
fn whole(candidate: &MatchCandidate, factors: &Factors) -> Result<Matrix> {
    let factors = suited(factors, &candidate.schedule)?;
    let mut device = ModelDevice::open(&candidate.arithmetic.model)?;
    let (m, n) = (factors.a.rows, factors.b.columns);
    let mut executor = Executor::of(&mut device, &candidate.schedule, m, n)?;
    compute(&candidate.schedule, &mut executor, &factors, &|_| ())
}
