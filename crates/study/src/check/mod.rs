//! Is a matrix product what it claims to be: every element against the bound of its arithmetic.
//!
//! [`check`] compares each element of D with the exact product, within the rigorous bound of the claimed schedule or generation
//! ([`crate::product::bound`]). A sample of rows and columns is computed in full: exact sums, running bounds, the claimed arithmetic bit for bit.
//! [`power`] says which faulty kernels the bounds, and tests as they are written ([`Criterion`]), would miss.

mod by_element;
mod criterion;
mod diagnosis;
mod judge;
mod modelled;
pub mod power;
mod sample;
mod script;
pub mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod tolerance;

pub use by_element::{ElementTolerances, element_tolerances};
pub use criterion::{Criterion, Rule};
pub use diagnosis::{Cause, Diagnosis, DiagnosisRow};
pub use judge::{CheckRequest, CheckedProduct, ProductCheck, check};
pub use modelled::{BoundRequest, ModelledProduct};
pub use sample::{SampleCheck, SampledElement};
pub use script::{ScriptOrigin, TestScript};
pub use tally::{ElementVerdict, Outside};
pub use tolerance::{Basis, Tolerance};
