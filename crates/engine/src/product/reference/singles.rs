//! References of a product in f32: plain sums in f32 and f64, and the exact sum.

use super::{super::NumberMatrix, panel, two_sum};
use crate::{
    Result,
    base::{vectors::vectorised, work},
};

/// Columns of D that are summed side by side: what registers hold, of two rows.
const LANES: usize = 16;
/// Rows of D that take the same columns of B from a cache.
const BAND: usize = 64;

/// The products of two matrices of numbers of f32, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProductReferences {
    /// Ascending k, each product and each sum rounded to f32.
    pub single: Vec<f32>,
    /// The same in f64, which has the products exactly.
    pub double: Vec<f64>,
    /// The exact sum to about 100 bits as two f64; the second is at most half an ulp of the first.
    pub exact: Vec<[f64; 2]>,
}

/// The sums of some elements of a row.
#[derive(Clone, Copy, Default)]
struct LaneSums {
    single: [f32; LANES],
    double: [f64; LANES],
    /// The compensated sum, and the rounded-off rest.
    high: [f64; LANES],
    low: [f64; LANES],
}

impl ProductReferences {
    /// The references of A and B.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn of(a: &NumberMatrix, b: &NumberMatrix) -> Result<ProductReferences> {
        let columns = b.columns;
        let [x, y] = [a, b].map(|matrix| matrix.values.iter().map(|value| *value as f32).collect::<Vec<f32>>());
        let tiles: Vec<(usize, usize)> = (0..columns)
            .step_by(LANES)
            .flat_map(|column| (0..a.rows).step_by(BAND).map(move |row| (row, column)))
            .collect();
        let summed = work::map(&tiles, |(row, column)| {
            let panel = panel(&y, b.columns, *column);
            let rows: Vec<&[f32]> = x.chunks(a.columns.max(1)).skip(*row).take(BAND).collect();
            let mut sums = Vec::with_capacity(rows.len());
            for pair in rows.chunks(2) {
                let mut both = [LaneSums::default(); 2];
                sum(pair[0], pair[pair.len() - 1], &panel, &mut both);
                sums.extend_from_slice(&both[..pair.len()]);
            }
            Ok(sums)
        })?;
        let count = a.rows * columns;
        let mut references =
            ProductReferences { single: vec![0.0; count], double: vec![0.0; count], exact: vec![[0.0; 2]; count] };
        for ((row, column), rows) in tiles.iter().zip(summed) {
            for (at, sums) in rows.iter().enumerate() {
                for lane in 0..LANES.min(columns - column) {
                    let place = (row + at) * columns + column + lane;
                    references.single[place] = sums.single[lane];
                    references.double[place] = sums.double[lane];
                    let (high, low) = (sums.high[lane], sums.low[lane]);
                    let total = high + low;
                    references.exact[place] = [total, low - (total - high)];
                }
            }
        }
        Ok(references)
    }
}

vectorised! {
    /// Adds to sums the products of two rows of A and the columns of a panel of B, ascending k.
    fn sum(x: &[f32], other: &[f32], panel: &[[f32; LANES]], sums: &mut [LaneSums; 2]) {
        // Copies: registers hold them.
        let [mut first, mut second] = *sums;
        for ((x, other), line) in x.iter().zip(other).zip(panel) {
            first.add(*x, line);
            second.add(*other, line);
        }
        *sums = [first, second];
    }
}

impl LaneSums {
    /// Adds `x` times each element of a line. (A product of two numbers of f32 is one of f64.)
    #[inline(always)]
    fn add(&mut self, x: f32, line: &[f32; LANES]) {
        for (lane, y) in line.iter().enumerate() {
            self.single[lane] += x * y;
            let product = f64::from(x) * f64::from(*y);
            self.double[lane] += product;
            let (sum, rest) = two_sum(self.high[lane], product);
            self.low[lane] += rest;
            self.high[lane] = sum;
        }
    }
}

/// The f32 nearest to the sum of two numbers of f64, the second at most half an ulp of the first.
pub fn nearest([high, low]: [f64; 2]) -> f32 {
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
    #[cfg(feature = "mpfr")]
    use crate::{inputs::Draw, scheme::Emulated};

    #[cfg(feature = "mpfr")]
    #[test]
    fn sums_are_those_of_a_plain_loop_and_of_mpfr() {
        for (seed, draw) in [(1, "uniform(-1,1)"), (2, "magnitudes(-20,20)"), (3, "normal(0,1)")] {
            let draw = Draw::parse(draw).unwrap();
            let rows: Vec<usize> = (0..11).collect();
            let ks: Vec<usize> = (0..301).collect();
            let (a, b) = (
                NumberMatrix::drawn(Emulated::Single, draw, seed, 0, &rows, 301),
                NumberMatrix::drawn(Emulated::Single, draw, seed, 1, &ks, 270),
            );
            let references = ProductReferences::of(&a, &b).unwrap();
            for (row, column) in (0..11).flat_map(|row| (0..270).step_by(7).map(move |column| (row, column))) {
                let terms = || (0..301).map(|k| (a.values[row * 301 + k] as f32, b.values[k * 270 + column] as f32));
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
