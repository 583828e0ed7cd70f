//! Search for the sum without matrix instructions that gives D.

use super::{Decision, Suspects, decision::of_aspects, elements::rank};
use crate::{
    Result,
    base::{interrupt, work},
    product::{
        Aspect, Extents, Factors, Matrix,
        plain::{PlainOperands, PlainSum, candidates},
    },
};

/// Numbers of elements that sums are judged on: all of them, then those that agree, and so on.
const STAGES: [usize; 4] = [1, 7, 56, 896];
/// Rows and columns of D that are computed together.
const BLOCK: usize = 64;
/// Multiply-adds of sums that are computed in full, about.
const IN_FULL: usize = 1 << 31;
/// Most sums that are computed in full.
const MOST_MATCHES: usize = 64;

/// Sums without matrix instructions that give D.
#[derive(Debug, Clone, Default)]
pub struct PlainMatches {
    /// Sums that are tried.
    pub tried: usize,
    /// Those that give D in every bit, the most usual first.
    pub confirmed: Vec<PlainSum>,
    /// Those that agree on the judged elements, and were not computed in full.
    pub unchecked: Vec<PlainSum>,
    /// Decisions of D, if a sum gives D.
    pub decisions: Vec<Decision>,
}

/// Finds the sums without matrix instructions that give `d`; `step` is told each step.
///
/// Products of integers, with scales, C, a bias or alpha, and of named instructions or kernels are not searched.
///
/// # Errors
/// Matrices that do not fit, [`Error::Interrupted`](crate::Error::Interrupted).
pub fn find_plain(
    suspects: &Suspects,
    factors: &Factors,
    d: &Matrix,
    matches: &mut PlainMatches,
    step: &dyn Fn(&str),
) -> Result<()> {
    Extents { d: Some((d.rows, d.columns)), ..factors.extents() }.fit()?;
    let Factors { a, b, c, bias, scale_a, scale_b } = factors;
    let is_bare = suspects.factors.0 == 1.0 && [c, bias, scale_a, scale_b].iter().all(|matrix| matrix.is_none());
    let is_free = suspects.instructions.is_empty() && !suspects.kernels.is_known() && suspects.turn.is_none();
    if !is_bare || !is_free || [a.format, b.format, d.format].iter().any(|format| format.is_integer()) {
        return Ok(());
    }
    let k = factors.k();
    let mut left = candidates([a.format, b.format], d.format, k)?;
    matches.tried = left.len();
    step(&format!("{} sums without matrix instructions", left.len()));
    let places = rank(suspects, factors, d, None)?.places;
    let mut from = 0;
    for count in STAGES {
        let some = &places[from..places.len().min(from + count)];
        from += some.len();
        left = agreeing(left, factors, d, some)?;
        if left.is_empty() || some.is_empty() {
            break;
        }
    }
    let in_full = (IN_FULL / (d.codes.len() * k).max(1)).clamp(1, MOST_MATCHES);
    let rest = left.split_off(in_full.min(left.len()));
    for sum in left {
        interrupt::check()?;
        step(&format!("computing {}", sum.sentence(k)));
        if gives(&sum, factors, d)? {
            matches.confirmed.push(sum);
        }
    }
    if matches.confirmed.is_empty() {
        return Ok(());
    }
    matches.unchecked = rest;
    let all = matches.confirmed.iter().chain(&matches.unchecked).map(|sum| vec![sum.aspects(k)]);
    matches.decisions = of_aspects(all, &[Aspect::Accumulators, Aspect::Blocks]);
    Ok(())
}

/// The sums that agree with D at some places.
fn agreeing(sums: Vec<PlainSum>, factors: &Factors, d: &Matrix, places: &[(usize, usize)]) -> Result<Vec<PlainSum>> {
    let (rows, columns): (Vec<usize>, Vec<usize>) = places.iter().copied().unzip();
    let operands = PlainOperands::new(&factors.chosen(&rows, &columns, None));
    let agrees = |sum: &PlainSum| {
        places.iter().enumerate().all(|(at, (row, column))| sum.code(operands.element(at, at)) == d.get(*row, *column))
    };
    let judged = work::map(sums, |sum| Ok(Some(sum).filter(agrees)))?;
    Ok(judged.into_iter().flatten().collect())
}

/// True if a sum gives every element of D.
fn gives(sum: &PlainSum, factors: &Factors, d: &Matrix) -> Result<bool> {
    let starts = |extent: usize| (0..extent).step_by(BLOCK);
    let all = |from: usize, extent: usize| (from..extent.min(from + BLOCK)).collect::<Vec<usize>>();
    for column in starts(d.columns) {
        let columns = all(column, d.columns);
        let block = |row: usize| {
            let rows = all(row, d.rows);
            let operands = PlainOperands::new(&factors.chosen(&rows, &columns, None));
            let element = |y: usize, x: usize| sum.code(operands.element(y, x)) == d.get(rows[y], columns[x]);
            Ok((0..rows.len()).all(|y| (0..columns.len()).all(|x| element(y, x))))
        };
        if work::map(starts(d.rows), block)?.contains(&false) {
            return Ok(false);
        }
    }
    Ok(true)
}
