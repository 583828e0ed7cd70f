//! What a product should be: plain sums in f32 and f64, and the exact sum.

use super::Numbers;
use crate::{
    Result,
    base::{interrupt, parallel, vectors::vectorised},
};

/// The rows and columns of D that are summed side by side.
const TILE: (usize, usize) = (8, 256);

/// The products of two matrices of f32, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct References {
    /// Ascending k, each product and each sum rounded to f32.
    pub single: Vec<f32>,
    /// The same in f64, which has the products exactly.
    pub double: Vec<f64>,
    /// The exact sum as two numbers of f64, the second of which is at most half of the last place of the first: about 100 bits behind
    /// the leading one of the largest term.
    pub exact: Vec<[f64; 2]>,
}

/// The sums of a tile.
#[derive(Default)]
struct TileSums {
    single: Vec<f32>,
    double: Vec<f64>,
    /// The compensated sum, and what roundings have cut off.
    high: Vec<f64>,
    low: Vec<f64>,
}

impl References {
    /// Those of A and B.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn of(a: &Numbers, b: &Numbers) -> Result<References> {
        let columns = b.columns;
        let tiles: Vec<(usize, usize)> = (0..a.rows)
            .step_by(TILE.0)
            .flat_map(|row| (0..columns).step_by(TILE.1).map(move |column| (row, column)))
            .collect();
        let summed = parallel::try_map(&tiles, |(row, column)| {
            interrupt::check()?;
            let (height, width) = (TILE.0.min(a.rows - row), TILE.1.min(columns - column));
            let mut sums = TileSums {
                single: vec![0.0; height * width],
                double: vec![0.0; height * width],
                high: vec![0.0; height * width],
                low: vec![0.0; height * width],
            };
            for k in 0..a.columns {
                let line = &b.values[k * columns + column..][..width];
                for at in 0..height {
                    let own = at * width..(at + 1) * width;
                    let x = a.values[(row + at) * a.columns + k];
                    let TileSums { single, double, high, low } = &mut sums;
                    let range = || own.clone();
                    step(x, line, &mut single[range()], &mut double[range()], &mut high[range()], &mut low[range()]);
                }
            }
            Ok(sums)
        })?;
        let count = a.rows * columns;
        let mut references =
            References { single: vec![0.0; count], double: vec![0.0; count], exact: vec![[0.0; 2]; count] };
        for ((row, column), sums) in tiles.iter().zip(summed) {
            let width = TILE.1.min(columns - column);
            for at in 0..sums.single.len() {
                let place = (row + at / width) * columns + column + at % width;
                references.single[place] = sums.single[at];
                references.double[place] = sums.double[at];
                let (high, low) = (sums.high[at], sums.low[at]);
                let total = high + low;
                references.exact[place] = [total, low - (total - high)];
            }
        }
        Ok(references)
    }
}

vectorised! {
    /// Adds `x` times each element of a line to sums. (A product of two numbers of f32 is one of f64.)
    fn step(x: f32, line: &[f32], single: &mut [f32], double: &mut [f64], high: &mut [f64], low: &mut [f64]) {
        let sums = single.iter_mut().zip(double).zip(high).zip(low);
        for (y, (((single, double), high), low)) in line.iter().zip(sums) {
            *single += x * y;
            let product = f64::from(x) * f64::from(*y);
            *double += product;
            // The sum and its rounding error (Knuth).
            let sum = *high + product;
            let other = sum - *high;
            *low += (*high - (sum - other)) + (product - other);
            *high = sum;
        }
    }
}

/// The number of f32 nearest to the sum of two numbers of f64, the second at most half of the last place of the first.
pub(super) fn nearest([high, low]: [f64; 2]) -> f32 {
    let bits = high.to_bits();
    // To odd first: what lies between two numbers of f64 is no tie of f32.
    let odd = match low {
        low if low == 0.0 || bits & 1 == 1 || !high.is_finite() => high,
        low if (low > 0.0) == (high > 0.0) => f64::from_bits(bits + 1),
        _ => f64::from_bits(bits - 1),
    };
    odd as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::Draw;

    #[cfg(feature = "mpfr")]
    #[test]
    fn sums_are_those_of_a_plain_loop_and_of_mpfr() {
        for (seed, draw) in [(1, "uniform(-1,1)"), (2, "magnitudes(-20,20)"), (3, "normal(0,1)")] {
            let draw = Draw::parse(draw).unwrap();
            let rows: Vec<usize> = (0..11).collect();
            let ks: Vec<usize> = (0..301).collect();
            let (a, b) = (Numbers::drawn(draw, seed, 0, &rows, 301), Numbers::drawn(draw, seed, 1, &ks, 270));
            let references = References::of(&a, &b).unwrap();
            for (row, column) in (0..11).flat_map(|row| (0..270).step_by(7).map(move |column| (row, column))) {
                let terms = || (0..301).map(|k| (a.values[row * 301 + k], b.values[k * 270 + column]));
                let at = row * 270 + column;
                assert_eq!(references.single[at], terms().fold(0.0, |sum, (x, y)| sum + x * y));
                assert_eq!(references.double[at], terms().fold(0.0, |sum, (x, y)| sum + f64::from(x) * f64::from(y)));
                let exact = terms().fold(rug::Float::new(1000), |sum, (x, y)| sum + f64::from(x) * f64::from(y));
                assert_eq!(references.exact[at][0], exact.to_f64());
                assert_eq!(nearest(references.exact[at]), exact.to_f32());
            }
        }
    }

    #[test]
    fn ties_of_f32_are_decided_by_what_lies_below() {
        let tie = 1.0 + 2f64.powi(-24);
        assert_eq!([1e-30, 0.0, -1e-30].map(|low| nearest([tie, low])), [1.0 + f32::EPSILON, 1.0, 1.0]);
        assert_eq!([1e-30, 0.0, -1e-30].map(|low| nearest([-tie, low])), [-1.0, -1.0, -1.0 - f32::EPSILON]);
        assert_eq!(nearest([0.0, 0.0]), 0.0);
    }
}
