//! Matrices of codes.

use crate::{format::Format, isa::Codes};

/// A matrix of codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// The format of its elements.
    pub format: &'static Format,
    /// Their codes, row by row.
    pub codes: Codes,
}

/// The place of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementPlace {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
}

impl Matrix {
    /// A matrix of codes.
    ///
    /// # Panics
    /// Unless there are `rows * columns` codes.
    pub fn new(rows: usize, columns: usize, format: &'static Format, codes: Codes) -> Matrix {
        assert_eq!(codes.len(), rows * columns, "codes of a matrix");
        Matrix { rows, columns, format, codes }
    }

    /// A matrix of codes, row by row.
    ///
    /// # Panics
    /// As [`Matrix::new`].
    pub fn of_values(rows: usize, columns: usize, format: &'static Format, codes: &[u64]) -> Matrix {
        Matrix::new(rows, columns, format, Codes::from_values(format, codes))
    }

    /// The code at a row and column. Panics outside the matrix.
    #[inline]
    pub fn get(&self, row: usize, column: usize) -> u64 {
        self.codes.get(row * self.columns + column)
    }

    /// The value at a row and column, rounded to f64. Panics outside the matrix.
    #[inline]
    pub fn value(&self, row: usize, column: usize) -> f64 {
        value(self.format, self.get(row, column))
    }

    /// The values of all elements, rounded to f64, row by row.
    pub fn values(&self) -> Vec<f64> {
        match self.format.bits <= 16 && self.codes.len() > 1 << self.format.bits {
            true => {
                let table: Vec<f64> = (0..1u64 << self.format.bits).map(|code| value(self.format, code)).collect();
                self.codes.iter().map(|code| table[(code & self.format.code_mask()) as usize]).collect()
            }
            false => self.codes.iter().map(|code| value(self.format, code)).collect(),
        }
    }

    /// Bytes of the codes of a row, from a column on. Panics outside the matrix.
    #[inline]
    pub(super) fn bytes(&self, row: usize, column: usize, count: usize) -> &[u8] {
        let width = self.codes.width();
        &self.codes.as_bytes()[(row * self.columns + column) * width..][..count * width]
    }

    /// The transpose.
    pub fn transposed(&self) -> Matrix {
        let mut codes = Codes::zeros(self.format, self.codes.len());
        for row in 0..self.rows {
            for column in 0..self.columns {
                codes.set(column * self.rows + row, self.get(row, column));
            }
        }
        Matrix { rows: self.columns, columns: self.rows, codes, ..*self }
    }

    /// Some rows and columns, in this order.
    pub fn chosen(&self, rows: &[usize], columns: &[usize]) -> Matrix {
        let codes = rows.iter().flat_map(|row| columns.iter().map(|column| self.get(*row, *column)));
        Matrix::of_values(rows.len(), columns.len(), self.format, &codes.collect::<Vec<_>>())
    }

    /// Matrices of one width and format, one below the other.
    ///
    /// # Panics
    /// Without a matrix.
    pub fn stacked(matrices: &[Matrix]) -> Matrix {
        let codes: Vec<u64> = matrices.iter().flat_map(|matrix| matrix.codes.iter()).collect();
        let rows = matrices.iter().map(|matrix| matrix.rows).sum();
        Matrix::of_values(rows, matrices[0].columns, matrices[0].format, &codes)
    }

    /// Rows and columns in words.
    pub fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.columns)
    }
}

/// The value of a code as f64.
#[inline]
pub(super) fn value(format: &Format, code: u64) -> f64 {
    match format.name {
        "f32" => f64::from(f32::from_bits(code as u32)),
        "f64" => f64::from_bits(code),
        _ => format.to_f64(code),
    }
}
