//! Elements that are computed in full: exact sums, running bounds, the claimed arithmetic bit for bit.

use super::{
    CheckRequest, ElementVerdict, Outside,
    judge::ExactElements,
    tally::{LISTED, Limits, Tally},
    tolerance::Basis,
};
use crate::{
    Result,
    base::{interrupt, parallel, work},
    device::ModelDevice,
    product::{
        ElementPlace, Factors, Matrix, Product,
        bound::{ElementBounds, ErrorBound, ProductBounds, RISK, has_order_free},
    },
};

/// Products that are computed to compare bits of elements which are not the schedule's, about.
const COMPARED_TERMS: usize = 1 << 27;

/// An element of the sample: its exact value and its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledElement {
    /// Its place among the rows and columns of the sample.
    pub place: ElementPlace,
    /// The exact value, to nearest.
    pub exact: f64,
    /// The bound of every order; `None` where only running bounds are known.
    pub every_order: Option<f64>,
    /// The running bound of the claimed schedule; `None` for a family.
    pub running: Option<f64>,
    /// Bound that an error exceeds with probability [`RISK`], if rounding errors are independent.
    pub expected: f64,
    /// True if D may be infinite, or saturate unforeseen: no tolerance covers it.
    pub open: bool,
    /// The sum of the magnitudes of the terms.
    pub magnitudes: f64,
    /// The error of a product that a test computes in f64, where D is in f64.
    pub reference_error: f64,
}

impl SampledElement {
    /// The bound of a basis, where it is known.
    pub(super) fn bound(&self, basis: Basis) -> Option<f64> {
        match basis {
            Basis::Magnitudes => self.every_order,
            Basis::Running => self.running,
            Basis::Expected => Some(self.expected),
        }
    }
}

/// The sample of a check.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SampleCheck {
    /// Rows and columns of D that were chosen, first and last among them.
    pub rows: Vec<usize>,
    /// The columns.
    pub columns: Vec<usize>,
    /// Elements, of all products of a batch.
    pub elements: usize,
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
    /// The elements with a finite exact value.
    pub bounded: Vec<SampledElement>,
}

impl SampleCheck {
    /// Adds the sample of another product of a batch.
    pub(super) fn add(&mut self, other: &SampleCheck) {
        let sum = |x: Option<usize>, y: Option<usize>| Some(x? + y?);
        self.elements += other.elements;
        self.running_outside = sum(self.running_outside, other.running_outside);
        self.equal_bits = sum(self.equal_bits, other.equal_bits);
        self.correctly_rounded += other.correctly_rounded;
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
    let CheckRequest { factors, d, sample, .. } = request;
    interrupt::check()?;
    let (rows, columns) = sampled_places(factors, *sample);
    let places: Vec<(usize, usize)> =
        rows.iter().flat_map(|row| columns.iter().map(move |column| (*row, *column))).collect();
    let rounded: Vec<Option<(f64, Option<u64>)>> =
        work::map(&places, |(row, column)| Ok::<_, crate::Error>(exact.rounded(*row, *column, d.format)))?;
    let mut check = SampleCheck {
        elements: places.len(),
        correctly_rounded: places
            .iter()
            .zip(&rounded)
            .filter(|((row, column), rounded)| rounded.is_some_and(|(_, code)| code == Some(d.get(*row, *column))))
            .count(),
        rows,
        columns,
        ..SampleCheck::default()
    };
    let running = running_bounds(request, &places)?;
    check.bounded = bounded(request, exact, &check, &rounded, running.as_deref())?;
    let Some(running) = running else { return Ok(check) };
    let has_bits = same_bits(request, &check.rows, &check.columns)?;
    check.equal_bits = Some(has_bits.iter().filter(|equal| **equal).count());
    if !plain {
        // Running bounds have judged every element.
        return Ok(check);
    }
    let judged: Vec<_> = places.iter().zip(running).zip(has_bits).collect();
    let tallies = work::map(judged, |(((row, column), bound), has_bits)| {
        let mut tally = Tally::default();
        tally.decide(exact, d, ElementPlace { row: *row, column: *column }, limits(bound));
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

/// The running bounds of some elements; `None` for a family.
fn running_bounds(request: &CheckRequest, places: &[(usize, usize)]) -> Result<Option<Vec<Option<ErrorBound>>>> {
    let CheckRequest { claim, factors, .. } = request;
    if !claim.is_exact {
        return Ok(None);
    }
    let bounds = ElementBounds::new(&claim.model, &claim.schedules[0], factors)?;
    work::map(places, |(row, column)| Ok::<_, crate::Error>(bounds.of(*row, *column))).map(Some)
}

/// The elements of the sample whose exact values are finite, with their bounds.
fn bounded(
    request: &CheckRequest,
    exact: &ExactElements,
    check: &SampleCheck,
    rounded: &[Option<(f64, Option<u64>)>],
    running: Option<&[Option<ErrorBound>]>,
) -> Result<Vec<SampledElement>> {
    let CheckRequest { claim, factors, d, .. } = request;
    let SampleCheck { rows, columns, .. } = check;
    let chosen = factors.chosen(rows, columns, claim.schedules[0].scales.as_ref());
    let narrowed = claim.narrowed();
    let bounds = has_order_free(&narrowed, &chosen).then(|| ProductBounds::new(&narrowed, &chosen)).transpose()?;
    let element = |at: usize| {
        let place = ElementPlace { row: at / columns.len(), column: at % columns.len() };
        let value = rounded[at].map(|(value, _)| value).filter(|value| value.is_finite());
        let running = running.map(|bounds| bounds[at]);
        let reference = bounds.as_ref().map(|bounds| bounds.of(place.row, place.column));
        let expected = match (&running, &reference, &bounds) {
            (Some(running), ..) => running.map_or(f64::INFINITY, |bound| bound.probable(RISK)),
            (None, Some(reference), Some(bounds)) => bounds.expected(reference, RISK),
            _ => f64::INFINITY,
        };
        let in_d = ElementPlace { row: rows[place.row], column: columns[place.column] };
        Ok::<_, crate::Error>(value.map(|value| SampledElement {
            place,
            exact: value,
            every_order: reference.map(|reference| reference.bound),
            running: running.map(|bound| bound.map_or(f64::INFINITY, |bound| bound.finite())),
            expected,
            open: match (running, &reference) {
                (Some(running), _) => running.is_none_or(|bound| bound.may_overflow()),
                (None, reference) => reference.as_ref().is_none_or(|element| element.is_open(claim)),
            },
            magnitudes: exact.magnitudes(in_d),
            reference_error: if d.format.bits == 64 { exact.reference_error(in_d) } else { 0.0 },
        }))
    };
    Ok(work::map(0..rounded.len(), element)?.into_iter().flatten().collect())
}

/// The limits of a running bound.
fn limits(bound: Option<ErrorBound>) -> Limits {
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
            tally.decide(exact, d, ElementPlace { row, column }, limits(bounds.of(row, column)));
        }
        let count = d.columns as u64;
        done(finished.fetch_add(count, std::sync::atomic::Ordering::Relaxed) + count);
        tally
    })
}
