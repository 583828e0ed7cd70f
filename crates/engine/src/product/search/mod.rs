//! Search for the schedule of a matrix: candidates are judged on a few elements, survivors on all.

pub mod apart;
mod candidates;
mod chains;
mod decision;
mod elements;
mod judge;
mod operands;
mod plain;
mod spellings;
mod usual;
mod words;

use std::{collections::HashSet, sync::Arc};

pub use candidates::{in_formats, is_block_count};
pub use decision::Decision;
use decision::decisions;
use elements::rank;
pub use elements::{decides_nothing, error, few};
pub use plain::{PlainMatches, find_plain};
pub use words::{answer, plain_answer, remarks, together};

use super::{Differences, Executor, Extents, Factors, Matrix, Schedule, compute::compute, kernel::KernelNames};
use crate::{Result, base::interrupt, device::ModelDevice, isa::Instruction};
use candidates::{Group, arithmetics, contradicted, scale_blocks, suspected};
use judge::{Judge, Suspect, everyone};
use spellings::Operations;

/// Numbers of elements that candidates are judged on: every candidate, then the survivors, and so on.
const STAGES: [usize; 4] = [4, 28, 96, 896];
/// The same for a D whose every element shows the order of its sum.
const STAGES_OF_WIDE: [usize; 4] = [1, 31, 96, 896];
/// The same for parts of a scheme, which few products have.
const STAGES_OF_PARTS: [usize; 4] = [1, 31, 96, 896];
/// Elements for each sensitive one on which candidates are judged, beyond the first stage.
const JUDGED: usize = 4;
/// Candidates that stay in the search where none gives D: in the first stage, and later.
const NEAR: [usize; 2] = [256, 16];
/// Multiply-adds of products that are computed in full, about.
const IN_FULL: usize = 1 << 32;
/// Fewest elements of a row that are searched for a second schedule.
const FEWEST: usize = 4;
/// The first of two schedules gives at least one of so many elements.
const LEAST_SHARE: usize = 4;
/// Survivors that are computed in full.
const MOST_MATCHES: usize = 64;

/// Arithmetics that may have made a product.
#[derive(Debug, Clone)]
pub struct Suspects {
    /// The models.
    pub models: Vec<String>,
    /// The instructions; none: all of the models for the formats of A and B.
    pub instructions: Vec<Instruction>,
    /// alpha and beta.
    pub factors: (f64, f64),
    /// Terms that stay together where A and B hold parts of a scheme.
    pub turn: Option<usize>,
    /// Kernels whose names narrow the search; none: nothing is known.
    pub kernels: KernelNames,
}

/// The arithmetic of an instruction in a model, and the instructions that share it.
#[derive(Debug, Clone)]
pub struct SuspectedArithmetic {
    /// The model.
    pub model: String,
    /// The instruction.
    pub instruction: Instruction,
    /// Other instructions with the same arithmetic.
    pub alike: Vec<SuspectedArithmetic>,
}

/// A schedule that was tried.
#[derive(Debug, Clone)]
pub struct MatchCandidate {
    /// The arithmetic.
    pub arithmetic: Arc<SuspectedArithmetic>,
    /// The schedule, in its most usual spelling.
    pub schedule: Schedule,
    /// Other schedules with the same sum, the most usual first; none before D is computed.
    pub same: Vec<Schedule>,
}

impl MatchCandidate {
    /// The schedule, and those with the same sum.
    pub fn spellings(&self) -> impl Iterator<Item = &Schedule> {
        std::iter::once(&self.schedule).chain(&self.same)
    }

    /// The candidate with all spellings of its sum that the names of kernels allow.
    fn spelled(mut self, suspects: &Suspects, k: usize) -> MatchCandidate {
        let Suspects { kernels, turn, .. } = suspects;
        let mut all = spellings::spellings(&self.schedule, *turn, k);
        all.retain(|schedule| !contradicted(kernels.of_match(&self.arithmetic.instruction, schedule, k)));
        if !all.is_empty() {
            self.schedule = all.remove(0);
            self.same = all;
        }
        self
    }
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
    pub confirmed: Vec<MatchCandidate>,
    /// Further schedules that agree on the judged elements, not computed in full; most usual first.
    pub unchecked: Vec<MatchCandidate>,
    /// Decisions of D, if a schedule gives D or agrees on the judged elements.
    pub decisions: Vec<Decision>,
    /// Elements of D that were ranked, and those in which the order of a sum can show, about.
    pub sensitive: Option<(usize, usize)>,
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
    let groups = suspected(&arithmetics, suspects, factors, d, blocks)?;
    let mut left = everyone(&groups);
    let used: HashSet<*const SuspectedArithmetic> =
        groups.iter().flat_map(|group| &group.members).map(|member| Arc::as_ptr(&member.arithmetic)).collect();
    (matches.tried, matches.arithmetics) = (left.len(), used.len());
    let ranking = rank(suspects, factors, d, blocks.as_ref())?;
    matches.sensitive = Some((ranking.places.len(), ranking.sensitive));
    step(&format!(
        "{} schedules; the order of a sum can show in about {} of {} elements",
        left.len(),
        ranking.sensitive,
        ranking.places.len()
    ));
    let judge = Judge { groups: &groups, factors, d, blocks };
    let (mut agreeing, mut from) = (0, 0);
    let most = (JUDGED * ranking.sensitive).max(STAGES[0]);
    let stages = match suspects.turn {
        Some(_) => STAGES_OF_PARTS,
        None if ranking.sensitive == ranking.places.len() => STAGES_OF_WIDE,
        None => STAGES,
    };
    let each = d.codes.len() * factors.k();
    let in_full = (IN_FULL / each.max(1)).clamp(1, MOST_MATCHES);
    for (stage, count) in stages.into_iter().enumerate() {
        interrupt::check()?;
        let places = &ranking.places[from..ranking.places.len().min(from + count).min(most).max(from)];
        if places.is_empty() {
            break;
        }
        from += places.len();
        let mut judged = Vec::new();
        let outcome = judge.judge(left, places, &mut judged);
        // Among equally near ones the simplest comes first.
        judged.sort_by_cached_key(|suspect| {
            (suspect.score, groups[suspect.group].weight(suspect.member, suspect.schedule))
        });
        if outcome.is_ok() || matches.judged.is_empty() {
            let near = |suspect: &Suspect| Judged {
                candidate: candidate(&groups, suspect),
                elements: from,
                differing: suspect.score.differing,
            };
            matches.judged = judged.iter().take(NEAR[1]).map(near).collect();
        }
        outcome?;
        agreeing = judged.iter().filter(|suspect| suspect.score.agrees()).count();
        step(&format!("{agreeing} of {} schedules agree on {from} elements", matches.tried));
        if agreeing == 0 && suspects.turn.is_some() {
            return Ok(());
        }
        judged.truncate(agreeing.max(NEAR[stage.min(1)]));
        left = judged;
        if agreeing == 0 && stage > 0 || (1..=in_full).contains(&agreeing) {
            break;
        }
    }
    let in_full = in_full.min(agreeing.max(1));
    let (operations, mut sums) = (Operations::default(), Vec::new());
    for suspect in left.iter().take(in_full) {
        interrupt::check()?;
        let candidate = candidate(&groups, suspect);
        let sum = operations.sum(&candidate.schedule, factors.k());
        let is_known = |(other, known): (&MatchCandidate, &usize)| {
            *known == sum
                && Arc::ptr_eq(&other.arithmetic, &candidate.arithmetic)
                && other.schedule.operands == candidate.schedule.operands
        };
        if matches.confirmed.iter().zip(&sums).any(is_known) {
            continue;
        }
        step(&format!("computing {}", candidate.schedule.sentence(factors.k())));
        let differences = Differences::between(&product_of(&candidate, factors)?, d)?;
        if differences.differing == 0 {
            sums.push(sum);
            matches.confirmed.push(candidate.spelled(suspects, factors.k()));
        } else if matches.nearest.as_ref().is_none_or(|(_, other)| differences.differing < other.differing) {
            matches.nearest = Some((candidate, differences));
        }
    }
    let unchecked = left[..agreeing].iter().skip(in_full);
    matches.unchecked = unchecked.map(|suspect| candidate(&groups, suspect)).collect();
    if !matches.confirmed.is_empty() {
        matches.decisions = decisions(matches, suspects, factors.k());
    }
    matches.judged.clear();
    if !matches.confirmed.is_empty() {
        matches.nearest = None;
    }
    Ok(())
}

fn candidate(groups: &[Group], suspect: &Suspect) -> MatchCandidate {
    groups[suspect.group].candidate(suspect.member, suspect.schedule)
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
        matches.nearest.as_ref().filter(|_| scale_blocks(factors).is_ok_and(|blocks| blocks.is_none()))
    else {
        return Ok(None);
    };
    if others.differing > d.codes.len() - d.codes.len() / LEAST_SHARE {
        return Ok(None);
    }
    let near = product_of(first, factors)?;
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
    for second in part.confirmed.iter().take(NEAR[1]) {
        let second_product = product_of(second, factors)?;
        let codes = || near.codes.iter().zip(second_product.codes.iter()).zip(d.codes.iter());
        if codes().all(|((x, y), d)| x == d || y == d) {
            // The nearest is so on the elements that were judged; the first is the one that gives most of D.
            let (by_near, by_other): (Vec<bool>, Vec<bool>) = codes().map(|((x, y), d)| (x == d, y == d)).unzip();
            let [near_count, other_count] =
                [&by_near, &by_other].map(|given| given.iter().filter(|given| **given).count());
            let (first, second) = (first.clone(), second.clone());
            let (first, second, others, by_second, by_first) = match near_count >= other_count {
                true => (first, second, others.clone(), other_count, by_near),
                false => (second, first, Differences::between(d, &second_product)?, near_count, by_other),
            };
            return Ok(Some(Mixed { first, second, others, by_second, by_first }));
        }
    }
    Ok(None)
}

/// D of a candidate.
fn product_of(candidate: &MatchCandidate, factors: &Factors) -> Result<Matrix> {
    let factors = in_formats(factors, &candidate.schedule)?;
    let mut device = ModelDevice::open(&candidate.arithmetic.model)?;
    let (m, n) = (factors.a.rows, factors.b.columns);
    let mut executor = Executor::of(&mut device, &candidate.schedule, m, n)?;
    compute(&candidate.schedule, &mut executor, &factors, &|_| ())
}
