//! Results of comparisons, the same for probes, campaigns, recordings and scalar sweeps.
//! A [`Difference`] is a case with the device's and the model's answer, and its place. [`Kinds`] groups differences as
//! they come, and reduces each kind to its cause: a row of the table `mismatches`. The compared outputs and their agreement are rows of the table `verification`.

mod binomial;
mod complexity;
mod difference;
mod kinds;
mod nans;
mod operands;
pub mod random;
pub mod shrink;
mod signature;
mod table;

pub use binomial::{Binomial, Limits};
pub use complexity::Complexity;
pub use difference::{Answer, Difference, ResultPlace, Subject};
pub use kinds::{Kinds, MOST_GROUPED, counts_note};
pub use nans::with_one_nan;
pub use nans::{Nans, OneNan};
pub use operands::operands;
pub use signature::{Discrepancy, Signature};
pub use table::{Listing, MismatchOrigin, MismatchRow, VerificationRow};
