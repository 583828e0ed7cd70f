//! Operands that a scheme does not take.

use super::{Emulated, Scheme};
use crate::{Error, Result, product::ProductOperands};

impl Scheme {
    /// Refuses all operands for a scheme of integers, and numbers that the emulated format does not have.
    ///
    /// # Errors
    /// A request error: the first such number and its place.
    pub fn fit_format(&self, operands: &ProductOperands) -> Result<()> {
        if self.is_integer() {
            return Err(Error::request(format!(
                "{} multiplies drawn integers; it takes no matrices of numbers",
                self.name
            )));
        }
        for (name, matrix) in [("A", &operands.a), ("B", &operands.b)] {
            let beyond = matrix.beyond_single().filter(|_| self.emulates == Emulated::Single);
            if let Some((row, column, x)) = beyond {
                return Err(Error::request(format!(
                    "{} emulates f32, and {name} has {x:e} in row {row}, column {column}, which f32 does not have; use a scheme of f64",
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// Refuses alpha, beta, C and batches for a scheme without them.
    ///
    /// # Errors
    /// A request error: what to leave out.
    pub fn fit_operands(&self, operands: &ProductOperands) -> Result<()> {
        if operands.is_scaled() && !self.takes_addend() {
            return Err(Error::request(format!(
                "{} has no alpha, beta and C: its file has no epilogue; leave them out, or use the scheme cublas-fp64",
                self.name
            )));
        }
        if operands.batch > 1 && !self.takes_batches() {
            return Err(Error::request(format!(
                "{} has no rule for batches; give one matrix A and one B, or use the scheme cublas-fp64",
                self.name
            )));
        }
        Ok(())
    }
}
