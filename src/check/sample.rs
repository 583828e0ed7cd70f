//! Elements that are computed in full: exact sums, running bounds, the claimed arithmetic bit for bit.

use super::{
    CheckRequest, ElementVerdict, Outside,
    judge::{ExactElements, LISTED, Tally},
};
use crate::{
    Result,
    base::{interrupt, parallel, work},
    bound::ElementBounds,
    device::ModelDevice,
    gemm::{Factors, Matrix, Product},
};

/// Infinities and NaNs of D that are compared with the claimed schedule's, at most.
const COMPARED: usize = 4096;

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
pub fn sampled_places(factors: &Factors, elements: usize) -> (Vec<usize>, Vec<usize>) {
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
    let mut found = SampleCheck {
        correctly_rounded: right.iter().filter(|right| **right).count(),
        rows,
        columns,
        ..SampleCheck::default()
    };
    if !claim.is_exact {
        return Ok(found);
    }
    let chosen = factors.chosen(&found.rows, &found.columns, schedule.scales.as_ref());
    let narrowed = schedule.narrowed();
    let own = Product::of(&mut ModelDevice::of(claim.model.clone()), &narrowed, &chosen)?.d;
    let given = d.chosen(&found.rows, &found.columns);
    found.equal_bits = Some(own.codes.iter().zip(given.codes.iter()).filter(|(x, y)| x == y).count());
    let bounds = ElementBounds::new(&claim.model, schedule, factors)?;
    if !plain {
        // Running bounds have judged every element.
        return Ok(found);
    }
    let judged = work::map(&places, |(row, column)| {
        Ok::<_, crate::Error>(exact.judge(d, (*row, *column), running(&bounds, *row, *column)))
    })?;
    let outside = || judged.iter().filter(|(verdict, _)| *verdict == ElementVerdict::Outside);
    found.running_outside = Some(outside().count());
    found.outside = outside().map(|(_, own)| *own).take(LISTED).collect();
    let ratios = judged.iter().filter(|(verdict, own)| *verdict == ElementVerdict::Within && own.bound > 0.0);
    found.running_tightest =
        Some(ratios.map(|(_, own)| own.error / own.bound).filter(|own| own.is_finite()).fold(0.0, f64::max));
    Ok(found)
}

/// The running bound of a finite D, and true if an operation may overflow.
fn running(bounds: &ElementBounds, row: usize, column: usize) -> (f64, bool) {
    bounds.of(row, column).map_or((f64::INFINITY, true), |bound| (bound.finite(), bound.may_overflow()))
}

/// For the first of some elements, whether D has the bits that the claimed schedule makes.
pub(super) fn bits(request: &CheckRequest, places: &[Outside]) -> Result<Vec<bool>> {
    let CheckRequest { claim, factors, d, .. } = request;
    let schedule = &claim.schedules[0];
    let mut right = Vec::new();
    for row in places[..places.len().min(COMPARED)].chunk_by(|x, y| x.row == y.row) {
        interrupt::check()?;
        let columns: Vec<usize> = row.iter().map(|own| own.column).collect();
        let rows = [row[0].row];
        let chosen = factors.chosen(&rows, &columns, schedule.scales.as_ref());
        let own = Product::of(&mut ModelDevice::of(claim.model.clone()), &schedule.narrowed(), &chosen)?.d;
        let given = d.chosen(&rows, &columns);
        right.extend(own.codes.iter().zip(given.codes.iter()).map(|(x, y)| x == y));
    }
    Ok(right)
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
            tally.decide(exact, d, (row, column), running(bounds, row, column));
        }
        let count = d.columns as u64;
        done(finished.fetch_add(count, std::sync::atomic::Ordering::Relaxed) + count);
        tally
    })
}
