//! Reports as gates for continuous integration: their checks as JUnit XML and SARIF.

mod checks;
mod junit;
mod sarif;

pub use checks::{Check, CheckOutcome, checks};
pub use junit::junit;
pub use sarif::sarif;
