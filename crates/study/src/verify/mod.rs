//! Verification: a device against an arithmetic model, in every bit.
//!
//! [`recordings`] compares recorded outputs, or executes recorded operands again. A [`Campaign`] draws operands by the billion
//! ([`crate::campaign`]), with parts of it in files ([`checkpoint`]) that [`merge`] adds.

pub mod campaign;
pub mod checkpoint;
pub mod chosen;
mod compare;
pub mod condition;
pub mod merge;
pub mod random;
pub mod recordings;
pub mod replay;
pub mod reports;
pub mod tables;
pub mod trace;

pub use campaign::{Campaign, CampaignProgress, CampaignRequest, CounterexampleFiles};
pub use compare::compare;
