//! Every element of a product against its bound.

use std::collections::BTreeSet;

use rug::Float;

use super::{Diagnosis, SampleCheck, Tolerance, diagnosis::diagnose, sample, tolerance};
use crate::{
    Error, Result,
    arithmetic::{ElementaryOperation, Wrap},
    base::interrupt,
    bound::{Claim, ElementBounds, ElementReference, ProductBounds, is_bare},
    format::{Format, Real},
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
    /// An overflow where the exact value is near enough to the end of the format.
    Overflowed,
    /// To be decided by the bits of the claimed schedule.
    ///
    /// An infinity or a NaN of a sum whose parts may overflow, or a sum without a bound.
    Undecided,
    /// Nothing is known of the sum: parts of it may saturate.
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
    /// Elements within their bounds.
    pub within: usize,
    /// Elements of these that overflowed as they may.
    pub overflowed: usize,
    /// Elements without a bound, which are not decided.
    pub undecided: usize,
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
    /// The cause of the errors; `None` without an error.
    pub diagnosis: Option<Diagnosis>,
    /// The sample that was computed in full.
    pub sample: SampleCheck,
}

impl ProductCheck {
    /// Number of elements outside their bounds.
    pub fn outside_count(&self) -> usize {
        self.elements - self.within - self.undecided
    }

    /// True if every element is within its bound, and the sample within the running bound.
    pub fn holds(&self) -> bool {
        self.within == self.elements && self.sample.running_outside.unwrap_or(0) == 0
    }
}

/// Counts of a block of elements.
#[derive(Default)]
pub(super) struct Tally {
    within: usize,
    overflowed: usize,
    unbounded: usize,
    /// Elements that only the claimed schedule itself decides.
    undecided: Vec<Outside>,
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
            "D is {}, and A times B is {} x {}: give the D of these A and B",
            d.shape(),
            factors.a.rows,
            factors.b.columns
        )));
    }
    if d.format != schedule.output.format {
        return Err(Error::request(format!(
            "D holds {}, and the claim makes {}: leave out --output-format, or give the D that it names",
            d.format, schedule.output.format
        )));
    }
    let plain = is_bare(schedule, factors);
    let exact = ExactElements {
        yardsticks: Yardsticks::new(schedule, factors),
        factors,
        schedule,
        wraps: claim.schedules.iter().map(|own| wraps(claim, own)).collect(),
        is_exact: claim.is_exact,
    };
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
    let judged = all.judged();
    if judged < d.codes.len() {
        // Elements that were judged until an interruption are a result; none are not.
        return match judged {
            0 => Err(interrupt::check().err().unwrap_or_else(|| Error::device("no element was judged"))),
            _ => Ok(all.finished(d, None)),
        };
    }
    if !all.undecided.is_empty() {
        let undecided = std::mem::take(&mut all.undecided);
        match sample::bits(request, &undecided) {
            Ok(right) => all.decide_by_bits(undecided, &right),
            Err(Error::Interrupted { .. }) => {
                all.undecided = undecided;
                return Ok(all.finished(d, None));
            }
            Err(error) => return Err(error),
        }
    }
    let sample = match sample::sampled(request, &exact, plain) {
        Err(Error::Interrupted { .. }) => None,
        sample => Some(sample?),
    };
    let mut found = all.finished(d, sample);
    // An interrupted check has the verdicts until then, and no diagnosis.
    if found.finished {
        match diagnose(request, &found) {
            Ok(diagnosis) => found.diagnosis = diagnosis,
            Err(Error::Interrupted { .. }) => found.finished = false,
            Err(error) => return Err(error),
        }
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
            self.widen(exact, d, (row, column), (element.value.abs() - element.off, element.bound));
            if distance + element.off <= element.bound {
                self.within += 1;
                return;
            }
        }
        self.decided += 1;
        self.decide(exact, d, (row, column), (element.bound, element.may_overflow));
    }

    /// Judges an element by its exact sum.
    pub(super) fn decide(
        &mut self,
        exact: &ExactElements,
        d: &Matrix,
        place: (usize, usize),
        (bound, may_overflow): (f64, bool),
    ) {
        let (verdict, outside) = exact.judge(d, place, (bound, may_overflow));
        match verdict {
            ElementVerdict::Within => {
                self.within += 1;
                self.note(outside.error, bound);
            }
            ElementVerdict::Overflowed => {
                self.within += 1;
                self.overflowed += 1;
            }
            ElementVerdict::Undecided => self.undecided.push(outside),
            ElementVerdict::Unbounded => self.unbounded += 1,
            ElementVerdict::Outside => self.outside.push(outside),
        }
        // Infinities and NaNs that the operands make have no bound to cover.
        if outside.exact.is_finite() {
            self.widen(exact, d, place, (outside.exact.abs(), bound));
        }
    }

    /// Decides elements by the bits of the claimed schedule; those that were not compared stay undecided.
    fn decide_by_bits(&mut self, undecided: Vec<Outside>, right: &[bool]) {
        for (at, own) in undecided.into_iter().enumerate() {
            match right.get(at) {
                Some(true) => {
                    self.within += 1;
                    self.overflowed += usize::from(!own.d.is_finite());
                }
                Some(false) => self.outside.push(own),
                None => self.unbounded += 1,
            }
        }
    }

    /// Elements so far.
    fn judged(&self) -> usize {
        self.within + self.unbounded + self.undecided.len() + self.outside.len()
    }

    fn note(&mut self, error: f64, bound: f64) {
        if error.is_finite() {
            self.largest_error = self.largest_error.max(error);
            self.tightest = self.tightest.max(if bound > 0.0 { error / bound } else { 0.0 });
        }
    }

    /// Notes a bound; a tolerance covers what the relative tolerance leaves of it.
    /// The exact value has at least this magnitude.
    fn widen(&mut self, exact: &ExactElements, d: &Matrix, place: (usize, usize), (magnitude, bound): (f64, f64)) {
        self.largest_bound = self.largest_bound.max(bound);
        // The product that a test computes in f64 has errors of its own.
        let reference = if d.format.bits == 64 { exact.reference_error(place) } else { 0.0 };
        self.rest = self.rest.max(bound + reference - tolerance::relative(d.format) * magnitude.max(0.0));
    }

    fn add(&mut self, other: Tally) {
        self.within += other.within;
        self.overflowed += other.overflowed;
        self.unbounded += other.unbounded;
        self.undecided.extend(other.undecided);
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
            elements: self.judged(),
            finished: sample.is_some(),
            within: self.within,
            overflowed: self.overflowed,
            undecided: self.unbounded + self.undecided.len(),
            decided_exactly: self.decided,
            rows: places().map(|own| own.row).collect(),
            columns: places().map(|own| own.column).collect(),
            tiles: places().map(|own| (own.row / 64, own.column / 64)).collect(),
            outside: places().take(LISTED).copied().collect(),
            tightest: self.tightest,
            largest_error: self.largest_error,
            largest_bound: self.largest_bound,
            tolerance: tolerance::derived(d.format, self.rest),
            diagnosis: None,
            sample: sample.unwrap_or_default(),
        }
    }
}

/// Exact elements of the product.
pub(super) struct ExactElements<'a> {
    yardsticks: Yardsticks<'a>,
    factors: &'a Factors,
    schedule: &'a Schedule,
    /// True for each schedule of the claim whose sums of integers wrap.
    wraps: Vec<bool>,
    /// True if the claim is one schedule.
    is_exact: bool,
}

/// True if a schedule's sums of integers wrap, which makes one result of every order.
fn wraps(claim: &Claim, schedule: &Schedule) -> bool {
    let wrapping = |operation: &ElementaryOperation| matches!(operation, ElementaryOperation::Integer(sum) if sum.wrap == Wrap::Wrap && sum.bits == 32);
    claim.model.program(&schedule.instruction).is_ok_and(|program| program.operations().any(wrapping))
}

impl ExactElements<'_> {
    /// The exact value, rounded to a code of D.
    pub(super) fn code(&self, row: usize, column: usize) -> Option<u64> {
        self.special(row, column).is_none().then(|| self.yardsticks.rounded_exact(row, column))?
    }

    /// The product of the scales of an element's term.
    fn scale(&self, (row, column): (usize, usize), k: usize) -> f64 {
        let Factors { scale_a, scale_b, .. } = self.factors;
        match (scale_a, scale_b, self.schedule.instruction.scale, &self.schedule.scales) {
            (Some(x), Some(y), Some(scale), _) => x.value(row, k / scale.block) * y.value(k / scale.block, column),
            (Some(x), Some(y), None, Some(blocks)) => {
                x.value(row / blocks.a[0], k / blocks.a[1]) * y.value(k / blocks.b[0], column / blocks.b[1])
            }
            _ => 1.0,
        }
    }

    /// The largest error of an element that is computed in f64, in any order.
    fn reference_error(&self, (row, column): (usize, usize)) -> f64 {
        let Factors { a, b, c, bias, .. } = self.factors;
        let k = self.factors.k();
        let term = |k: usize| a.value(row, k) * b.value(k, column) * self.scale((row, column), k);
        let products: f64 = (0..k).map(|k| term(k).abs()).sum();
        let added = |own: Option<f64>| own.map_or(0.0, f64::abs);
        let c = added(c.as_ref().map(|c| self.schedule.beta * c.value(row, column)));
        let bias = added(bias.as_ref().map(|bias| bias.value(0, column)));
        (k + 4) as f64 * f64::EPSILON * (self.schedule.alpha.abs() * products + c + bias)
    }

    /// The infinity or NaN that the operands, alpha and beta make.
    fn special(&self, row: usize, column: usize) -> Option<Real> {
        let Factors { a, b, c, bias, .. } = self.factors;
        let Schedule { alpha, beta, .. } = *self.schedule;
        let mut sum = 0.0f64;
        for k in 0..self.factors.k() {
            let (x, y, scale) = (a.value(row, k), b.value(k, column), self.scale((row, column), k));
            // Finite operands whose product leaves f64 are finite.
            if !(x.is_finite() && y.is_finite() && scale.is_finite()) {
                sum += x * y * scale;
            }
        }
        // A sum without infinities is no infinity times alpha, whatever its value.
        let mut sum = if sum == 0.0 && alpha.is_finite() { 0.0 } else { sum * alpha };
        // With beta = 0 C is not read.
        if let Some(c) = c.as_ref().filter(|_| beta != 0.0) {
            let own = c.value(row, column);
            sum += if own.is_finite() && beta.is_finite() { 0.0 } else { own * beta };
        }
        if let Some(bias) = bias {
            let own = bias.value(0, column);
            sum += if own.is_finite() { 0.0 } else { own };
        }
        match sum {
            sum if sum.is_nan() => Some(Real::Nan),
            sum if sum.is_infinite() => Some(Real::Infinity { negative: sum < 0.0 }),
            _ => None,
        }
    }

    /// The verdict about an element of D.
    pub(super) fn judge(
        &self,
        d: &Matrix,
        (row, column): (usize, usize),
        (bound, may_overflow): (f64, bool),
    ) -> (ElementVerdict, Outside) {
        let own = d.value(row, column);
        let of = |exact: f64, error: f64| Outside { row, column, d: own, exact, error, bound };
        let verdict = |right: bool| if right { ElementVerdict::Within } else { ElementVerdict::Outside };
        match self.special(row, column) {
            // A format without NaN has some other code for it.
            Some(Real::Nan) => (verdict(own.is_nan() || !d.format.has_nan()), of(f64::NAN, f64::NAN)),
            Some(infinity) => {
                let infinity = infinity.to_f64();
                (verdict(own == infinity || !d.format.has_infinity()), of(infinity, f64::INFINITY))
            }
            None => {
                let exact = self.yardsticks.exact(row, column);
                let value = exact.to_f64();
                let error = (Float::with_val(exact.prec(), own) - &exact).abs();
                let found = of(value, if own.is_finite() { error.to_f64() } else { f64::INFINITY });
                if own.is_finite() && bound.is_finite() && error <= bound {
                    return (ElementVerdict::Within, found);
                }
                if d.format.is_integer() && self.wraps.contains(&true) {
                    let right = self.is_wrapped(&exact, d, own);
                    if right || !self.wraps.contains(&false) {
                        return (verdict(right), found);
                    }
                }
                let verdict = match () {
                    () if bound.is_infinite() && !self.is_exact => ElementVerdict::Unbounded,
                    () if bound.is_infinite() => ElementVerdict::Undecided,
                    () if self.overflows(d.format, value, bound, own) => ElementVerdict::Overflowed,
                    () if !own.is_finite() && may_overflow && self.is_exact => ElementVerdict::Undecided,
                    () => ElementVerdict::Outside,
                };
                (verdict, found)
            }
        }
    }

    /// True if D is the exact sum of integers, brought into the range of its format.
    fn is_wrapped(&self, exact: &Float, d: &Matrix, own: f64) -> bool {
        let Some(mut rest) = (exact.clone() - own).to_integer() else { return false };
        rest.keep_bits_mut(d.format.bits);
        exact.is_integer() && rest == 0
    }

    /// True if D overflowed, and the exact value is near enough to the end of the format.
    fn overflows(&self, format: &Format, exact: f64, bound: f64, own: f64) -> bool {
        let largest = format.to_f64(format.largest(false));
        let above = exact + bound > largest;
        let below = exact - bound < -largest;
        match own {
            own if own.is_nan() => !format.has_infinity() && (above || below),
            own if own.is_infinite() => own > 0.0 && above || own < 0.0 && below,
            own => own == largest && above || own == -largest && below,
        }
    }
}
