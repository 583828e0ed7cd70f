//! Search for the schedule of a matrix: candidates are judged on a few elements, survivors on all.

mod candidates;
mod judge;
mod runs;
mod words;

use std::{path::Path, sync::Arc};

pub(super) use candidates::suited;
pub use words::{answer, remarks, together};

use super::{
    Differences, Executor, Extents, Factors, Matrix, Schedule,
    apart::{Apart, apart},
    compute::compute,
    sample::Sample,
};
use crate::{Result, base::interrupt, device::ModelDevice, isa::Instruction};
use candidates::{FamilyMember, arithmetics, scale_blocks, suspected, weight};
use judge::MatchScore;

/// Rows and columns of the judged elements: for every candidate, then for the survivors, and so on.
const SAMPLES: [(usize, usize); 3] = [(1, 8), (8, 16), (32, 32)];
/// Candidates that stay in the search for the nearest, where none gives D.
const NEAR: usize = 16;
/// Fewest elements of a row that are searched for a second schedule.
const FEWEST: usize = 4;
/// Survivors that are computed in full.
const MOST_MATCHES: usize = 64;

/// Result of a search for the schedules of a product.
#[derive(Debug, Default)]
pub struct Matched {
    /// The schedules that give D in every bit, or the nearest.
    pub matches: Matches,
    /// Two schedules that together give every element, where none does.
    pub mixed: Option<Mixed>,
    /// A product that separates the schedules, if it was asked for.
    pub apart: Option<Apart>,
}

impl Matched {
    /// The note about the product of `--apart` in the file at `path`.
    pub fn apart_note(&self, path: &Path) -> String {
        let (file, schedules) = (path.display(), self.matches.found.len());
        match &self.apart {
            None if schedules < 2 => format!("{file} was not written: there are no two schedules to separate."),
            None => {
                format!("{file} was not written: the {schedules} schedules give the same D for every product tried.")
            }
            Some(apart) => {
                let groups = match apart.count() == schedules {
                    true => format!("each of the {schedules} schedules gives another D"),
                    false => format!("the {schedules} schedules give {} different D", apart.count()),
                };
                format!("For A and B in {file}, {groups}. Multiply {file}:a and {file}:b as before, and match that D.")
            }
        }
    }
}

/// Finds the schedules that give `d`, or two that do together; optionally a product to separate them.
///
/// `matched` has the results so far, also where an error ends the search.
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
        step("looking for a product that separates them");
        matched.apart = apart(&matched.matches.found, factors, d.format)?;
    }
    Ok(())
}

/// Arithmetics that may have made a product.
#[derive(Debug, Clone)]
pub struct Suspects {
    /// The models.
    pub models: Vec<String>,
    /// The instructions; none: all of the models for the formats of A and B.
    pub instructions: Vec<Instruction>,
    /// alpha and beta.
    pub factors: (f64, f64),
}

/// The arithmetic of an instruction in a model, and the instructions that share it.
#[derive(Debug, Clone)]
pub struct SuspectedArithmetic {
    /// The model.
    pub model: String,
    /// The instruction.
    pub instruction: Instruction,
    /// Instructions with the same arithmetic, each with its model.
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

/// Schedules that give D, or the nearest.
#[derive(Debug, Clone, Default)]
pub struct Matches {
    /// Schedules that are tried.
    pub tried: usize,
    /// Their arithmetics.
    pub arithmetics: usize,
    /// The nearest on the elements judged last, in an unfinished search.
    pub judged: Vec<Judged>,
    /// Schedules that give D in every bit, the simplest first.
    pub found: Vec<MatchCandidate>,
    /// Further schedules that agree on the judged elements, and were not computed in full.
    pub unchecked: usize,
    /// The nearest schedule and its differences, if none gives D.
    pub nearest: Option<(MatchCandidate, Differences)>,
}

/// A candidate that was judged on some elements of D.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The candidate.
    pub candidate: MatchCandidate,
    /// The elements.
    pub elements: usize,
    /// Elements that differ.
    pub differing: usize,
}

/// Finds the schedules that give `d`; `step` is told each step.
///
/// `matches` has the results so far, also where an error ends the search.
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
        // Among equally near ones the simplest comes first.
        judged.sort_by_cached_key(|(score, suspect)| (*score, weight(&suspect.candidate.schedule)));
        let elements = sample.d.codes.len();
        if outcome.is_ok() || matches.judged.is_empty() {
            let near = |(score, suspect): &(MatchScore, FamilyMember)| Judged {
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
    for (at, FamilyMember { candidate, .. }) in left.iter().take(agreeing.clamp(1, MOST_MATCHES)).enumerate() {
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

/// Two schedules that together give one product, as where a library has another kernel for the edges.
#[derive(Debug, Clone)]
pub struct Mixed {
    /// The schedule of most elements.
    pub first: MatchCandidate,
    /// The schedule of the remaining elements.
    pub second: MatchCandidate,
    /// Elements that the first does not give.
    pub others: Differences,
    /// The elements that the second gives.
    pub by_second: usize,
    /// For each element, row by row: whether the first gives it.
    by_first: Vec<bool>,
}

impl Mixed {
    /// The schedule of an element: the first, if it gives the element. Panics outside D.
    pub fn of(&self, element: usize) -> &MatchCandidate {
        if self.by_first[element] { &self.first } else { &self.second }
    }
}

/// The nearest schedule and a second one for the remaining elements, if together they give `d`.
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
    step(&format!("looking for the schedule of the remaining elements in row {row}"));
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
