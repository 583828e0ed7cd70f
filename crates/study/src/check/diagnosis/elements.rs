//! The elements of D that a cause has to explain, and the one place that decides whether it does.

use std::{collections::BTreeSet, sync::OnceLock};

use rug::Float;

use super::{Cause, Explanation};
use crate::{
    Error, Result,
    base::{interrupt, parallel, work},
    check::{CheckRequest, Outside, sample::spread},
    format::Format,
    product::reference::Yardsticks,
    product::{
        Factors, Matrix, Schedule,
        bound::{Claim, ElementBounds, ProductBounds},
    },
};

/// Products that are summed exactly for a cause, about, with bounds of every order.
const MOST_TERMS: usize = 1 << 22;
/// The same with running bounds, which take longer.
const MOST_RUNNING_TERMS: usize = 1 << 19;
/// Fewest elements that are tried, where D has so many.
const LEAST_ELEMENTS: usize = 64;
/// Most elements that are tried.
const MOST_ELEMENTS: usize = 1 << 14;
/// Elements that are tried before all others, the errors among them first.
const FIRST: usize = 8;
/// Elements between two looks for a signal.
const BATCH: usize = 1024;
/// Bits by which an error must narrow down a cause beyond the choice of the cause and of its numbers.
///
/// A wrong cause explains the errors by chance less often than once in 2 to this power.
const LEAST_EVIDENCE: f64 = 26.0;
/// Bits of evidence of one error, at most.
pub(super) const MOST_EVIDENCE: f64 = 24.0;

/// The value of an element by a cause, and how far D may be from it.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) value: Float,
    pub(super) bound: f64,
}

impl Expected {
    /// The element times a factor, rounded to D's format once more.
    pub(super) fn times(&self, factor: f64, format: &Format) -> Expected {
        let value = self.value.clone() * factor;
        Expected { value, bound: self.bound * factor.abs() }.rounded(format)
    }

    /// The element plus a number, rounded to D's format once more.
    pub(super) fn plus(&self, number: f64, format: &Format) -> Expected {
        Expected { value: self.value.clone() + number, bound: self.bound }.rounded(format)
    }

    /// The element rounded to a format, which leaves integers as they are.
    pub(super) fn rounded(self, format: &Format) -> Expected {
        let Expected { value, bound } = self;
        let is_exact = format.is_integer() && value.is_integer();
        let rounding = if is_exact { 0.0 } else { unit(format, value.to_f64().abs() + bound) };
        Expected { value, bound: bound + rounding }
    }

    /// The element brought into a range.
    pub(super) fn clamped(&self, [low, high]: [f64; 2]) -> Expected {
        let value = match () {
            () if self.value < low => Float::with_val(self.value.prec(), low),
            () if self.value > high => Float::with_val(self.value.prec(), high),
            () => self.value.clone(),
        };
        Expected { value, bound: self.bound }
    }

    /// The magnitude of the element.
    pub(super) fn absolute(&self) -> Expected {
        Expected { value: self.value.clone().abs(), bound: self.bound }
    }
}

/// The distance of neighbours in a format at a magnitude.
///
/// It is the largest error of one rounding.
pub(super) fn unit(format: &Format, magnitude: f64) -> f64 {
    let Some(float) = format.float() else { return 1.0 };
    let exponent = if magnitude > 0.0 { magnitude.log2().floor().min(1023.0) as i32 } else { float.emin() };
    2f64.powi(exponent.max(float.emin()) - float.trailing_bits as i32).max(f64::from_bits(1))
}

/// Distance from a cause over the bound (the largest), and the bits by which errors narrow it down.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Fit {
    pub(super) rest: f64,
    pub(super) evidence: f64,
}

/// The exact elements of a product, and their bounds.
pub(super) struct Sums<'a> {
    exact: Yardsticks<'a>,
    bounds: Bounds<'a>,
    columns: usize,
}

enum Bounds<'a> {
    EveryOrder(Box<ProductBounds>),
    Running(Box<ElementBounds<'a>>),
}

impl Sums<'_> {
    /// The element at a place, counted row by row.
    pub(super) fn at(&self, at: usize) -> Expected {
        let (row, column) = (at / self.columns, at % self.columns);
        let bound = match &self.bounds {
            Bounds::EveryOrder(bounds) => bounds.of(row, column).bound,
            Bounds::Running(bounds) => bounds.of(row, column).map_or(f64::INFINITY, |bound| bound.finite()),
        };
        Expected { value: self.exact.exact(row, column), bound }
    }
}

/// Some rows and columns of D, as a product of its own.
pub(super) struct Elements<'a> {
    pub(super) request: &'a CheckRequest<'a>,
    /// The claim, with operands of these rows and columns.
    pub(super) claim: Claim,
    pub(super) factors: Factors,
    pub(super) rows: Vec<usize>,
    pub(super) columns: Vec<usize>,
    pub(super) d: Matrix,
    /// The values of D, row by row.
    pub(super) values: Vec<f64>,
    /// The elements of the claimed product.
    pub(super) claimed: Vec<Expected>,
    /// Places of the elements that the claimed product does not explain.
    pub(super) errors: Vec<usize>,
    /// All places, those of errors first.
    order: Vec<usize>,
    is_running: bool,
    every_order: OnceLock<ProductBounds>,
}

impl<'a> Elements<'a> {
    /// Elements of these rows and columns, or of some: listed errors, and others spread between them.
    pub(super) fn new(
        request: &'a CheckRequest<'a>,
        listed: &[Outside],
        [rows, columns]: [&BTreeSet<usize>; 2],
        is_running: bool,
    ) -> Result<Elements<'a>> {
        let CheckRequest { claim, factors, d, .. } = request;
        let terms = if is_running { MOST_RUNNING_TERMS } else { MOST_TERMS };
        let most = (terms / factors.k()).clamp(LEAST_ELEMENTS, MOST_ELEMENTS);
        let side = (most as f64).sqrt() as usize;
        let rows = some(rows, side.max(most / columns.len()), listed.iter().map(|error| error.row));
        let columns = some(columns, most / rows.len(), listed.iter().map(|error| error.column));
        let schedules = claim.schedules.iter().map(Schedule::narrowed).collect();
        let d = d.chosen(&rows, &columns);
        let mut elements = Elements {
            request,
            claim: Claim { schedules, ..(*claim).clone() },
            factors: factors.chosen(&rows, &columns, claim.schedules[0].scales.as_ref()),
            rows,
            columns,
            values: d.values(),
            d,
            claimed: Vec::new(),
            errors: Vec::new(),
            order: Vec::new(),
            is_running,
            every_order: OnceLock::new(),
        };
        let sums = elements.sums(elements.schedule(), &elements.factors)?;
        let claimed = work::map(0..elements.values.len(), |at| {
            interrupt::check()?;
            Ok::<Expected, Error>(sums.at(at))
        })?;
        drop(sums);
        elements.claimed = claimed;
        let places = 0..elements.values.len();
        let (errors, right): (Vec<usize>, Vec<usize>) =
            places.partition(|at| elements.explained(*at, &elements.claimed[*at]).is_none());
        elements.order = errors.iter().chain(&right).copied().collect();
        elements.errors = errors;
        Ok(elements)
    }

    /// The schedule that is claimed, or the first of a family.
    pub(super) fn schedule(&self) -> &Schedule {
        &self.claim.schedules[0]
    }

    /// True if every element of D is tried.
    pub(super) fn is_all(&self) -> bool {
        self.values.len() == self.request.d.codes.len()
    }

    /// The row and column of a place, among those that are tried.
    pub(super) fn place(&self, at: usize) -> [usize; 2] {
        [at / self.columns.len(), at % self.columns.len()]
    }

    /// The error of a place, and how far it may be from the error that a cause makes.
    ///
    /// A cause that makes D larger makes its bound as much larger.
    pub(super) fn error(&self, at: usize) -> [f64; 2] {
        let (d, Expected { value, bound }) = (self.values[at], &self.claimed[at]);
        let growth = (d / value.to_f64()).abs().max(1.0);
        [(d - value.clone()).to_f64(), if *bound > 0.0 { 2.0 * growth * bound } else { 0.0 }]
    }

    /// The operands of the rows and columns that are tried.
    pub(super) fn chosen(&self, factors: &Factors) -> Factors {
        factors.chosen(&self.rows, &self.columns, self.request.claim.schedules[0].scales.as_ref())
    }

    /// The elements of a product, by the claim's bounds for its operands.
    pub(super) fn sums<'s>(&'s self, schedule: &'s Schedule, factors: &'s Factors) -> Result<Sums<'s>> {
        let columns = factors.b.columns;
        let bounds = match self.is_running {
            true => Bounds::Running(Box::new(ElementBounds::new(&self.claim.model, schedule, factors)?)),
            false => {
                // The bounds of the claimed product serve its variants too.
                let Schedule { alpha, beta, .. } = *schedule;
                let mut claim = self.claim.clone();
                if !claim.is_exact {
                    claim.schedules.iter_mut().for_each(|schedule| (schedule.alpha, schedule.beta) = (alpha, beta));
                }
                Bounds::EveryOrder(Box::new(match self.every_order.get() {
                    Some(known) => known.of_other(&claim, factors)?,
                    None => {
                        let first = ProductBounds::new(&claim, factors)?;
                        let bounds = first.of_other(&claim, factors)?;
                        self.every_order.get_or_init(|| first);
                        bounds
                    }
                }))
            }
        };
        Ok(Sums { exact: Yardsticks::new(schedule, factors), bounds, columns })
    }

    /// The fit of the claimed product after a change of its schedule and operands.
    ///
    /// `None` where there is nothing to change, or the model does not have the changed product.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Schedule, &mut Factors) -> bool) -> Result<Option<Fit>> {
        let (mut schedule, mut factors) = (self.schedule().clone(), self.factors.clone());
        if !change(&mut schedule, &mut factors) || schedule.check().is_err() {
            return Ok(None);
        }
        self.fit_of(&schedule, &factors, Sums::at)
    }

    /// The fit of elements that are made of another product.
    ///
    /// `None` where the model does not have the product.
    pub(super) fn fit_of<'s>(
        &'s self,
        schedule: &'s Schedule,
        factors: &'s Factors,
        expected: impl Fn(&Sums<'s>, usize) -> Expected + Sync,
    ) -> Result<Option<Fit>> {
        match self.sums(schedule, factors) {
            Ok(sums) => self.fit(|at| expected(&sums, at)),
            Err(error @ Error::Interrupted { .. }) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// How well a cause explains the elements; `None` unless it explains each of them.
    pub(super) fn fit(&self, expected: impl Fn(usize) -> Expected + Sync) -> Result<Option<Fit>> {
        let (first, others) = self.order.split_at(self.order.len().min(FIRST));
        let mut all = Fit::default();
        for batch in [first].into_iter().chain(others.chunks(BATCH)) {
            interrupt::check()?;
            for fit in parallel::map(batch, |at| self.explained(*at, &expected(*at))) {
                let Some(fit) = fit else { return Ok(None) };
                all = Fit { rest: all.rest.max(fit.rest), evidence: all.evidence + fit.evidence };
            }
        }
        Ok(Some(all))
    }

    /// The fit of one element; `None` if D is not within the bound of the expected value.
    fn explained(&self, at: usize, expected: &Expected) -> Option<Fit> {
        let (d, Expected { value, bound }) = (self.values[at], expected);
        if !value.is_finite() {
            return (d.is_nan() && value.is_nan() || d == value.to_f64()).then(Fit::default);
        }
        if self.overflows(d, expected) {
            return Some(Fit::default());
        }
        let distance = |value: &Float| (Float::with_val(value.prec(), d) - value).abs();
        let rest = distance(value);
        if !d.is_finite() || !bound.is_finite() || rest > *bound {
            return None;
        }
        let evidence = self.claimed.get(at).filter(|claimed| claimed.value.is_finite()).map_or(0.0, |claimed| {
            let error = distance(&claimed.value);
            let resolution = bound.max(d.abs() * 2f64.powi(-24)).max(f64::MIN_POSITIVE);
            let bits = (error.to_f64() / resolution).log2();
            if error > claimed.bound { bits.clamp(0.0, MOST_EVIDENCE) } else { 0.0 }
        });
        let rest = if rest == 0 { 0.0 } else { (rest / bound).to_f64() };
        Some(Fit { rest, evidence })
    }

    /// True if D overflowed, and the expected value is near enough to the end of the format.
    fn overflows(&self, d: f64, expected: &Expected) -> bool {
        let format = self.d.format;
        let largest = format.to_f64(format.largest(false));
        let value = expected.value.to_f64();
        let leaves = expected.bound.is_finite() && value.abs() + expected.bound > largest;
        match d.is_nan() {
            true => leaves && !format.has_infinity(),
            false => leaves && d.abs() >= largest && (d > 0.0) == (value > 0.0),
        }
    }

    /// A cause that explains every element.
    ///
    /// The errors narrow it down by more bits than its numbers were chosen by.
    pub(super) fn named(&self, cause: Cause, chosen_bits: f64, words: String, fit: Option<Fit>) -> Option<Explanation> {
        let fit = fit.filter(|fit| fit.evidence >= chosen_bits + LEAST_EVIDENCE)?;
        Some(Explanation { cause, words, k: None, rest: fit.rest })
    }
}

/// Chosen rows or columns: about half are listed ones, the others are spread over all.
fn some(all: &BTreeSet<usize>, count: usize, listed: impl Iterator<Item = usize>) -> Vec<usize> {
    if all.len() <= count {
        return all.iter().copied().collect();
    }
    let half = (count / 2).max(1);
    let mut chosen = BTreeSet::new();
    for number in listed.filter(|number| all.contains(number)) {
        if chosen.len() < half {
            chosen.insert(number);
        }
    }
    let numbers: Vec<usize> = all.iter().copied().collect();
    chosen.extend(spread(numbers.len(), count - half.min(count - 1)).into_iter().map(|at| numbers[at]));
    chosen.into_iter().collect()
}
