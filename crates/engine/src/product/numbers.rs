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

    /// The transposes of stacked matrices, as many as `batch`.
    pub(crate) fn transposed(&self, batch: usize) -> NumberMatrix {
        let (rows, columns) = (self.rows / batch.max(1), self.columns);
        let transpose = |values: &[f64]| -> Vec<f64> {
            (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
        };
        let values = self.values.chunks((rows * columns).max(1)).flat_map(transpose).collect();
        NumberMatrix { rows: columns * batch, columns: rows, values }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_batch_has_the_transpose_of_each_matrix() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let stacked = NumberMatrix { rows: 4, columns: 3, values };
        let transposed = stacked.transposed(2);
        assert_eq!((transposed.rows, transposed.columns), (6, 2));
        assert_eq!(transposed.values[..6], [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(transposed.transposed(2), stacked);
    }
}
