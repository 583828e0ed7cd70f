//! Verification: a device against an arithmetic model, in every bit.
//!
//! [`trace`] compares recorded outputs. The rest is the campaign: operands drawn by the billion from adversarial regimes,
//! or every pair of codes. A [`Run`] says what is compared, and is cut into units, a number of tiles that is a function
//! of the instruction alone: a run stops at the end of one. An [`Engine`](crate::device::Engine) compares ranges of tiles,
//! parts of a unit or many, as fast as it is; [`drive`] hands them out and adds up, in order, so that the [`State`] of a run
//! does not depend on how many engines there were, how long their ranges were, or how often the run was killed and resumed.

pub mod campaign;
pub mod checkpoint;
mod compare;
mod counterexample;
mod cut;
mod drive;
mod engines;
pub mod merge;
mod part;
pub mod recordings;
pub mod replay;
pub mod reports;
mod run;
pub mod shrink;
mod state;
pub mod tables;
pub mod trace;

pub use campaign::{Campaign, CampaignProgress, CampaignRequest, CounterexampleFiles};
pub use compare::compare;
pub use counterexample::{Counterexample, counterexamples, trace as counterexample_trace};
pub use drive::{drive, drive_all};
pub use engines::engine;
pub use part::{Part, Ran};
pub use run::{MOST_CASES, MOST_LISTED, MOST_MISMATCHES, MOST_SHARDS, Run, identify, rule_digest};
pub use state::{Mark, State};
