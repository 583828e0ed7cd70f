//! A bound of the error of slices and remainders, from the operands alone.

use super::{
    NumberMatrix, OperandSplit, Scheme, Slices,
    moduli,
    split::{SliceLine, each_line, exponents},
};

/// Room for the rounding of the bound itself.
const ROOM: f64 = 1.0 + 1e-9;
/// Half an ulp of a number of f64, relative to it.
const HALF_ULP: f64 = f64::EPSILON / 2.0;

/// The largest bound of |V - S| / sum |ab| over all elements whose sum |ab| is not zero; `None` for other splits.
///
/// `magnitude` has the sums |ab|, row by row. A slice or remainder loses less than a unit of its line. The products that are not
/// computed, and the roundings of the register in f64, are added.
pub fn error_bound(scheme: &Scheme, a: &NumberMatrix, b: &NumberMatrix, magnitude: &[f64]) -> Option<f64> {
    let sums = |numbers: &NumberMatrix, line: SliceLine| each_line(numbers, line, 0.0, |sum, x| *sum += x.abs());
    let [of_rows, of_columns] = [sums(a, SliceLine::Row), sums(b, SliceLine::Column)];
    let (units, dropped, roundings): ([Vec<i32>; 2], Box<dyn Fn(i32) -> f64>, f64) = match (&scheme.a, &scheme.b) {
        (OperandSplit::Slices(x), OperandSplit::Slices(y)) if x == y => {
            let [rows, columns] = [exponents(a, SliceLine::Row), exponents(b, SliceLine::Column)];
            let kept = x.kept_bits() as i32;
            let below = |all: &[i32]| all.iter().map(|own| own - kept).collect();
            let missing = missing(scheme, x) * a.columns as f64;
            // The register rounds each product's sum and each addition; the sums are at most those of all magnitudes.
            let roundings = 2.0 * scheme.sums.len() as f64 + 1.0;
            let dropped = move |of_units: i32| missing * power(of_units + 2 * kept);
            ([below(&rows), below(&columns)], Box::new(dropped), roundings)
        }
        (OperandSplit::Moduli(own), OperandSplit::Moduli(_)) => {
            let (rows, columns) = moduli::scaled(own, a, b);
            ([rows, columns], Box::new(|_| 0.0), 1.0)
        }
        _ => return None,
    };
    let mut largest = 0f64;
    for (row, (unit, of_row)) in units[0].iter().zip(&of_rows).enumerate() {
        for (column, (other, of_column)) in units[1].iter().zip(&of_columns).enumerate() {
            let magnitude = magnitude[row * b.columns + column];
            if magnitude > 0.0 && magnitude.is_finite() {
                let cut = power(*unit) * of_column + power(*other) * of_row;
                let both = a.columns as f64 * power(unit + other);
                let all = cut + both + dropped(unit + other);
                // What the sums of slices stand for may be more than sum |ab| by what was cut.
                largest = largest.max(all / magnitude + roundings * HALF_ULP * (1.0 + all / magnitude));
            }
        }
    }
    Some(largest * ROOM)
}

/// A power of two; of small exponents zero.
fn power(exponent: i32) -> f64 {
    2f64.powi(exponent.min(1023))
}

/// The largest sum of the dropped products of an element, in lines of numbers below 1.
fn missing(scheme: &Scheme, slices: &Slices) -> f64 {
    let largest = slices.largest() as f64;
    let of = |part: usize| largest * power(slices.scale(part));
    let computed = |a: usize, b: usize| scheme.sums.iter().any(|sum| sum.products.contains(&(a, b)));
    let pairs = (0..slices.count).flat_map(|a| (0..slices.count).map(move |b| (a, b)));
    pairs.filter(|(a, b)| !computed(*a, *b)).map(|(a, b)| of(a) * of(b)).sum()
}
