//! Is a matrix product what it claims to be: every element against the bound of its arithmetic.
//!
//! [`check`] compares each element of D with the exact product, within the rigorous bound of the claimed schedule or generation
//! ([`crate::product::bound`]). A sample of rows and columns is computed in full: exact sums, running bounds, the claimed arithmetic bit for bit.
//! [`power`] says which faulty kernels the bound, and a tolerance, would find.

mod diagnosis;
mod judge;
mod modelled;
pub mod power;
mod sample;
pub mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod tolerance;

pub use diagnosis::{Cause, Diagnosis, DiagnosisRow};
pub use judge::{CheckRequest, ProductCheck, check};
pub use modelled::{BoundRequest, ModelledProduct};
pub use sample::SampleCheck;
pub use tally::{ElementVerdict, Outside};
pub use tolerance::Tolerance;
