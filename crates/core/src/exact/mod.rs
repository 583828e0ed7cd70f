//! Exact dot-product-adds, in integers and independently by MPFR, and errors against them.

mod dot;
mod error;
#[cfg(feature = "mpfr")]
pub mod mpfr;
mod terms;

pub use dot::{Dot, ExactSum};
pub use error::{Deviation, distance, ulp_exponent};
