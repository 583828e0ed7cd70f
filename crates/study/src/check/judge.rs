//! Every element of a product against its bound.

use std::collections::BTreeSet;

use rug::Float;

use super::{
    Criterion, Diagnosis, SampleCheck, Tolerance,
    diagnosis::diagnose,
    sample,
    tally::{CriterionTally, ElementVerdict, Limits, Outside, Tally},
    tolerance::{self, Basis},
};
use crate::{
    Error, Result,
    arithmetic::{ElementaryOperation, SpecialOperands, Unpack, Wrap},
    base::interrupt,
    format::{Class, Format, Real},
    product::reference::{Yardstick, Yardsticks},
    product::{
        ElementPlace, Factors, Matrix, Schedule,
        bound::{Claim, ElementBounds, ProductBounds, has_order_free},
    },
};

/// A product and its claim.
#[derive(Clone, Copy)]
pub struct CheckRequest<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The operands, in the formats that the claim's instructions take.
    pub factors: &'a Factors,
    /// D.
    pub d: &'a Matrix,
    /// Elements that are computed in full, about.
    pub sample: usize,
    /// Tests that D is put to.
    pub criteria: &'a [Criterion],
}

/// A product, one or of a batch, and its check.
pub struct CheckedProduct<'a> {
    /// The product.
    pub request: CheckRequest<'a>,
    /// Its check.
    pub check: ProductCheck,
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
    /// Largest |D - exact| / bound of all elements with a verdict, up to the error of the reference.
    ///
    /// Infinite where a bound is 0 and the error is not. Elements that overflowed as they may have no error.
    pub tightest: f64,
    /// Largest |D - exact| of the same elements, up to the error of the reference.
    pub largest_error: f64,
    /// Largest bound.
    pub largest_bound: f64,
    /// The tolerance that the bounds of all elements justify; `None` where an element has none.
    pub tolerance: Option<Tolerance>,
    /// Results of the tests of the request, in order.
    pub(super) criteria: Vec<CriterionTally>,
    /// Elements that no test compares: their exact values are infinities or NaNs.
    pub not_compared: usize,
    /// The cause of the errors; `None` without an error.
    pub diagnosis: Option<Diagnosis>,
    /// The sample that was computed in full.
    pub sample: SampleCheck,
}

impl ProductCheck {
    /// The tolerances that the bounds justify: of all elements, and of the sample.
    pub fn tolerances(&self, d: &Format) -> Vec<Tolerance> {
        let known = self.tolerance.as_ref().map(|tolerance| tolerance.basis);
        let mut all: Vec<Tolerance> = self.tolerance.iter().cloned().collect();
        // A tolerance that elements outside the sample rule out is none of the sample either.
        let of_sample = tolerance::of_sample(d, &self.sample, known);
        all.extend(of_sample.into_iter().filter(|tolerance| tolerance.basis != Basis::Magnitudes));
        all
    }

    /// The check of all products of a batch.
    ///
    /// Elements outside are those of the first product that has some.
    pub fn joined(products: &[CheckedProduct]) -> ProductCheck {
        let mut checks = products.iter().map(|product| &product.check);
        let first = checks.next().expect("a batch has a product").clone();
        checks.fold(first, |mut all, other| {
            all.elements += other.elements;
            all.finished &= other.finished;
            all.within += other.within;
            all.overflowed += other.overflowed;
            all.undecided += other.undecided;
            all.decided_exactly += other.decided_exactly;
            if all.outside.is_empty() {
                all.outside.clone_from(&other.outside);
            }
            all.rows.extend(&other.rows);
            all.columns.extend(&other.columns);
            all.tiles.extend(&other.tiles);
            all.tightest = all.tightest.max(other.tightest);
            all.largest_error = all.largest_error.max(other.largest_error);
            all.largest_bound = all.largest_bound.max(other.largest_bound);
            all.criteria.resize(all.criteria.len().max(other.criteria.len()), CriterionTally::default());
            all.criteria.iter_mut().zip(&other.criteria).for_each(|(criterion, other)| criterion.add(other));
            all.not_compared += other.not_compared;
            all.diagnosis = all.diagnosis.or_else(|| other.diagnosis.clone());
            all.sample.add(&other.sample);
            all
        })
    }

    /// Number of elements outside their bounds.
    pub fn outside_count(&self) -> usize {
        self.elements - self.within - self.undecided
    }

    /// True if every element is within its bound, and the sample within the running bound.
    pub fn holds(&self) -> bool {
        self.within == self.elements && self.sample.running_outside.unwrap_or(0) == 0
    }
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
            "D holds {}, and the claim makes {}: leave out ‹output_format›, or give the D that it names",
            d.format, schedule.output.format
        )));
    }
    let plain = has_order_free(claim, factors);
    let exact = ExactElements::new(claim, factors, request.criteria);
    let basis = if plain { Basis::Magnitudes } else { Basis::Running };
    let tallies = match plain {
        true => {
            let values = d.values();
            let bounds = ProductBounds::new(claim, factors)?;
            // Tests compare errors that f32 does not resolve.
            let bounds = if request.criteria.is_empty() { bounds } else { bounds.in_doubles() };
            bounds.each(done, Tally::default, |tally, row, column, element| {
                tally.judge(&exact, d, ElementPlace { row, column }, values[row * d.columns + column], element);
            })
        }
        false => {
            let bounds = ElementBounds::new(&claim.model, schedule, factors)?;
            sample::known(&bounds, &exact, d, done)
        }
    };
    let mut tallies = tallies.into_iter();
    let mut all = tallies.next().unwrap_or_default();
    tallies.for_each(|tally| all.add(tally));
    let judged = all.judged();
    if judged < d.codes.len() {
        // Elements that were judged until an interruption are a result; none are not.
        return match judged {
            0 => Err(interrupt::check().err().unwrap_or_else(|| Error::device("no element was judged"))),
            _ => Ok(all.finished(d, basis, None)),
        };
    }
    let sample = match sample::has_bits(request, &all.unsettled).and_then(|has_bits| {
        all.settle(&has_bits);
        sample::sampled(request, &exact, plain)
    }) {
        Err(Error::Interrupted { .. }) => None,
        sample => Some(sample?),
    };
    let mut result = all.finished(d, basis, sample);
    // An interrupted check has the verdicts until then, and no diagnosis.
    if result.finished {
        match diagnose(request, &result) {
            Ok(diagnosis) => result.diagnosis = diagnosis,
            Err(Error::Interrupted { .. }) => result.finished = false,
            Err(error) => return Err(error),
        }
    }
    Ok(result)
}

/// Exact elements of the product.
pub(super) struct ExactElements<'a> {
    yardsticks: Yardsticks<'a>,
    factors: &'a Factors,
    schedule: &'a Schedule,
    /// True for each schedule of the claim whose sums of integers wrap.
    wraps: Vec<bool>,
    /// True if a unit of the claim takes infinities and NaNs of A and B for something else.
    reads_specials: bool,
    /// True if the claim is one schedule.
    pub(super) is_exact: bool,
    /// Magnitude from which on the sum of the terms of one sign may overflow.
    end: f64,
    /// Tests that D is put to.
    pub(super) criteria: &'a [Criterion],
}

/// Half of the largest number of the formats of a schedule's sums and of D.
fn end(schedule: &Schedule) -> f64 {
    let largest = |format: &Format| format.to_f64(format.largest(false));
    largest(schedule.instruction.d).min(largest(schedule.output.format)) / 2.0
}

/// The scales of A and B of an element's term.
///
/// That of A comes from the block whose number differs by the bits of `exchange`.
pub(super) fn term_scales(
    schedule: &Schedule,
    factors: &Factors,
    ElementPlace { row, column }: ElementPlace,
    k: usize,
    exchange: usize,
) -> [f64; 2] {
    match (&factors.scale_a, &factors.scale_b, schedule.instruction.scale, &schedule.scales) {
        (Some(x), Some(y), Some(scale), _) => {
            [x.value(row, (k / scale.block) ^ exchange), y.value(k / scale.block, column)]
        }
        (Some(x), Some(y), None, Some(blocks)) => {
            [x.value(row / blocks.a[0], (k / blocks.a[1]) ^ exchange), y.value(k / blocks.b[0], column / blocks.b[1])]
        }
        _ => [1.0; 2],
    }
}

/// True if a schedule's sums of integers wrap, which makes one result of every order.
fn wraps(claim: &Claim, schedule: &Schedule) -> bool {
    let wrapping = |operation: &ElementaryOperation| matches!(operation, ElementaryOperation::Integer(sum) if sum.wrap == Wrap::Wrap && sum.bits == 32);
    claim.model.program(&schedule.instruction).is_ok_and(|program| program.operations().any(wrapping))
}

/// True if the unit takes infinities and NaNs of A and B for something else.
fn reads_specials(claim: &Claim, schedule: &Schedule) -> bool {
    let is_other = |unpack: &Unpack| unpack.specials != SpecialOperands::Keep;
    claim.model.program(&schedule.instruction).is_ok_and(|program| program.unpack[..2].iter().any(is_other))
}

impl<'a> ExactElements<'a> {
    pub(super) fn new(claim: &'a Claim, factors: &'a Factors, criteria: &'a [Criterion]) -> ExactElements<'a> {
        let schedule = &claim.schedules[0];
        ExactElements {
            yardsticks: Yardsticks::new(schedule, factors),
            factors,
            schedule,
            wraps: claim.schedules.iter().map(|schedule| wraps(claim, schedule)).collect(),
            reads_specials: claim.schedules.iter().any(|schedule| reads_specials(claim, schedule)),
            is_exact: claim.is_exact,
            end: claim.schedules.iter().map(end).fold(f64::INFINITY, f64::min),
            criteria,
        }
    }

    /// The exact value of an element with finite operands, to nearest.
    pub(super) fn value(&self, ElementPlace { row, column }: ElementPlace) -> f64 {
        self.yardsticks.exact(row, column).to_f64()
    }

    /// The exact value, and its code in D's format; `None` if the operands make an infinity or a NaN.
    pub(super) fn rounded(&self, row: usize, column: usize, format: &Format) -> Option<(f64, Option<u64>)> {
        self.special(row, column).is_none().then(|| {
            let exact = self.yardsticks.measure(Yardstick::Exact, row, column, 0.0, format);
            (exact.value, exact.code)
        })
    }

    /// The product of the scales of an element's term.
    fn scale(&self, place: ElementPlace, k: usize) -> f64 {
        term_scales(self.schedule, self.factors, place, k, 0).iter().product()
    }

    /// The largest error of an element that is computed in f64, in any order.
    pub(super) fn reference_error(&self, place: ElementPlace) -> f64 {
        (self.factors.k() + 4) as f64 * f64::EPSILON * self.magnitudes(place)
    }

    /// The sum of the magnitudes of the terms of an element.
    pub(super) fn magnitudes(&self, place: ElementPlace) -> f64 {
        self.signed_sums(place).iter().sum()
    }

    /// The sums of the magnitudes of the positive and of the negative finite terms of an element.
    fn signed_sums(&self, ElementPlace { row, column }: ElementPlace) -> [f64; 2] {
        let Factors { a, b, c, bias, .. } = self.factors;
        let Schedule { alpha, beta, .. } = *self.schedule;
        // Finite factors whose product leaves f64 make a finite term.
        let term = |factors: &[f64]| {
            let product: f64 = factors.iter().product();
            factors.iter().all(|factor| factor.is_finite()).then_some(product.clamp(f64::MIN, f64::MAX))
        };
        let product =
            |k: usize| term(&[alpha, a.value(row, k), b.value(k, column), self.scale(ElementPlace { row, column }, k)]);
        let c = c.as_ref().and_then(|c| term(&[beta, c.value(row, column)]));
        let bias = bias.as_ref().and_then(|bias| term(&[bias.value(0, column)]));
        let terms = (0..self.factors.k()).filter_map(product).chain(c).chain(bias);
        terms.fold(
            [0.0; 2],
            |[positive, negative], term| {
                if term > 0.0 { [positive + term, negative] } else { [positive, negative + term.abs()] }
            },
        )
    }

    /// The infinity or NaN that the operands, alpha and beta make.
    fn special(&self, row: usize, column: usize) -> Option<Real> {
        let Factors { a, b, c, bias, .. } = self.factors;
        let Schedule { alpha, beta, .. } = *self.schedule;
        let mut sum = 0.0f64;
        for k in 0..self.factors.k() {
            let (x, y, scale) = (a.value(row, k), b.value(k, column), self.scale(ElementPlace { row, column }, k));
            // Finite operands whose product leaves f64 are finite.
            if !(x.is_finite() && y.is_finite() && scale.is_finite()) {
                sum += x * y * scale;
            }
        }
        // A sum without infinities is no infinity times alpha, whatever its value.
        let mut sum = if sum == 0.0 && alpha.is_finite() { 0.0 } else { sum * alpha };
        // With beta = 0 C is not read.
        if let Some(c) = c.as_ref().filter(|_| beta != 0.0) {
            let value = c.value(row, column);
            sum += if value.is_finite() && beta.is_finite() { 0.0 } else { value * beta };
        }
        if let Some(bias) = bias {
            let value = bias.value(0, column);
            sum += if value.is_finite() { 0.0 } else { value };
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
        ElementPlace { row, column }: ElementPlace,
        limits: Limits,
    ) -> (ElementVerdict, Outside) {
        let value = d.value(row, column);
        let bound = limits.bound;
        let element = |exact: f64, error: f64| Outside { row, column, d: value, exact, error, bound };
        let verdict = |right: bool| if right { ElementVerdict::Within } else { ElementVerdict::Outside };
        match self.special(row, column) {
            Some(special) if self.reads_specials => (ElementVerdict::Undecided, element(special.to_f64(), f64::NAN)),
            Some(Real::Nan) => {
                // A format without NaN has some other code for it.
                let verdict = if d.format.has_nan() { verdict(value.is_nan()) } else { ElementVerdict::Undecided };
                (verdict, element(f64::NAN, f64::NAN))
            }
            Some(infinity) => {
                let infinity = infinity.to_f64();
                let largest = d.format.to_f64(d.format.largest(infinity < 0.0));
                let verdict = match () {
                    () if value == infinity => ElementVerdict::Within,
                    () if !d.format.has_infinity() => verdict(value.is_nan() || value == largest),
                    // Finite terms may overflow to the other infinity, and a unit may take a subnormal factor for zero.
                    () if value.is_nan()
                        && (self.parts_may_become(ElementPlace { row, column }, -infinity)
                            || self.has_infinity_times_subnormal(row, column)) =>
                    {
                        ElementVerdict::Undecided
                    }
                    () => ElementVerdict::Outside,
                };
                (verdict, element(infinity, if verdict == ElementVerdict::Within { 0.0 } else { f64::INFINITY }))
            }
            None => {
                let exact = self.yardsticks.exact(row, column);
                let error = (Float::with_val(exact.prec(), value) - &exact).abs();
                let judged = element(
                    exact.to_f64(),
                    if value.is_finite() { error.to_f64_round(rug::float::Round::Up) } else { f64::INFINITY },
                );
                if value.is_finite() && bound.is_finite() && error <= bound {
                    return (ElementVerdict::Within, judged);
                }
                if d.format.is_integer() && self.wraps.contains(&true) {
                    let right = self.is_wrapped(&exact, d, value);
                    if right || !self.wraps.contains(&false) {
                        return (verdict(right), judged);
                    }
                }
                let verdict = match () {
                    () if bound.is_infinite() => ElementVerdict::Undecided,
                    () if self.overflows(d.format, judged.exact, bound, value) => ElementVerdict::Overflowed,
                    () if limits.may_saturate => ElementVerdict::Undecided,
                    () if limits.may_overflow && self.parts_may_become(ElementPlace { row, column }, value) => {
                        ElementVerdict::Undecided
                    }
                    () => ElementVerdict::Outside,
                };
                (verdict, judged)
            }
        }
    }

    /// True if parts of an element's sum may overflow, so that D becomes this infinity or NaN.
    fn parts_may_become(&self, place: ElementPlace, value: f64) -> bool {
        let [above, below] = self.signed_sums(place).map(|sum| sum >= self.end);
        match value {
            f64::INFINITY => above,
            f64::NEG_INFINITY => below,
            value => value.is_nan() && above && below,
        }
    }

    /// True if an infinite operand of an element is multiplied by a subnormal one.
    fn has_infinity_times_subnormal(&self, row: usize, column: usize) -> bool {
        let Factors { a, b, .. } = self.factors;
        let class = |matrix: &Matrix, row, column| matrix.format.decode(matrix.get(row, column)).class;
        (0..self.factors.k()).any(|k| {
            let classes = [class(a, row, k), class(b, k, column)];
            classes.contains(&Class::Infinite) && classes.contains(&Class::Subnormal)
        })
    }

    /// True if D is the exact sum of integers, brought into the range of its format.
    fn is_wrapped(&self, exact: &Float, d: &Matrix, value: f64) -> bool {
        let Some(mut rest) = (exact.clone() - value).to_integer() else { return false };
        rest.keep_bits_mut(d.format.bits);
        exact.is_integer() && rest == 0
    }

    /// True if D overflowed, and the exact value is near enough to the end of the format.
    fn overflows(&self, format: &Format, exact: f64, bound: f64, value: f64) -> bool {
        let largest = format.to_f64(format.largest(false));
        let above = exact + bound > largest;
        let below = exact - bound < -largest;
        match value {
            value if value.is_nan() => !format.has_infinity() && (above || below),
            value if value.is_infinite() => value > 0.0 && above || value < 0.0 && below,
            value => value == largest && above || value == -largest && below,
        }
    }
}
