//! A bound of the error of slices and remainders, from the operands alone.

use super::{
    NumberMatrix, OperandSplit, Scheme, Slices, moduli,
    split::{SliceLine, each_line, exponents, fields},
};
use crate::format::Rounding;

/// Room for the rounding of the bound itself.
const ROOM: f64 = 1.0 + 1e-9;
/// Half an ulp of a number of f64, relative to it.
const HALF_ULP: f64 = f64::EPSILON / 2.0;

/// The largest bound of |V - S| / sum |ab| over all elements; `None` for other splits.
///
/// Elements whose sum |ab| is zero have none.
/// `magnitude` has the sums |ab|, row by row. Four errors are added: the parts of A and B that the units cut off, the products that
/// are not computed, the additions in the register, and the last rounding, of each part of k. Results are taken to be normal numbers.
/// The parts of k are those of a product of these rows and columns.
pub fn error_bound(scheme: &Scheme, a: &NumberMatrix, b: &NumberMatrix, magnitude: &[f64]) -> Option<f64> {
    let sums = |numbers: &NumberMatrix, line: SliceLine| each_line(numbers, line, 0.0, |sum, x| *sum += x.abs());
    let [of_rows, of_columns] = [sums(a, SliceLine::Row), sums(b, SliceLine::Column)];
    let k = a.columns as f64;
    let parts = scheme.parts.map_or(1, |own| own.ranges((a.rows, b.columns, a.columns), 1).len());
    let terms = scheme.parts.map_or(a.columns, |own| own.terms(parts, a.columns));
    let (units, slices) = match (&scheme.a, &scheme.b) {
        (OperandSplit::Slices(x), OperandSplit::Slices(y)) if x == y => {
            if x.dynamic.is_some() {
                return None;
            }
            let below = |numbers: &NumberMatrix, line: SliceLine| {
                let own = x.headroom.map_or_else(|| exponents(numbers, line), |bits| fields(numbers, line, bits));
                own.into_iter().map(|own| own - x.kept_bits() as i32).collect()
            };
            let own = [below(a, SliceLine::Row), below(b, SliceLine::Column)];
            (own, Some((x, missing(scheme, x), partial_sums(scheme, x, terms))))
        }
        (OperandSplit::Moduli(own), OperandSplit::Moduli(_)) => {
            let (rows, columns) = moduli::scaled(own, a, b);
            ([rows, columns], None)
        }
        _ => return None,
    };
    let mut largest = 0f64;
    for (row, (unit, of_row)) in units[0].iter().zip(&of_rows).enumerate() {
        for (column, (other, of_column)) in units[1].iter().zip(&of_columns).enumerate() {
            let magnitude = magnitude[row * b.columns + column];
            if !(magnitude > 0.0 && magnitude.is_finite()) {
                continue;
            }
            // A unit is cut off of every element, and of both factors of a product.
            let mut error = power(*unit) * of_column + power(*other) * of_row + k * power(unit + other);
            if let Some((slices, missing, partial)) = &slices {
                let scale = k * power(unit + other + 2 * slices.kept_bits() as i32);
                error += missing * scale;
                let most = slices.growth().map_or(f64::INFINITY, |growth| growth * (magnitude + error));
                error += partial.iter().map(|own| HALF_ULP * (own * scale).min(most)).sum::<f64>();
            }
            // Each part is rounded, and each but the first is added to the ones before.
            largest = largest.max((error + parts as f64 * HALF_ULP * (magnitude + error)) / magnitude);
        }
    }
    Some(largest * ROOM)
}

impl Slices {
    /// The largest sum of the magnitudes of a product's slices, over the product.
    ///
    /// `None` in two's complement.
    /// Slices to nearest alternate in sign, and add up to less than three times the number; balanced ones to little more.
    fn growth(&self) -> Option<f64> {
        match (self.rest, self.rounding) {
            (Some(_), _) => None,
            (None, _) if self.balanced => {
                let rest = self.largest() as f64 / ((1u64 << self.bits) - 1) as f64;
                Some(((1.0 + rest) / (1.0 - rest)).powi(2))
            }
            (None, Rounding::Rz) => Some(1.0),
            (None, _) => Some(9.0),
        }
    }
}

/// A power of two; of small exponents zero.
fn power(exponent: i32) -> f64 {
    2f64.powi(exponent.min(1023))
}

/// The largest magnitude of a product of two slices, in lines of numbers below 1.
fn largest(slices: &Slices, a: usize, b: usize) -> f64 {
    let of = |slice: usize| slices.largest() as f64 * power(slices.scale(slice));
    of(a) * of(b)
}

/// The largest sum of the products of a term that are not computed.
fn missing(scheme: &Scheme, slices: &Slices) -> f64 {
    let computed = |a: usize, b: usize| scheme.sums.iter().any(|sum| sum.products.contains(&(a, b)));
    let pairs = (0..slices.count).flat_map(|a| (0..slices.count).map(move |b| (a, b)));
    pairs.filter(|(a, b)| !computed(*a, *b)).map(|(a, b)| largest(slices, a, b)).sum()
}

/// The largest sum of a term after each addition in the register, of products of so many terms.
fn partial_sums(scheme: &Scheme, slices: &Slices, terms: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let own = scheme.sums.iter().flat_map(|own| own.groups(terms)).map(|own| {
        sum += own.products.iter().map(|(a, b)| largest(slices, *a, *b)).sum::<f64>();
        // Rounding may enlarge a partial sum.
        sum * (1.0 + 1e-12)
    });
    own.skip(1).collect()
}
