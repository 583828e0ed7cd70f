//! Bounds of products by a claim, whatever the operands, and errors that operands reach.

mod adversary;
mod construct;
pub mod explain;
mod models;
mod observed;
pub mod tables;
#[cfg(all(test, feature = "mpfr"))]
mod tests;

pub use adversary::Adversary;
pub use construct::{Attained, attained};
pub use models::{ModelBound, of_models};
pub use observed::{ObservedErrors, observe};
