//! Weights of a row with their errors, and the bound of an element.
//!
//! The derivation stands in docs/attention.md.

use super::{
    claim::{Constants, U},
    exponential::{self, exp},
};
use crate::base::named::named;

/// Distance below the largest score from which a weight vanishes.
///
/// e^-200 is far below the smallest number of f32.
const VANISHING: f64 = 200.0;
/// Largest logarithm of a weight's error that is bounded.
const LARGEST: f64 = 0.5;
/// Room for products of errors, and for the roundings of the bound itself.
const SLACK: f64 = 1.0 + 1.0 / 1024.0;
/// Roundings in f32 of a score and of the argument of exp.
///
/// Each is relative to the largest magnitudes of its parts.
const SCORE_ROUNDINGS: f64 = 10.0;
/// Roundings of queries and keys that are multiplied by the root of the scale.
const ROOT_ROUNDINGS: f64 = 2.0;
/// Roundings of a score that is stored: the product, the scaled one, and with the mask.
const STORED_ROUNDINGS: f64 = 3.0;
/// Roundings of the division by the sum of weights: an approximate reciprocal, and a product.
const DIVISION_ROUNDINGS: f64 = 4.0;

named! {
    /// The reason why a row has no bound.
    pub enum Unbounded {
        Scores = "scores": "errors of its scores are so large that weights are unknown";
        Stored = "stored": "its scores may overflow the format that they are stored in";
        Sum = "sum": "errors of the sum of weights reach half of it";
    }
}

/// The products of one query with all keys.
pub(super) struct Scores<'a> {
    /// Sums of q k.
    pub(super) products: &'a [f64],
    /// Sums of |q k|.
    pub(super) magnitudes: &'a [f64],
    /// Numbers that are added; minus infinity for a key that is left out.
    pub(super) added: &'a [f64],
    /// Factor of the products.
    pub(super) scale: f64,
}

/// A row: sums over its keys.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RowSums {
    /// Sum of weights, the largest of which is 1.
    pub(super) weights: f64,
    /// Largest error of this sum in the claimed arithmetic.
    pub(super) errors: f64,
}

impl RowSums {
    pub(super) fn plus(self, other: RowSums) -> RowSums {
        RowSums { weights: self.weights + other.weights, errors: self.errors + other.errors }
    }

    pub(super) fn minus(self, other: RowSums) -> RowSums {
        RowSums { weights: self.weights - other.weights, errors: self.errors - other.errors }
    }
}

/// The weights of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Weights {
    /// Weights relative to the largest, which is 1.
    pub(super) weights: Vec<f64>,
    /// Largest error of p in the claimed arithmetic with the errors of its product and sum, over |v|.
    pub(super) errors: Vec<f64>,
    /// Largest relative error of a weight of this reference.
    pub(super) reference: f64,
}

/// The state of a row after its weights are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RowState {
    /// No key is left to the query.
    NoKey,
    /// There is no bound.
    Unbounded(Unbounded),
    /// Sums over all keys.
    Known(RowSums),
}

impl Weights {
    /// Computes the weights of a row and their errors.
    pub(super) fn fill(&mut self, constants: &Constants, scores: &Scores) -> RowState {
        let Scores { products, magnitudes, added, scale } = *scores;
        let keys = products.len();
        self.weights.clear();
        self.weights.resize(keys, 0.0);
        self.errors.clear();
        self.errors.resize(keys, 0.0);
        self.reference = 0.0;
        let score = |key: usize| scale * products[key] + added[key];
        let magnitude = |key: usize| (scale * products[key]).abs() + added[key].abs();
        let is_left_out = |key: usize| added[key] == f64::NEG_INFINITY;
        let largest = (0..keys).map(score).fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return RowState::NoKey;
        }
        let mut range = 0.0f64;
        for (key, product) in products.iter().enumerate().take(keys) {
            if score(key) > largest - VANISHING {
                range = range.max(magnitude(key));
                if magnitude(key).max(product.abs()) >= constants.largest_score {
                    return RowState::Unbounded(Unbounded::Stored);
                }
            }
        }
        let shared = constants.shared(range);
        let mut sum = 0.0;
        for (key, product_magnitude) in magnitudes.iter().enumerate().take(keys) {
            if is_left_out(key) {
                continue;
            }
            let (product, magnitude) = (scale.abs() * *product_magnitude, magnitude(key));
            let argument = scale.abs()
                * (constants.score_rate * product_magnitude.max(constants.score_least) + constants.score_flush)
                + ROOT_ROUNDINGS * (U + constants.stored_unit * SLACK) * product
                + STORED_ROUNDINGS * constants.stored_unit * SLACK * magnitude
                + constants.stored_floor
                + SCORE_ROUNDINGS * U * (magnitude + range);
            let below = score(key) - largest;
            if below <= -VANISHING {
                if argument > -below / 4.0 {
                    return RowState::Unbounded(Unbounded::Scores);
                }
                continue;
            }
            // Sums of f64 in any order, the scale, the mask and the difference.
            let reference = exponential::ERROR
                + f64::EPSILON * ((constants.columns + 2) as f64 * product + 3.0 * (magnitude + range));
            self.reference = self.reference.max(reference);
            let logarithm = argument + shared + reference;
            if logarithm > LARGEST {
                return RowState::Unbounded(Unbounded::Scores);
            }
            let weight = exp(below);
            sum += weight;
            self.weights[key] = weight;
            self.errors[key] = logarithm * (1.0 + logarithm);
        }
        let floor = constants.p.floor * if constants.is_normalised { sum } else { 1.0 };
        let rate = constants.sum_rate;
        let mut sums = RowSums::default();
        for (weight, error) in self.weights.iter().zip(&mut self.errors) {
            if *weight == 0.0 {
                continue;
            }
            let inexact = weight * *error;
            let computed = weight + inexact;
            let rounded = (constants.p.unit * computed).max(floor.min(computed));
            *error = (1.0 + rate) * (inexact + rounded) + rate * weight;
            sums = sums.plus(RowSums { weights: *weight, errors: *error });
        }
        if sums.errors >= sums.weights / 2.0 {
            return RowState::Unbounded(Unbounded::Sum);
        }
        RowState::Known(sums)
    }
}

/// The exact value of an element, as f64, and its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BoundedElement {
    pub(super) exact: f64,
    pub(super) bound: f64,
}

impl Constants {
    /// True if `o` overflowed as the element may.
    pub(super) fn overflows(&self, o: f64, BoundedElement { exact, bound }: BoundedElement) -> bool {
        let has_other_sign = o * exact < 0.0;
        exact.abs() + bound > self.o.largest && (!o.is_finite() || o.abs() == self.o.largest) && !has_other_sign
    }

    /// An element of O from sums over the keys of its row: of w v, and of the errors of w times |v|.
    ///
    /// `None` where the errors of the sum of weights reach half of it.
    pub(super) fn element(&self, sums: RowSums, weighted: f64, errors: f64) -> Option<BoundedElement> {
        let RowSums { weights, errors: weight_errors } = sums;
        let least = weights - weight_errors;
        if least < weights / 2.0 || weights <= 0.0 {
            return None;
        }
        let exact = weighted / weights;
        let numerator = errors + self.sum_floor + self.flush_rate * weights;
        let division = DIVISION_ROUNDINGS * U;
        let before =
            ((numerator + exact.abs() * weight_errors) / least * (1.0 + division) + division * exact.abs()) * SLACK;
        let bound = before + self.o.unit * (exact.abs() + before) + self.o.floor;
        Some(BoundedElement { exact, bound })
    }
}
