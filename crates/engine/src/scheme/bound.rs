//! A bound of the error of slices and remainders, from the operands alone.

use super::{
    OperandSplit, Scheme, Slices, moduli,
    split::{SliceLine, exponents, fields},
};
use crate::{
    format::Rounding,
    product::{
        NumberMatrix, ProductShape,
        reference::{DoubleReferences, times_power},
    },
};

/// Room for the rounding of the bound itself.
const ROOM: f64 = 1.0 + 1e-9;
/// Half an ulp of a number of f64, relative to it.
const HALF_ULP: f64 = f64::EPSILON / 2.0;
/// The exponent of half the smallest subnormal number of f64.
const HALF_SMALLEST: i32 = -1075;

/// The largest bound of |V - S| / sum |ab| over all elements; `None` for other splits.
///
/// `references` are those of A and B. Elements whose sum |ab| is zero or not finite have no error. Four errors are added: the parts of
/// A and B that the units cut off, the products that are not computed, the additions in the register, and the last rounding, of each
/// part of k, also into subnormal numbers. The bound is infinite where an element may overflow that should not, or the reverse. The
/// parts of k are those of a product of these rows and columns.
pub fn error_bound(scheme: &Scheme, a: &NumberMatrix, b: &NumberMatrix, references: &DoubleReferences) -> Option<f64> {
    let k = a.columns as f64;
    let parts = scheme
        .parts
        .map_or(1, |whole_parts| whole_parts.ranges(ProductShape { m: a.rows, n: b.columns, k: a.columns }, 1).len());
    let terms = scheme.parts.map_or(a.columns, |whole_parts| whole_parts.terms(parts, a.columns));
    let (units, slices) = match (&scheme.a, &scheme.b) {
        (OperandSplit::Slices(x), OperandSplit::Slices(y)) if x == y => {
            if x.dynamic.is_some() {
                return None;
            }
            let below = |numbers: &NumberMatrix, line: SliceLine| {
                let leading = x.headroom.map_or_else(|| exponents(numbers, line), |bits| fields(numbers, line, bits));
                leading.into_iter().map(|exponent| exponent - x.kept_bits() as i32).collect()
            };
            let units = [below(a, SliceLine::Row), below(b, SliceLine::Column)];
            (units, Some((x, missing(scheme, x), partial_sums(scheme, x, terms))))
        }
        (OperandSplit::Moduli(moduli), OperandSplit::Moduli(_)) => {
            let (rows, columns) = moduli::unit_exponents(moduli, a, b);
            ([rows, columns], None)
        }
        _ => return None,
    };
    let lines = |numbers: &NumberMatrix, line: SliceLine, units: &[i32]| {
        let all = exponents(numbers, line);
        let starts =
            all.iter().zip(units).map(|(exponent, unit)| Line { sum: 0.0, exponent: *exponent, unit: unit - exponent });
        moduli::with_starts(numbers, line, starts.collect(), |start, x| {
            start.sum += times_power(x.abs(), -start.exponent)
        })
    };
    let [rows, columns] = [lines(a, SliceLine::Row, &units[0]), lines(b, SliceLine::Column, &units[1])];
    let mut largest = 0f64;
    for (at, (row, column)) in rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column))).enumerate() {
        // All numbers are over 2^exponent, so that none is near the ends of f64.
        let exponent = row.exponent + column.exponent;
        let over = |x: f64| times_power(x, -references.shift[at] - exponent);
        let [magnitude, exact] = [references.magnitude[at], references.exact[at][0].abs()];
        if !(magnitude > 0.0 && magnitude.is_finite()) {
            continue;
        }
        let [magnitude, exact] = [over(magnitude), over(exact)];
        // A unit is cut off of every element, and of both factors of a product.
        let mut error = power(row.unit) * column.sum + power(column.unit) * row.sum + k * power(row.unit + column.unit);
        if let Some((slices, missing, partial)) = &slices {
            let scale = k * power(row.unit + column.unit + 2 * slices.kept_bits() as i32);
            error += missing * scale;
            let most = slices.growth().map_or(f64::INFINITY, |growth| growth * (magnitude + error));
            error += partial.iter().map(|sum| HALF_ULP * (sum * scale).min(most)).sum::<f64>();
        }
        let most = magnitude + error;
        let largest_number = times_power(f64::MAX, -exponent);
        let stays = references.rounded[at].is_finite() && exact + error * ROOM < largest_number;
        let overflows = exact - error * ROOM > largest_number * (1.0 + f64::EPSILON);
        match (stays, overflows) {
            (true, _) if parts == 1 || most * ROOM < largest_number => {}
            // It is infinite, as it should be.
            (_, true) if parts == 1 => continue,
            _ => return Some(f64::INFINITY),
        }
        // A part is rounded by half an ulp, or half the smallest subnormal number, and by no more than all of it.
        let smallest = power(HALF_SMALLEST - exponent);
        let rounding = ((HALF_ULP * most).max(smallest) + (parts - 1) as f64 * smallest).min(most);
        // Each part but the first is added to the ones before.
        let additions = (parts - 1) as f64 * HALF_ULP * most;
        largest = largest.max((error + rounding + additions) / magnitude);
    }
    Some(largest * ROOM)
}

/// A row of A or a column of B.
struct Line {
    /// The sum of the magnitudes of its elements, over 2^`exponent`.
    sum: f64,
    /// The exponent of a power of two above its elements.
    exponent: i32,
    /// The exponent of the unit of its slices or remainders, less `exponent`.
    unit: i32,
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

/// A power of two; zero or infinity beyond the range of f64.
fn power(exponent: i32) -> f64 {
    times_power(1.0, exponent)
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
    let partial = scheme.sums.iter().flat_map(|scheme_sum| scheme_sum.groups(terms)).map(|group| {
        sum += group.products.iter().map(|(a, b)| largest(slices, *a, *b)).sum::<f64>();
        // Rounding may enlarge a partial sum.
        sum * (1.0 + 1e-12)
    });
    partial.skip(1).collect()
}
