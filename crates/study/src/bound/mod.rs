//! Bounds of products by a claim, whatever the operands, beside the largest errors that are found.

mod adversary;
mod observed;
pub mod tables;
#[cfg(all(test, feature = "mpfr"))]
mod tests;

pub use adversary::largest_found;
pub use observed::{ObservedErrors, observe};
