//! A floating-point unit: the arithmetic of one format in one environment.

use super::{Environment, Operation, Outcome};
use crate::{Result, format::Format};

/// The arithmetic of one floating-point format in one environment: every operation on its codes.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    format: &'a Format,
    environment: Environment,
}

impl<'a> Unit<'a> {
    /// The unit of `format`.
    ///
    /// # Errors
    /// An integer format.
    pub fn new(format: &'a Format, environment: Environment) -> Result<Unit<'a>> {
        Ok(Unit { format, environment })
    }

    /// The format.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Whether the format can carry `operation`.
    ///
    /// # Errors
    /// It cannot: the message says why.
    pub fn carries(&self, _operation: Operation) -> Result<()> {
        todo!()
    }

    /// `operation` on `operands` (as many as it has; the others are ignored). See [`Operation::result`] for what the code means.
    pub fn apply(&self, _operation: Operation, _operands: [u64; 3]) -> Outcome {
        todo!()
    }
}

/// Conversion from any format, integer formats included, to any other.
#[derive(Debug, Clone, Copy)]
pub struct Converter<'a> {
    from: &'a Format,
    to: &'a Format,
    environment: Environment,
}

impl<'a> Converter<'a> {
    /// Conversion of codes of `from` to codes of `to`.
    ///
    /// To integers: rounded to an integral value in the environment's direction; what lies beyond the range, infinite or NaN is invalid
    /// and gives the integer of the rule for NaNs; `exact` says whether an inexact result is flagged (for integers only).
    pub fn new(from: &'a Format, to: &'a Format, environment: Environment) -> Converter<'a> {
        Converter { from, to, environment }
    }

    /// Converts one code.
    pub fn convert(&self, _code: u64) -> Outcome {
        let _ = (self.from, self.to, self.environment);
        todo!()
    }
}
