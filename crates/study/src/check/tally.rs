//! Verdicts about elements, and measures of the same elements.

use std::collections::BTreeSet;

use super::{
    ProductCheck, SampleCheck,
    criterion::{Compared, Measured},
    judge::ExactElements,
    tolerance::{self, Basis},
};
use crate::product::{ElementPlace, Matrix, bound::ElementReference};

/// Elements outside that are listed, at most.
pub(super) const LISTED: usize = 64;
/// The least ratio of an error to the error of the reference, by which the error is measured for tests.
const RESOLUTION: f64 = 16.0;

/// The verdict about an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementVerdict {
    /// Within its bound.
    Within,
    /// Outside.
    Outside,
    /// An overflow where the exact value is near enough to the end of the format.
    Overflowed,
    /// Not decided by its bound: parts of the sum may overflow, saturate or wrap.
    ///
    /// The bits of a claimed schedule decide.
    Undecided,
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

/// Limits of an element's error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The bound of a finite D; infinite where nothing is known.
    pub(super) bound: f64,
    /// True if a part of the sum may overflow, so that D may be an infinity or a NaN.
    pub(super) may_overflow: bool,
    /// True if the bound leaves out schedules whose parts may saturate.
    pub(super) may_saturate: bool,
}

/// The elements that a test has seen, and the products that their bounds allow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CriterionTally {
    pub(super) d: Measured,
    pub(super) bounds: Measured,
}

impl CriterionTally {
    pub(super) fn add(&mut self, other: &CriterionTally) {
        self.d.add(&other.d);
        self.bounds.add(&other.bounds);
    }
}

/// Verdicts about the elements so far, and what was measured of the elements that have one.
#[derive(Default)]
pub(super) struct Tally {
    /// The tests of the request, each with what it has seen.
    criteria: Vec<CriterionTally>,
    /// Elements that no test compares, as the exact value is an infinity or a NaN.
    not_compared: usize,
    within: usize,
    overflowed: usize,
    undecided: usize,
    /// Elements that their bounds refuse or do not decide.
    pub(super) unsettled: Vec<(ElementVerdict, Outside)>,
    /// Elements that the reference did not decide, and an exact sum did.
    decided_exactly: usize,
    pub(super) outside: Vec<Outside>,
    /// Largest |D - exact| over the bound.
    pub(super) largest_ratio: f64,
    largest_error: f64,
    largest_bound: f64,
    /// Largest bound, less the relative tolerance times the reference; infinite where no tolerance holds.
    absolute_tolerance: f64,
}

impl Tally {
    /// Judges an element by its reference, or by its exact sum where the reference cannot decide.
    pub(super) fn judge(
        &mut self,
        exact: &ExactElements,
        d: &Matrix,
        place: ElementPlace,
        value: f64,
        element: &ElementReference,
    ) {
        let ElementPlace { row, column } = place;
        let ElementReference { bound, may_overflow, may_saturate, .. } = *element;
        let limits = Limits { bound, may_overflow, may_saturate };
        let error = (value - element.value).abs();
        // A test of D takes the exact sum where the reference does not resolve the error.
        let is_resolved = exact.criteria.is_empty() || element.off * RESOLUTION <= error;
        if value.is_finite() && bound.is_finite() && error + element.off <= bound && is_resolved {
            self.compare(exact, d, Compared { exact: element.value, d: value, error }, bound);
            self.enter(ElementVerdict::Within, Outside { row, column, d: value, exact: element.value, error, bound });
            self.widen(exact, d, place, element.value.abs() - element.off, limits);
            return;
        }
        self.decided_exactly += usize::from(is_resolved);
        self.decide(exact, d, place, limits);
    }

    /// Judges an element by its exact sum.
    pub(super) fn decide(&mut self, exact: &ExactElements, d: &Matrix, place: ElementPlace, limits: Limits) {
        let (verdict, element) = exact.judge(d, place, limits);
        let Outside { d: value, exact: exact_value, error, .. } = element;
        self.compare(exact, d, Compared { exact: exact_value, d: value, error }, limits.bound);
        self.enter(verdict, element);
        // Infinities and NaNs that the operands make have no bound to cover.
        if !element.exact.is_nan() && verdict != ElementVerdict::Undecided {
            self.widen(exact, d, place, element.exact.abs(), limits);
        }
    }

    /// Shows an element to the tests.
    fn compare(&mut self, exact: &ExactElements, d: &Matrix, compared: Compared, bound: f64) {
        if exact.criteria.is_empty() {
            return;
        }
        if !compared.exact.is_finite() {
            self.not_compared += 1;
            return;
        }
        self.criteria.resize(exact.criteria.len(), CriterionTally::default());
        for (criterion, tally) in exact.criteria.iter().zip(&mut self.criteria) {
            criterion.note(&mut tally.d, compared, d.format);
            criterion.note_bound(&mut tally.bounds, compared.exact, bound, d.format);
        }
    }

    fn enter(&mut self, verdict: ElementVerdict, element: Outside) {
        match verdict {
            ElementVerdict::Within => {
                self.within += 1;
                self.measure(&element);
            }
            ElementVerdict::Overflowed => self.overflow(),
            ElementVerdict::Outside | ElementVerdict::Undecided => self.unsettled.push((verdict, element)),
        }
    }

    /// Counts an element that overflowed as it may. No tolerance covers it.
    fn overflow(&mut self) {
        self.within += 1;
        self.overflowed += 1;
        self.absolute_tolerance = f64::INFINITY;
    }

    /// Settles the elements that bounds refuse or leave open.
    ///
    /// `has_bits` is true for each of the first whose D has the bits of the claimed schedule.
    /// An element with these bits is right. Any other element that its bound refuses is outside; one that the bound does not decide is
    /// outside if its bits were compared.
    pub(super) fn settle(&mut self, has_bits: &[bool]) {
        for (at, (verdict, mut element)) in std::mem::take(&mut self.unsettled).into_iter().enumerate() {
            match (has_bits.get(at), verdict) {
                (Some(true), _) if element.error.is_finite() && element.exact.is_finite() => {
                    // The schedule attains this error, whatever is known of its bound.
                    element.bound =
                        if element.bound.is_finite() { element.bound.max(element.error) } else { element.error };
                    self.largest_bound = self.largest_bound.max(element.bound);
                    self.absolute_tolerance = self.absolute_tolerance.max(element.bound);
                    self.enter(ElementVerdict::Within, element);
                }
                (Some(true), _) if element.exact.is_finite() => self.overflow(),
                (Some(true), _) => self.within += 1,
                (None, ElementVerdict::Undecided) => {
                    self.undecided += 1;
                    self.absolute_tolerance = f64::INFINITY;
                }
                _ => {
                    self.measure(&element);
                    self.outside.push(element);
                }
            }
        }
    }

    /// Elements so far.
    pub(super) fn judged(&self) -> usize {
        self.within + self.undecided + self.unsettled.len() + self.outside.len()
    }

    /// Measures the error of an element that has a verdict; infinities and NaNs of the operands have none.
    fn measure(&mut self, element: &Outside) {
        if element.exact.is_finite() {
            self.largest_error = self.largest_error.max(element.error);
            self.largest_ratio = self.largest_ratio.max(ratio(element));
        }
    }

    /// Notes the bound of an element whose exact value has at least this magnitude.
    ///
    /// A tolerance covers what its relative part leaves of the bound.
    fn widen(&mut self, exact: &ExactElements, d: &Matrix, place: ElementPlace, magnitude: f64, limits: Limits) {
        self.largest_bound = self.largest_bound.max(limits.bound);
        // The product that a test computes in f64 has errors of its own.
        let reference = if d.format.bits == 64 { exact.reference_error(place) } else { 0.0 };
        let any_finite = exact.is_exact || !(limits.may_overflow || limits.may_saturate);
        let absolute = limits.bound + reference - tolerance::relative(d.format) * magnitude.clamp(0.0, f64::MAX);
        self.absolute_tolerance = self.absolute_tolerance.max(if any_finite { absolute } else { f64::INFINITY });
    }

    pub(super) fn add(&mut self, other: Tally) {
        self.criteria.resize(self.criteria.len().max(other.criteria.len()), CriterionTally::default());
        self.criteria.iter_mut().zip(&other.criteria).for_each(|(criterion, other)| criterion.add(other));
        self.not_compared += other.not_compared;
        self.within += other.within;
        self.overflowed += other.overflowed;
        self.undecided += other.undecided;
        self.unsettled.extend(other.unsettled);
        self.decided_exactly += other.decided_exactly;
        self.outside.extend(other.outside);
        self.largest_ratio = self.largest_ratio.max(other.largest_ratio);
        self.largest_error = self.largest_error.max(other.largest_error);
        self.largest_bound = self.largest_bound.max(other.largest_bound);
        self.absolute_tolerance = self.absolute_tolerance.max(other.absolute_tolerance);
    }

    /// The result of a check. A check without a sample was interrupted.
    pub(super) fn finished(mut self, d: &Matrix, basis: Basis, sample: Option<SampleCheck>) -> ProductCheck {
        let elements = self.judged();
        self.settle(&[]);
        self.outside.sort_by(|x, y| {
            ratio(y)
                .total_cmp(&ratio(x))
                .then(y.error.total_cmp(&x.error))
                .then((x.row, x.column).cmp(&(y.row, y.column)))
        });
        let places = || self.outside.iter();
        ProductCheck {
            elements,
            finished: sample.is_some(),
            within: self.within,
            overflowed: self.overflowed,
            undecided: self.undecided,
            decided_exactly: self.decided_exactly,
            rows: places().map(|element| element.row).collect(),
            columns: places().map(|element| element.column).collect(),
            tiles: places().map(|element| (element.row / 64, element.column / 64)).collect::<BTreeSet<_>>(),
            outside: places().take(LISTED).copied().collect(),
            tightest: self.largest_ratio,
            largest_error: self.largest_error,
            largest_bound: self.largest_bound,
            tolerance: tolerance::derived(d.format, basis, self.absolute_tolerance, elements),
            criteria: self.criteria,
            not_compared: self.not_compared,
            diagnosis: None,
            sample: sample.unwrap_or_default(),
        }
    }
}

/// The error over the bound.
///
/// Infinite where the bound is 0 and the error is not, or where D or the exact value is not finite.
fn ratio(element: &Outside) -> f64 {
    match element.error / element.bound {
        _ if element.error == 0.0 => 0.0,
        ratio if ratio.is_nan() => f64::INFINITY,
        ratio => ratio,
    }
}
