//! The operands of a product: random numbers, the same for every scheme and device.

use std::ops::Range;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Digits, Emulated};
use crate::{base::parallel, gemm::Matrix, inputs::Draw};

/// A matrix of numbers, row by row; of f64 or, for schemes that emulate f32, of f32.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberMatrix {
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// Its elements.
    pub values: Vec<f64>,
}

impl NumberMatrix {
    /// The values of a matrix of codes.
    pub fn of_matrix(matrix: &Matrix) -> NumberMatrix {
        let values = (0..matrix.rows).flat_map(|row| (0..matrix.columns).map(move |column| matrix.value(row, column)));
        NumberMatrix { rows: matrix.rows, columns: matrix.columns, values: values.collect() }
    }

    /// Some columns.
    pub(super) fn of_columns(&self, columns: &Range<usize>) -> NumberMatrix {
        let line = |row: &[f64]| row[columns.clone()].to_vec();
        let values = self.values.chunks(self.columns.max(1)).flat_map(line).collect();
        NumberMatrix { rows: self.rows, columns: columns.len(), values }
    }

    /// Some rows.
    pub(super) fn of_rows(&self, rows: &Range<usize>) -> NumberMatrix {
        let values = self.values[rows.start * self.columns..rows.end * self.columns].to_vec();
        NumberMatrix { rows: rows.len(), columns: self.columns, values }
    }

    /// The rows with these numbers.
    pub(super) fn chosen(&self, rows: &[usize]) -> NumberMatrix {
        let values = rows.iter().flat_map(|row| &self.values[row * self.columns..][..self.columns]).copied().collect();
        NumberMatrix { rows: rows.len(), columns: self.columns, values }
    }

    /// The first number that f32 does not have, by row and column.
    pub fn beyond_single(&self) -> Option<(usize, usize, f64)> {
        let beyond = |x: &f64| f64::from(*x as f32) != *x && !x.is_nan();
        let at = self.values.iter().position(beyond)?;
        Some((at / self.columns, at % self.columns, self.values[at]))
    }

    /// Some rows of a random matrix, rounded to the emulated format.
    ///
    /// The numbers of a row depend on seed, matrix and row.
    pub(super) fn drawn(
        emulates: Emulated,
        draw: Draw,
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
    ) -> NumberMatrix {
        let own = |random: &mut ChaCha8Rng| match emulates {
            Emulated::Single => f64::from(draw.next(random) as f32),
            Emulated::Double => draw.next(random),
        };
        NumberMatrix::filled(seed, matrix, rows, columns, &own)
    }

    /// The same for integers: drawn, rounded to nearest and limited to their range, or uniform in it.
    pub(super) fn integers(
        draw: Option<Draw>,
        digits: &Digits,
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
    ) -> NumberMatrix {
        let (least, most) = digits.range();
        let own = |random: &mut ChaCha8Rng| match draw {
            None => (least + (random.next_u64() % (most - least + 1) as u64) as i64) as f64,
            Some(draw) => draw.next(random).round_ties_even().clamp(least as f64, most as f64),
        };
        NumberMatrix::filled(seed, matrix, rows, columns, &own)
    }

    fn filled(
        seed: u64,
        matrix: u64,
        rows: &[usize],
        columns: usize,
        own: &(dyn Fn(&mut ChaCha8Rng) -> f64 + Sync),
    ) -> NumberMatrix {
        let origin = ChaCha8Rng::seed_from_u64(seed);
        let mut values = vec![0.0; rows.len() * columns];
        parallel::each(rows.iter().zip(values.chunks_mut(columns)), |(row, line)| {
            let mut random = origin.clone();
            random.set_stream((matrix << 32) + *row as u64);
            line.iter_mut().for_each(|value| *value = own(&mut random));
        });
        NumberMatrix { rows: rows.len(), columns, values }
    }
}
