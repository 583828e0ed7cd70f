//! Exact references: the dot-product-add as a dyadic integer and, independently, by MPFR; errors against the exact
//! value.

mod dot;
mod error;
#[cfg(feature = "mpfr")]
pub mod mpfr;
mod terms;

pub use crate::number::Accumulator;
pub use dot::{Dot, ExactSum};
pub use error::{Deviation, distance, ulp_exponent};
