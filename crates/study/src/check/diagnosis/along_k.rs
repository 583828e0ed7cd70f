//! Causes along k: ranges of k, single elements of A and B, scales of blocks.

use std::ops::Range;

use super::{
    Cause, Explanation,
    elements::{Elements, Expected, MOST_EVIDENCE, Sums},
    given::{code, each},
};
use crate::{
    Error, Result,
    base::{interrupt, work},
    product::{Factors, Schedule},
};

/// Ends of ranges along k that are tried, at most; of a longer k they lie apart.
const MOST_ENDS: usize = 1 << 13;
/// Errors by which ranges are found, at most.
const MOST_ERRORS: usize = 64;
/// Solutions of the equations of a line, at most, and the error over the bound that ends them.
const TRIES: usize = 32;
const WITHIN: f64 = 0.9;
/// Blocks along k whose factors are solved for, at most.
const MOST_BLOCKS: usize = 128;

/// The terms of sums in f64, near the exact ones.
pub(super) struct Terms {
    /// Alpha times A with its scales, row by row.
    a: Vec<f64>,
    /// B with its scales, column by column.
    b: Vec<f64>,
    factors: Factors,
    beta: f64,
}

/// The k of a block of scales of A, and of B.
fn blocks(schedule: &Schedule) -> Option<[usize; 2]> {
    match (&schedule.scales, schedule.instruction.scale) {
        (Some(blocks), _) => Some([blocks.a[1], blocks.b[0]]),
        (None, Some(scale)) => Some([scale.block; 2]),
        (None, None) => None,
    }
}

impl Terms {
    /// The terms of a product whose scales have a row (column) for each of its rows (columns).
    pub(super) fn of(schedule: &Schedule, factors: Factors) -> Terms {
        let [block_a, block_b] = blocks(schedule).unwrap_or([1, 1]);
        let (k, columns) = (factors.k(), factors.b.columns);
        let scale = |scales: Option<f64>| scales.unwrap_or(1.0);
        let a = factors.a.values().into_iter().enumerate().map(|(at, value)| {
            let scales = factors.scale_a.as_ref().map(|scales| scales.value(at / k, at % k / block_a));
            value * scale(scales) * schedule.alpha
        });
        let b = factors.b.transposed().values().into_iter().enumerate().map(|(at, value)| {
            let scales = factors.scale_b.as_ref().map(|scales| scales.value(at % k / block_b, at / k));
            value * scale(scales)
        });
        let (a, b): (Vec<f64>, Vec<f64>) = (a.collect(), b.collect());
        debug_assert_eq!(b.len(), columns * k);
        Terms { a, b, factors, beta: schedule.beta }
    }

    /// The terms of some k, without C and the bias.
    pub(super) fn sum(&self, row: usize, column: usize, k: Range<usize>) -> f64 {
        let length = self.factors.k();
        let line = |values: &'_ [f64], line: usize| line * length + k.start..(line * length + k.end).min(values.len());
        let (a, b) = (&self.a[line(&self.a, row)], &self.b[line(&self.b, column)]);
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    /// C and the bias, as they are added.
    pub(super) fn added(&self, row: usize, column: usize) -> f64 {
        let c = self.factors.c.as_ref().filter(|_| self.beta != 0.0).map_or(0.0, |c| self.beta * c.value(row, column));
        c + self.factors.bias.as_ref().map_or(0.0, |bias| bias.value(0, column))
    }
}

/// An error that is to be explained.
struct Unexplained {
    /// D - exact.
    error: f64,
    slack: f64,
    /// Sums of the products before each end.
    before: Vec<f64>,
}

/// A range of k that explains the errors.
#[derive(Clone)]
struct Candidate {
    cause: Cause,
    k: Range<usize>,
    rest: f64,
}

/// The range of k that is missing, or there twice; `None` as well for several that share no k.
pub(super) fn range(elements: &Elements) -> Result<Option<Explanation>> {
    let k = elements.factors.k();
    let step = k.div_ceil(MOST_ENDS).next_power_of_two();
    let mut ends: Vec<usize> = (0..k).step_by(step).collect();
    ends.push(k);
    let terms = Terms::of(elements.schedule(), elements.factors.clone());
    let unexplained = |at: &usize| {
        let [row, column] = elements.place(*at);
        let mut before = vec![0.0];
        for pair in ends.windows(2) {
            before.push(before[before.len() - 1] + terms.sum(row, column, pair[0]..pair[1]));
        }
        let [error, slack] = elements.error(*at);
        Unexplained { error, slack, before }
    };
    // Spread over all rows: zeros in the few of one row would hide ends of a range.
    let step = elements.errors.len().div_ceil(MOST_ERRORS).max(1);
    let errors: Vec<Unexplained> = elements.errors.iter().step_by(step).map(unexplained).collect();
    if errors.iter().any(|error| !error.error.is_finite() || !error.slack.is_finite()) {
        return Ok(None);
    }
    let tried = |from: usize| {
        interrupt::check()?;
        let mut fitting = Vec::new();
        for (cause, sign) in [(Cause::LeftOut, 1.0), (Cause::CountedTwice, -1.0)] {
            for to in from + 1..ends.len() {
                let rest = |error: &Unexplained| {
                    let distance = (error.error + sign * (error.before[to] - error.before[from])).abs();
                    if distance == 0.0 { 0.0 } else { distance / error.slack }
                };
                let rests = errors.iter().map(rest);
                if let Some(rest) = within(rests) {
                    fitting.push(Candidate { cause, k: ends[from]..ends[to], rest });
                }
            }
        }
        Ok::<_, Error>(fitting)
    };
    let fitting: Vec<Candidate> = work::map(0..ends.len() - 1, tried)?.into_iter().flatten().collect();
    let Some(best) = best(fitting) else { return Ok(None) };
    let words = match (best.cause, best.k.len()) {
        (Cause::LeftOut, length) if length == k => "every product is missing".into(),
        (Cause::LeftOut, _) if best.k.end == k => format!("the end of k is missing, {}", k_words(&best.k)),
        (Cause::LeftOut, _) => format!("the products of {} are missing", k_words(&best.k)),
        _ => format!("the products of {} are there twice", k_words(&best.k)),
    };
    let fit = match best.cause {
        Cause::LeftOut => elements.changed(|_, factors| {
            cleared(factors, |k| best.k.contains(&k));
            true
        })?,
        _ => twice(elements, &best.k)?,
    };
    let chosen = 2.0 * (k as f64).log2();
    Ok(elements.named(best.cause, chosen, words, fit).map(|explanation| Explanation { k: Some(best.k), ..explanation }))
}

/// The range that leaves least, if all that fit share some k.
fn best(fitting: Vec<Candidate>) -> Option<Candidate> {
    let start = fitting.iter().map(|fit| fit.k.start).max()?;
    let end = fitting.iter().map(|fit| fit.k.end).min()?;
    let order = |x: &Candidate, y: &Candidate| x.rest.total_cmp(&y.rest).then(x.k.len().cmp(&y.k.len()));
    fitting.into_iter().min_by(order).filter(|_| start < end)
}

/// The largest of distances over their bounds, if all are within.
fn within(mut rests: impl Iterator<Item = f64>) -> Option<f64> {
    rests.try_fold(0.0f64, |largest, rest| (rest <= 1.0).then_some(largest.max(rest)))
}

/// The fit of sums in which the products of some k are there twice.
fn twice(elements: &Elements, k: &Range<usize>) -> Result<Option<super::elements::Fit>> {
    let mut factors = Factors { c: None, bias: None, ..elements.factors.clone() };
    cleared(&mut factors, |at| !k.contains(&at));
    let more = elements.sums(elements.schedule(), &factors)?;
    elements.fit(|at| {
        let (once, more) = (&elements.claimed[at], more.at(at));
        let (value, bound) = (more.value + &once.value, once.bound + more.bound);
        Expected { value, bound }.rounded(elements.d.format)
    })
}

/// Makes elements of A zero.
fn cleared(factors: &mut Factors, is_cleared: impl Fn(usize) -> bool) {
    let Some(zero) = factors.a.format.zero(false) else { return };
    let k = factors.k();
    (0..factors.a.codes.len()).filter(|at| is_cleared(at % k)).for_each(|at| factors.a.codes.set(at, zero));
}

/// A range of k in words.
fn k_words(k: &Range<usize>) -> String {
    if k.len() == 1 { format!("k = {}", k.start) } else { format!("k = {} to {}", k.start, k.end - 1) }
}

/// The element of A (of B) that is wrong, where all errors are in one row (one column).
pub(super) fn element(elements: &Elements) -> Result<Option<Explanation>> {
    let [first, ..] = elements.errors[..] else { return Ok(None) };
    let [row, column] = elements.place(first);
    let cause = match () {
        () if elements.errors.iter().all(|at| elements.place(*at)[0] == row) => Cause::ElementOfA,
        () if elements.errors.iter().all(|at| elements.place(*at)[1] == column) => Cause::ElementOfB,
        () => return Ok(None),
    };
    let is_a = cause == Cause::ElementOfA;
    // With ones in place of the elements, terms are the effects of a change.
    let mut ones = elements.factors.clone();
    each(Some(if is_a { &mut ones.a } else { &mut ones.b }), |_| Some(1.0));
    let ones = Terms::of(elements.schedule(), ones);
    let finite: Vec<usize> = elements.errors.iter().copied().filter(|at| elements.values[*at].is_finite()).collect();
    let effects = |k: usize| {
        let places = finite.iter().map(|at| elements.place(*at));
        places.map(|[row, column]| ones.sum(row, column, k..k + 1)).collect::<Vec<f64>>()
    };
    let errors: Vec<f64> = finite.iter().map(|at| elements.error(*at)[0]).collect();
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut changes = Vec::new();
    for k in 0..elements.factors.k() {
        interrupt::check()?;
        let effects = effects(k);
        let change = product(&errors, &effects) / product(&effects, &effects);
        let rest: f64 = errors.iter().zip(&effects).map(|(error, effect)| (error - change * effect).powi(2)).sum();
        if change.is_finite() && rest.is_finite() {
            changes.push((rest, k, change));
        }
    }
    changes.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (k, change) = match changes[..] {
        [(_, k, change)] => (k, change),
        [(rest, k, change), (other, ..), ..] if 4.0 * rest < other => (k, change),
        _ => return Ok(None),
    };
    let changed = |change: f64| {
        let mut factors = elements.factors.clone();
        let (matrix, row, column) = if is_a { (&mut factors.a, row, k) } else { (&mut factors.b, k, column) };
        let code = code(matrix.format, matrix.value(row, column) + change)?;
        let change = matrix.format.to_f64(code) - matrix.value(row, column);
        matrix.codes.set(row * matrix.columns + column, code);
        Some((factors, change))
    };
    // The bounds of the changed product narrow down the change.
    let Some((factors, rounded)) = changed(change) else { return Ok(None) };
    let sums = elements.sums(elements.schedule(), &factors)?;
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for (at, effect) in finite.iter().zip(effects(k)) {
        let Expected { value, bound } = sums.at(*at);
        let error = (elements.values[*at] - value).to_f64();
        let ends = [(error - bound) / effect, (error + bound) / effect];
        (low, high) = (low.max(ends[0].min(ends[1])), high.min(ends[0].max(ends[1])));
    }
    let Some((factors, _)) = changed(rounded + low + (high - low) / 2.0) else { return Ok(None) };
    let fit = elements.fit_of(elements.schedule(), &factors, Sums::at)?;
    let words = match cause {
        Cause::ElementOfA => format!("another number stands in A at k = {k} of row {}", elements.rows[row]),
        _ => format!("another number stands in B at k = {k} of column {}", elements.columns[column]),
    };
    let chosen = (elements.factors.k() as f64).log2() + MOST_EVIDENCE;
    Ok(elements.named(cause, chosen, words, fit).map(|explanation| Explanation { k: Some(k..k + 1), ..explanation }))
}

/// A factor of the scale of each block of A or B, solved from the elements of its row or column.
pub(super) fn block_factors(elements: &Elements, cause: Cause) -> Result<Option<Explanation>> {
    let Some(blocks) = blocks(elements.schedule()) else { return Ok(None) };
    let is_a = cause == Cause::BlockFactorsOfA;
    let block = blocks[usize::from(!is_a)];
    let k = elements.factors.k();
    let count = k.div_ceil(block);
    let (rows, columns) = (elements.rows.len(), elements.columns.len());
    let (lines, others) = if is_a { (rows, columns) } else { (columns, rows) };
    if count > MOST_BLOCKS || others < 2 * count + 1 {
        return Ok(None);
    }
    let terms = Terms::of(elements.schedule(), elements.factors.clone());
    let solved = |bounds: &[f64]| {
        work::map(0..lines, |line| {
            interrupt::check()?;
            // An element without a bound is 0: its products are.
            let places = (0..others).map(|other| if is_a { (line, other) } else { (other, line) });
            let bounded = places.filter(|(row, column)| bounds[row * columns + column] > 0.0);
            let equations = bounded.map(|(row, column)| {
                let at = row * columns + column;
                let parts = (0..count).map(|at| terms.sum(row, column, at * block..k.min((at + 1) * block)));
                let scaled = parts.map(|part| part / bounds[at]).collect::<Vec<f64>>();
                (scaled, (elements.values[at] - terms.added(row, column)) / bounds[at])
            });
            Ok::<_, Error>(within_one(count, &equations.collect::<Vec<_>>()))
        })
    };
    let mut bounds: Vec<f64> = elements.claimed.iter().map(|claimed| claimed.bound).collect();
    let mut factors = (f64::INFINITY, f64::NEG_INFINITY);
    let mut fit = None;
    // The bounds are at first those of the claimed product, then those of the factors that they gave.
    for _ in 0..2 {
        let mut changed = elements.factors.clone();
        let Some(scales) = (if is_a { &mut changed.scale_a } else { &mut changed.scale_b }) else { return Ok(None) };
        factors = (f64::INFINITY, f64::NEG_INFINITY);
        for (line, solution) in solved(&bounds)?.into_iter().enumerate() {
            let Some(solution) = solution else { return Ok(None) };
            for (at, factor) in solution.into_iter().enumerate() {
                let (row, column) = if is_a { (line, at) } else { (at, line) };
                let old = scales.value(row, column);
                let Some(code) = code(scales.format, old * factor) else { return Ok(None) };
                scales.codes.set(row * scales.columns + column, code);
                let factor = scales.value(row, column) / old;
                factors = (factors.0.min(factor), factors.1.max(factor));
            }
        }
        fit = elements.fit_of(elements.schedule(), &changed, Sums::at)?;
        if fit.is_some() {
            break;
        }
        let sums = elements.sums(elements.schedule(), &changed)?;
        bounds = (0..bounds.len()).map(|at| sums.at(at).bound).collect();
    }
    let side = if is_a { "A" } else { "B" };
    let words = format!(
        "one factor multiplies the scale of each block of {side} ({:.6} to {:.6} times the given scale)",
        factors.0, factors.1
    );
    Ok(elements.named(cause, (lines * count) as f64 * MOST_EVIDENCE, words, fit))
}

/// Numbers that leave each equation an error of at most 1, or the last that were tried.
///
/// Least squares, in which equations with large errors then weigh more (Lawson's algorithm for the smallest largest error).
fn within_one(count: usize, equations: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    let mut weights = vec![1.0; equations.len()];
    let mut solution = least_squares(count, equations, &weights)?;
    for _ in 0..TRIES {
        let errors: Vec<f64> = equations
            .iter()
            .map(|(parts, sum)| (parts.iter().zip(&solution).map(|(x, y)| x * y).sum::<f64>() - sum).abs())
            .collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        if largest <= WITHIN {
            break;
        }
        weights.iter_mut().zip(&errors).for_each(|(weight, error)| *weight *= error / largest);
        let Some(next) = least_squares(count, equations, &weights) else { break };
        solution = next;
    }
    Some(solution)
}

/// The numbers that solve weighted equations best; `None` where they are not determined.
fn least_squares(count: usize, equations: &[(Vec<f64>, f64)], weights: &[f64]) -> Option<Vec<f64>> {
    // Rows of the normal equations, the right side last.
    let mut normal = vec![vec![0.0; count + 1]; count];
    for ((parts, sum), weight) in equations.iter().zip(weights) {
        for (row, x) in normal.iter_mut().zip(parts) {
            row.iter_mut().zip(parts.iter().chain([sum])).for_each(|(cell, y)| *cell += weight * x * y);
        }
    }
    for pivot in 0..count {
        let largest = (pivot..count).max_by(|x, y| normal[*x][pivot].abs().total_cmp(&normal[*y][pivot].abs()))?;
        normal.swap(pivot, largest);
        let row = normal[pivot].clone();
        if row[pivot] == 0.0 || !row[pivot].is_finite() {
            return None;
        }
        for (at, other) in normal.iter_mut().enumerate() {
            let factor = if at == pivot { 0.0 } else { other[pivot] / row[pivot] };
            other.iter_mut().zip(&row).for_each(|(cell, x)| *cell -= factor * x);
        }
    }
    Some(normal.iter().enumerate().map(|(at, row)| row[count] / row[at]).collect())
}
