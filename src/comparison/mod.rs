//! What a comparison finds, the same for all that compare (probes, campaigns, recordings, sweeps of scalar instructions): each
//! [`Difference`] is a case with the device's answer and the model's, where it was found, and how the answers differ; in reports a row of
//! the table `mismatches`. What was compared, and how much of it agrees, is a row of the table `verification`.

mod cost;
mod difference;
mod nans;
mod operands;
pub mod shrink;
mod signature;
mod table;

pub use cost::Complexity;
pub use difference::{Answer, Difference, ResultPlace, Subject};
pub(crate) use nans::with_one_nan;
pub use nans::{Nans, OneNan};
pub use operands::operands;
pub use signature::{Discrepancy, Signature};
pub use table::{Listing, MismatchOrigin, MismatchRow, VerificationRow};
