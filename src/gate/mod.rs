//! A report as a gate: the checks that it holds, as continuous integration reads them (JUnit XML, SARIF).

mod checks;
mod junit;
mod sarif;

pub use checks::{Check, CheckOutcome, checks};
pub use junit::junit;
pub use sarif::sarif;
