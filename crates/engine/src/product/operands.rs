//! The operands of D = alpha A B + beta C, of one product or of a batch.

use std::borrow::Cow;

use super::{Extents, NumberMatrix, ProductShape};
use crate::Result;

/// The operands of D = alpha A B + beta C.
///
/// The matrices of a batch are stacked: those of the first product come first.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductOperands {
    /// A.
    pub a: NumberMatrix,
    /// B.
    pub b: NumberMatrix,
    /// C; without it, beta is zero.
    pub c: Option<NumberMatrix>,
    /// The factor of A B.
    pub alpha: f64,
    /// The factor of C.
    pub beta: f64,
    /// Number of products, at least one.
    pub batch: usize,
}

impl ProductOperands {
    /// The operands of one product A B.
    pub fn new(a: NumberMatrix, b: NumberMatrix) -> ProductOperands {
        ProductOperands { a, b, c: None, alpha: 1.0, beta: 0.0, batch: 1 }
    }

    /// The shape of each product.
    pub fn shape(&self) -> ProductShape {
        ProductShape { m: self.a.rows / self.batch, n: self.b.columns, k: self.a.columns }
    }

    /// True if D is more than A B.
    pub fn is_scaled(&self) -> bool {
        self.alpha != 1.0 || self.c.is_some()
    }

    /// A and B of a product of the batch.
    pub fn product(&self, at: usize) -> (Cow<'_, NumberMatrix>, Cow<'_, NumberMatrix>) {
        if self.batch == 1 {
            return (Cow::Borrowed(&self.a), Cow::Borrowed(&self.b));
        }
        let part = |matrix: &NumberMatrix| {
            let rows = matrix.rows / self.batch;
            Cow::Owned(matrix.of_rows(&(at * rows..(at + 1) * rows)))
        };
        (part(&self.a), part(&self.b))
    }

    /// The operands of some rows of D, which is one product.
    pub fn of_rows(&self, rows: &[usize]) -> ProductOperands {
        ProductOperands { a: self.a.chosen(rows), c: self.c.as_ref().map(|c| c.chosen(rows)), ..self.clone() }
    }

    /// beta C, rounded: zeros where beta is zero, without a look at C.
    pub(crate) fn addend(&self) -> Vec<f64> {
        match &self.c {
            Some(c) if self.beta != 0.0 => c.values.iter().map(|x| self.beta * x).collect(),
            _ => vec![0.0; self.a.rows * self.b.columns],
        }
    }

    /// Refuses matrices that do not fit together.
    ///
    /// # Errors
    /// A request error: which matrix has what shape, and which one is expected.
    pub fn fit(&self) -> Result<()> {
        // A matrix that is no stack of the batch's matrices fits nothing.
        let extent = |stacked: &NumberMatrix| match stacked.rows % self.batch {
            0 => (stacked.rows / self.batch, stacked.columns),
            _ => (stacked.rows, stacked.columns),
        };
        let (a, b, c) = (extent(&self.a), extent(&self.b), self.c.as_ref().map(extent));
        Extents { a, b, c, bias: None, d: None }.fit()
    }
}
