//! Every element of a product against its bound.

use std::collections::BTreeSet;

use rug::Float;

use super::{FaultPlace, SampleCheck, Tolerance, place::place, sample, tolerance};
use crate::{
    Error, Result,
    base::interrupt,
    bound::{Claim, ElementBounds, ElementReference, ProductBounds, is_bare},
    format::Real,
    gemm::{Factors, Matrix, Schedule, Yardsticks},
};

/// Elements outside that are listed, at most.
pub(super) const LISTED: usize = 64;

/// The verdict about an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementVerdict {
    /// Within its bound.
    Within,
    /// Outside.
    Outside,
    /// Within, since its sum may overflow, so that every D is possible.
    Unbounded,
}

/// An element outside its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outside {
    /// Row of D.
    pub row: usize,
    /// Column of D.
    pub column: usize,
    /// The element of D.
    pub d: f64,
    /// The exact value, as f64.
    pub exact: f64,
    /// |D - exact|; infinite or NaN where D or the exact value is.
    pub error: f64,
    /// The bound.
    pub bound: f64,
}

/// A product and its claim.
pub struct CheckRequest<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The operands, in the formats that the claim's instructions take.
    pub factors: &'a Factors,
    /// D.
    pub d: &'a Matrix,
    /// Elements that are computed in full, about.
    pub sample: usize,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductCheck {
    /// Elements of D that were judged.
    pub elements: usize,
    /// False if an interruption ended the check early; the sample is then missing.
    pub finished: bool,
    /// Elements within their bounds, those without a bound included.
    pub within: usize,
    /// Elements whose sums may overflow, so that they have no bound.
    pub unbounded: usize,
    /// Elements that the reference did not decide, and an exact sum did.
    pub decided_exactly: usize,
    /// Some elements outside their bounds, the worst first.
    pub outside: Vec<Outside>,
    /// Rows, columns and tiles of 64 x 64 with an element outside.
    pub rows: BTreeSet<usize>,
    /// Columns with one.
    pub columns: BTreeSet<usize>,
    /// Tiles with one.
    pub tiles: BTreeSet<(usize, usize)>,
    /// Largest |D - exact| / bound of the elements within, up to the error of the reference.
    pub tightest: f64,
    /// Largest |D - exact|, up to the error of the reference.
    pub largest_error: f64,
    /// Largest bound.
    pub largest_bound: f64,
    /// The tolerance that the bounds justify; `None` where an element has none.
    pub tolerance: Option<Tolerance>,
    /// The k at which a fault lies that explains the elements outside.
    pub place: Option<FaultPlace>,
    /// The sample that was computed in full.
    pub sample: SampleCheck,
}

impl ProductCheck {
    /// Number of elements outside their bounds.
    pub fn outside_count(&self) -> usize {
        self.elements - self.within
    }

    /// True if every element is within its bound, and the sample within the running bound.
    pub fn holds(&self) -> bool {
        self.outside_count() == 0 && self.sample.running_outside.unwrap_or(0) == 0
    }
}

/// Counts of a block of elements.
#[derive(Default)]
pub(super) struct Tally {
    within: usize,
    unbounded: usize,
    decided: usize,
    outside: Vec<Outside>,
    tightest: f64,
    largest_error: f64,
    largest_bound: f64,
    /// Largest bound, less the relative tolerance times the reference.
    rest: f64,
}

/// Checks every element of a product.
///
/// An interrupted check has the elements until then ([`ProductCheck::finished`]).
///
/// Products with C, a bias, alpha, or scales of the schedule are judged by running bounds, element by element; they take one schedule.
///
/// # Errors
/// Matrices that do not fit; operands in other formats than the claim takes; [`Error::Interrupted`] before the first element.
pub fn check(request: &CheckRequest, done: &(dyn Fn(u64) + Sync)) -> Result<ProductCheck> {
    let CheckRequest { claim, factors, d, .. } = request;
    let schedule = &claim.schedules[0];
    factors.check(schedule)?;
    if (d.rows, d.columns) != (factors.a.rows, factors.b.columns) {
        return Err(Error::request(format!(
            "D is {}, and A times B is {} x {}: D is another product",
            d.shape(),
            factors.a.rows,
            factors.b.columns
        )));
    }
    if d.format != schedule.output.format {
        return Err(Error::request(format!(
            "D holds {}, and the claim makes {}; --output-format names the format of D",
            d.format, schedule.output.format
        )));
    }
    let plain = is_bare(schedule, factors);
    let exact = ExactElements { yardsticks: Yardsticks::new(schedule, factors), factors, schedule };
    let tallies = match plain {
        true => {
            let values = d.values();
            ProductBounds::new(claim, factors)?.each(done, Tally::default, |tally, row, column, element| {
                tally.judge(&exact, d, (row, column, values[row * d.columns + column]), element);
            })
        }
        false => {
            let [schedule] = &claim.schedules[..] else {
                return Err(Error::request(
                    "with C, a bias, alpha or scales of the schedule, give --instr or --schedule",
                ));
            };
            let bounds = ElementBounds::new(&claim.model, schedule, factors)?;
            sample::known(&bounds, &exact, d, done)
        }
    };
    let mut tallies = tallies.into_iter();
    let mut all = tallies.next().unwrap_or_default();
    tallies.for_each(|own| all.add(own));
    let judged = all.within + all.outside.len();
    if judged < d.codes.len() {
        // Elements that were judged until an interruption are a result; none are not.
        return match judged {
            0 => Err(interrupt::check().err().unwrap_or_else(|| Error::device("no element was judged"))),
            _ => Ok(all.finished(d, None)),
        };
    }
    let sample = match sample::sampled(request, &exact, plain) {
        Err(Error::Interrupted { .. }) => None,
        sample => Some(sample?),
    };
    let mut found = all.finished(d, sample);
    if plain {
        let outside = if found.outside.is_empty() { &found.sample.outside } else { &found.outside };
        found.place = place(outside, factors, &schedule.instruction);
    }
    Ok(found)
}

impl Tally {
    /// Judges an element by its reference, or by its exact sum where the reference cannot decide.
    fn judge(
        &mut self,
        exact: &ExactElements,
        d: &Matrix,
        (row, column, own): (usize, usize, f64),
        element: &ElementReference,
    ) {
        let distance = (own - element.value).abs();
        if own.is_finite() && element.value.is_finite() && element.bound.is_finite() {
            self.note(distance, element.bound);
            self.widen(d, element.value.abs() - element.off, element.bound);
            if distance + element.off <= element.bound {
                self.within += 1;
                return;
            }
        }
        self.decided += 1;
        self.decide(exact, d, row, column, element.bound);
    }

    /// Judges an element by its exact sum.
    pub(super) fn decide(&mut self, exact: &ExactElements, d: &Matrix, row: usize, column: usize, bound: f64) {
        let (verdict, outside) = exact.judge(d, row, column, bound);
        match verdict {
            ElementVerdict::Within => {
                self.within += 1;
                self.note(outside.error, bound);
            }
            ElementVerdict::Unbounded => {
                self.within += 1;
                self.unbounded += 1;
            }
            ElementVerdict::Outside => self.outside.push(outside),
        }
        // Infinities and NaNs that the operands make have no bound to cover.
        if outside.exact.is_finite() {
            self.widen(d, outside.exact.abs(), bound);
        }
    }

    fn note(&mut self, error: f64, bound: f64) {
        if error.is_finite() {
            self.largest_error = self.largest_error.max(error);
            self.tightest = self.tightest.max(if bound > 0.0 { error / bound } else { 0.0 });
        }
    }

    /// Notes a bound; a tolerance covers what the relative tolerance leaves of it.
    /// The exact value has at least this magnitude.
    fn widen(&mut self, d: &Matrix, magnitude: f64, bound: f64) {
        self.largest_bound = self.largest_bound.max(bound);
        self.rest = self.rest.max(bound - tolerance::relative(d.format) * magnitude.max(0.0));
    }

    fn add(&mut self, other: Tally) {
        self.within += other.within;
        self.unbounded += other.unbounded;
        self.decided += other.decided;
        self.outside.extend(other.outside);
        self.tightest = self.tightest.max(other.tightest);
        self.largest_error = self.largest_error.max(other.largest_error);
        self.rest = self.rest.max(other.rest);
        self.largest_bound = self.largest_bound.max(other.largest_bound);
    }

    fn finished(mut self, d: &Matrix, sample: Option<SampleCheck>) -> ProductCheck {
        let excess = |own: &Outside| {
            if own.error.is_finite() { own.error / own.bound.max(f64::MIN_POSITIVE) } else { f64::INFINITY }
        };
        self.outside.sort_by(|x, y| excess(y).total_cmp(&excess(x)).then((x.row, x.column).cmp(&(y.row, y.column))));
        let places = || self.outside.iter();
        ProductCheck {
            elements: self.within + self.outside.len(),
            finished: sample.is_some(),
            within: self.within,
            unbounded: self.unbounded,
            decided_exactly: self.decided,
            rows: places().map(|own| own.row).collect(),
            columns: places().map(|own| own.column).collect(),
            tiles: places().map(|own| (own.row / 64, own.column / 64)).collect(),
            outside: places().take(LISTED).copied().collect(),
            tightest: self.tightest,
            largest_error: self.largest_error,
            largest_bound: self.largest_bound,
            tolerance: tolerance::derived(d.format, self.rest),
            place: None,
            sample: sample.unwrap_or_default(),
        }
    }
}

/// Exact elements of the product.
pub(super) struct ExactElements<'a> {
    yardsticks: Yardsticks<'a>,
    factors: &'a Factors,
    schedule: &'a Schedule,
}

impl ExactElements<'_> {
    /// The exact value, rounded to a code of D.
    pub(super) fn code(&self, row: usize, column: usize) -> Option<u64> {
        self.special(row, column).is_none().then(|| self.yardsticks.rounded_exact(row, column))?
    }

    /// The infinity or NaN that the operands make.
    fn special(&self, row: usize, column: usize) -> Option<Real> {
        let Factors { a, b, c, bias, scale_a, scale_b } = self.factors;
        let scaled =
            |matrix: &Option<Matrix>, row: usize, column: usize| match (matrix, self.schedule.instruction.scale) {
                (Some(own), Some(_)) => own.value(row, column),
                _ => 1.0,
            };
        let mut sum = 0.0f64;
        for k in 0..self.factors.k() {
            let block = self.schedule.instruction.scale.map_or(0, |scale| k / scale.block);
            let product =
                a.value(row, k) * b.value(k, column) * scaled(scale_a, row, block) * scaled(scale_b, block, column);
            // Finite operands whose product leaves f64 are finite.
            let finite = a.value(row, k).is_finite() && b.value(k, column).is_finite() && !product.is_nan();
            if !finite {
                sum += product;
            }
        }
        for own in [c.as_ref().map(|c| c.value(row, column)), bias.as_ref().map(|bias| bias.value(0, column))] {
            sum += own.filter(|own| !own.is_finite()).unwrap_or(0.0);
        }
        match sum {
            sum if sum.is_nan() => Some(Real::Nan),
            sum if sum.is_infinite() => Some(Real::Infinity { negative: sum < 0.0 }),
            _ => None,
        }
    }

    /// The verdict about an element of D.
    pub(super) fn judge(&self, d: &Matrix, row: usize, column: usize, bound: f64) -> (ElementVerdict, Outside) {
        let own = d.value(row, column);
        let of = |exact: f64, error: f64| Outside { row, column, d: own, exact, error, bound };
        match self.special(row, column) {
            Some(Real::Nan) => {
                // A format without NaN has some other code for it.
                let right = own.is_nan() || !d.format.has_nan();
                (if right { ElementVerdict::Within } else { ElementVerdict::Outside }, of(f64::NAN, f64::NAN))
            }
            Some(infinity) => {
                let infinity = infinity.to_f64();
                let right = own == infinity || !d.format.has_infinity();
                (if right { ElementVerdict::Within } else { ElementVerdict::Outside }, of(infinity, f64::INFINITY))
            }
            None => {
                let exact = self.yardsticks.exact(row, column);
                if bound.is_infinite() {
                    return (ElementVerdict::Unbounded, of(exact.to_f64(), f64::INFINITY));
                }
                if !own.is_finite() {
                    return (ElementVerdict::Outside, of(exact.to_f64(), f64::INFINITY));
                }
                let error = (Float::with_val(exact.prec(), own) - &exact).abs();
                let verdict = if error <= bound { ElementVerdict::Within } else { ElementVerdict::Outside };
                (verdict, of(exact.to_f64(), error.to_f64()))
            }
        }
    }
}
