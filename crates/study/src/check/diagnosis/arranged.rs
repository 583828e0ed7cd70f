//! Causes that put rows, columns or whole matrices in another order.

use super::{
    Cause, Explanation,
    along_k::Terms,
    elements::{Elements, Sums},
    first,
};
use crate::{
    Error, Result,
    base::{interrupt, work},
    product::{Factors, Matrix},
};

/// Columns (rows) by which the row (column) of a product is found that a row (column) of D holds.
const COMPARED: usize = 8;
/// Terms of the sums that rows are found by, at most.
const MOST_TERMS: usize = 1 << 26;

/// A matrix whose codes are read column by column.
fn reread(matrix: &Matrix) -> Matrix {
    Matrix { rows: matrix.columns, columns: matrix.rows, ..matrix.clone() }.transposed()
}

/// D, A or B transposed: stored, or read, column by column.
pub(super) fn transposed(elements: &Elements) -> Result<Option<Explanation>> {
    let Elements { request, rows, columns, .. } = elements;
    let factors = request.factors;
    if request.d.rows == request.d.columns {
        let turned = factors.chosen(columns, rows, request.claim.schedules[0].scales.as_ref());
        let fit = elements.fit_of(elements.schedule(), &turned, |sums, at| {
            let [row, column] = elements.place(at);
            sums.at(column * rows.len() + row)
        })?;
        if let Some(explanation) = elements.named(Cause::TransposedD, 0.0, Cause::TransposedD.words(), fit) {
            return Ok(Some(explanation));
        }
    }
    let a = || Factors { a: reread(&factors.a), ..factors.clone() };
    let b = || Factors { b: reread(&factors.b), ..factors.clone() };
    first([(Cause::TransposedA, &a as &dyn Fn() -> Factors), (Cause::TransposedB, &b)], |(cause, other)| {
        let fit = elements.fit_of(elements.schedule(), &elements.chosen(&other()), Sums::at)?;
        Ok(elements.named(cause, 0.0, cause.words(), fit))
    })
}

/// Rows or columns of the product, or of A and B alone, that stand in other places.
pub(super) fn moved(elements: &Elements) -> Result<Option<Explanation>> {
    first([Cause::Rows, Cause::Columns, Cause::RowsOfA, Cause::ColumnsOfB], |cause| {
        let is_of_operand = matches!(cause, Cause::RowsOfA | Cause::ColumnsOfB);
        if is_of_operand && elements.factors.c.is_none() && elements.factors.bias.is_none() {
            return Ok(None);
        }
        let are_rows = matches!(cause, Cause::Rows | Cause::RowsOfA);
        let Some(sources) = sources(elements, are_rows, is_of_operand)? else { return Ok(None) };
        let Elements { request, rows, columns, .. } = elements;
        let (lines, count) = if are_rows { (rows, request.d.rows) } else { (columns, request.d.columns) };
        if sources == *lines {
            return Ok(None);
        }
        let (rows, columns) = if are_rows { (&sources, columns) } else { (rows, &sources) };
        let mut factors = request.factors.chosen(rows, columns, request.claim.schedules[0].scales.as_ref());
        if is_of_operand {
            factors.c = elements.factors.c.clone();
            factors.bias = elements.factors.bias.clone();
        }
        let fit = elements.fit_of(elements.schedule(), &factors, Sums::at)?;
        let chosen = lines.len() as f64 * (count as f64).log2();
        let words = format!("{}: {}", cause.words(), moves(lines, &sources, count, cause));
        Ok(elements.named(cause, chosen, words, fit))
    })
}

/// The moves of some rows or columns, in words.
fn moves(lines: &[usize], sources: &[usize], count: usize, cause: Cause) -> String {
    let (line, of) = match cause {
        Cause::Rows => ("row", "of the product"),
        Cause::Columns => ("column", "of the product"),
        Cause::RowsOfA => ("row", "of A"),
        _ => ("column", "of B"),
    };
    let shift = |(line, source): (&usize, &usize)| (source + count - line) % count;
    let shifts: Vec<usize> = lines.iter().zip(sources).map(shift).collect();
    if let [first, ..] = shifts[..]
        && shifts.iter().all(|shift| *shift == first)
        && lines.len() > 2
    {
        return format!("{line} i of D is {line} i + {first} {of} (modulo {count})");
    }
    let displaced = lines.iter().zip(sources).filter(|(line, source)| line != source);
    let words: Vec<String> =
        displaced.clone().take(4).map(|(to, from)| format!("{line} {to} is {line} {from}")).collect();
    let more = displaced.count() - words.len();
    format!("{}{} {of}", words.join(", "), if more > 0 { format!(" and {more} more,") } else { String::new() })
}

/// The nearest row (column) of the product, or of A (B) alone, for each row (column) of the elements.
///
/// `None` where the product is too large.
fn sources(elements: &Elements, are_rows: bool, is_of_operand: bool) -> Result<Option<Vec<usize>>> {
    let Elements { request, rows, columns, .. } = elements;
    let (lines, others, count) = match are_rows {
        true => (rows, columns, request.d.rows),
        false => (columns, rows, request.d.columns),
    };
    let step = others.len().div_ceil(COMPARED);
    let compared: Vec<usize> = (0..others.len()).step_by(step).collect();
    if count * request.factors.k() * compared.len() > MOST_TERMS {
        return Ok(None);
    }
    let across: Vec<usize> = compared.iter().map(|at| others[*at]).collect();
    let all: Vec<usize> = (0..count).collect();
    let (candidate_rows, candidate_columns) = if are_rows { (&all, &across) } else { (&across, &all) };
    let scales = request.claim.schedules[0].scales.as_ref();
    let terms = Terms::of(elements.schedule(), request.factors.chosen(candidate_rows, candidate_columns, scales));
    let k = 0..request.factors.k();
    let candidates = work::map(0..count, |line| {
        interrupt::check()?;
        let value = |at: usize| {
            let (row, column) = if are_rows { (line, at) } else { (at, line) };
            terms.sum(row, column, k.clone()) + if is_of_operand { 0.0 } else { terms.added(row, column) }
        };
        Ok::<Vec<f64>, Error>((0..compared.len()).map(value).collect())
    })?;
    let inside = Terms::of(elements.schedule(), elements.factors.clone());
    let source = |at: usize| {
        let given: Vec<f64> = compared
            .iter()
            .map(|other| {
                let (row, column) = if are_rows { (at, *other) } else { (*other, at) };
                let d = elements.values[row * columns.len() + column];
                if is_of_operand { d - inside.added(row, column) } else { d }
            })
            .collect();
        let distance = |line: &usize| {
            let total: f64 = candidates[*line].iter().zip(&given).map(|(x, y)| (x - y).abs()).sum();
            if total.is_nan() { f64::INFINITY } else { total }
        };
        // Among equal rows the one in its place is the simplest.
        let in_order = [lines[at]].into_iter().chain(0..count);
        in_order.min_by(|x, y| distance(x).total_cmp(&distance(y))).unwrap_or(lines[at])
    };
    Ok(Some((0..lines.len()).map(source).collect()))
}
