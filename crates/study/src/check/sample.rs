//! Elements that are computed in full: exact sums, running bounds, the claimed arithmetic bit for bit.

use super::{
    CheckRequest, ElementVerdict, Outside,
    judge::ExactElements,
    tally::{LISTED, Limits, Tally},
};
use crate::{
    Result,
    base::{interrupt, parallel, work},
    device::ModelDevice,
    product::{ElementPlace, Factors, Matrix, Product, bound::ElementBounds},
};

/// Products that are computed to compare bits of elements which are not the schedule's, about.
const COMPARED_TERMS: usize = 1 << 27;

/// The sample of a check.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SampleCheck {
    /// Rows and columns of D that were chosen, first and last among them.
    pub rows: Vec<usize>,
    /// The columns.
    pub columns: Vec<usize>,
    /// Elements outside the running bound of the claimed schedule; `None` for a family.
    pub running_outside: Option<usize>,
    /// Some of them.
    pub outside: Vec<Outside>,
    /// Largest |D - exact| over the running bound.
    pub running_tightest: Option<f64>,
    /// Elements with the bits of the claimed arithmetic; `None` for a family.
    pub equal_bits: Option<usize>,
    /// Elements whose D is the exact sum, correctly rounded.
    pub correctly_rounded: usize,
}

impl SampleCheck {
    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// Places of `count` spread over `length`, the first and the last among them.
pub(super) fn spread(length: usize, count: usize) -> Vec<usize> {
    let count = count.clamp(1, length);
    let mut places: Vec<usize> =
        (0..count).map(|at| if count == 1 { 0 } else { at * (length - 1) / (count - 1) }).collect();
    places.dedup();
    places
}

/// Rows and columns of about so many elements of a product, the first and the last among them.
pub(super) fn sampled_places(factors: &Factors, elements: usize) -> (Vec<usize>, Vec<usize>) {
    let (m, n) = (factors.a.rows, factors.b.columns);
    let side = (elements as f64).sqrt().ceil() as usize;
    let rows = spread(m, side.max(elements / n));
    let columns = spread(n, elements.div_ceil(rows.len()));
    (rows, columns)
}

/// Computes a sample of elements in full.
pub(super) fn sampled(request: &CheckRequest, exact: &ExactElements, plain: bool) -> Result<SampleCheck> {
    let CheckRequest { claim, factors, d, sample } = request;
    interrupt::check()?;
    let (rows, columns) = sampled_places(factors, *sample);
    let schedule = &claim.schedules[0];
    let places: Vec<(usize, usize)> =
        rows.iter().flat_map(|row| columns.iter().map(move |column| (*row, *column))).collect();
    let right: Vec<bool> = work::map(&places, |(row, column)| {
        Ok::<bool, crate::Error>(exact.code(*row, *column) == Some(d.get(*row, *column)))
    })?;
    let mut check = SampleCheck {
        correctly_rounded: right.iter().filter(|right| **right).count(),
        rows,
        columns,
        ..SampleCheck::default()
    };
    if !claim.is_exact {
        return Ok(check);
    }
    let has_bits = same_bits(request, &check.rows, &check.columns)?;
    check.equal_bits = Some(has_bits.iter().filter(|equal| **equal).count());
    if !plain {
        // Running bounds have judged every element.
        return Ok(check);
    }
    let bounds = ElementBounds::new(&claim.model, schedule, factors)?;
    let tallies = work::map(places.iter().zip(has_bits).collect::<Vec<_>>(), |((row, column), has_bits)| {
        let mut tally = Tally::default();
        tally.decide(exact, d, ElementPlace { row: *row, column: *column }, running(&bounds, *row, *column));
        // Bits decide before bounds.
        tally.settle(&[has_bits]);
        Ok::<Tally, crate::Error>(tally)
    })?;
    let mut all = Tally::default();
    tallies.into_iter().for_each(|tally| all.add(tally));
    check.running_outside = Some(all.outside.len());
    check.running_tightest = Some(all.largest_ratio);
    all.outside.truncate(LISTED);
    check.outside = all.outside;
    Ok(check)
}

/// The limits of the running bound.
fn running(bounds: &ElementBounds, row: usize, column: usize) -> Limits {
    let bound = bounds.of(row, column);
    Limits {
        bound: bound.map_or(f64::INFINITY, |bound| bound.finite()),
        may_overflow: bound.is_none_or(|bound| bound.may_overflow()),
        may_saturate: false,
    }
}

/// True for each element in some rows and columns whose D has the bits of the claimed schedule.
///
/// The elements come row by row. Two NaNs are equal.
fn same_bits(request: &CheckRequest, rows: &[usize], columns: &[usize]) -> Result<Vec<bool>> {
    let CheckRequest { claim, factors, d, .. } = request;
    let schedule = &claim.schedules[0];
    let chosen = factors.chosen(rows, columns, schedule.scales.as_ref());
    let claimed = Product::of(&mut ModelDevice::of(claim.model.clone()), &schedule.narrowed(), &chosen)?.d;
    let is_nan = |code: u64| d.format.to_f64(code).is_nan();
    let given = d.chosen(rows, columns);
    let pairs = claimed.codes.iter().zip(given.codes.iter());
    Ok(pairs.map(|(x, y)| x == y || is_nan(x) && is_nan(y)).collect())
}

/// True for each of the first elements if D has the bits of the claimed schedule; empty for a family.
///
/// Elements with these bits never end the comparison.
pub(super) fn has_bits(request: &CheckRequest, elements: &[(ElementVerdict, Outside)]) -> Result<Vec<bool>> {
    let k = request.factors.k();
    let mut terms = COMPARED_TERMS;
    let mut has_bits = Vec::new();
    if !request.claim.is_exact {
        return Ok(has_bits);
    }
    for row in elements.chunk_by(|(_, x), (_, y)| x.row == y.row) {
        interrupt::check()?;
        let columns: Vec<usize> = row.iter().map(|(_, element)| element.column).collect();
        let of_row = same_bits(request, &[row[0].1.row], &columns)?;
        terms = terms.saturating_sub(k * of_row.iter().filter(|equal| !**equal).count());
        has_bits.extend(of_row);
        if terms == 0 {
            break;
        }
    }
    Ok(has_bits)
}

/// Judges every element by its running bound.
pub(super) fn known(
    bounds: &ElementBounds,
    exact: &ExactElements,
    d: &Matrix,
    done: &(dyn Fn(u64) + Sync),
) -> Vec<Tally> {
    let finished = std::sync::atomic::AtomicU64::new(0);
    parallel::map(0..d.rows, |row| {
        let mut tally = Tally::default();
        for column in 0..d.columns {
            if interrupt::check().is_err() {
                break;
            }
            tally.decide(exact, d, ElementPlace { row, column }, running(bounds, row, column));
        }
        let count = d.columns as u64;
        done(finished.fetch_add(count, std::sync::atomic::Ordering::Relaxed) + count);
        tally
    })
}
