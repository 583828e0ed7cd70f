//! Matrices of numbers, which are not yet codes of a format.

use std::ops::Range;

use super::Matrix;

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
    pub(crate) fn of_columns(&self, columns: &Range<usize>) -> NumberMatrix {
        let line = |row: &[f64]| row[columns.clone()].to_vec();
        let values = self.values.chunks(self.columns.max(1)).flat_map(line).collect();
        NumberMatrix { rows: self.rows, columns: columns.len(), values }
    }

    /// Some rows.
    pub(crate) fn of_rows(&self, rows: &Range<usize>) -> NumberMatrix {
        let values = self.values[rows.start * self.columns..rows.end * self.columns].to_vec();
        NumberMatrix { rows: rows.len(), columns: self.columns, values }
    }

    /// The rows with these numbers.
    pub(crate) fn chosen(&self, rows: &[usize]) -> NumberMatrix {
        let values = rows.iter().flat_map(|row| &self.values[row * self.columns..][..self.columns]).copied().collect();
        NumberMatrix { rows: rows.len(), columns: self.columns, values }
    }

    /// The first number that f32 does not have, by row and column.
    pub fn beyond_single(&self) -> Option<(usize, usize, f64)> {
        let beyond = |x: &f64| f64::from(*x as f32) != *x && !x.is_nan();
        let at = self.values.iter().position(beyond)?;
        Some((at / self.columns, at % self.columns, self.values[at]))
    }
}
