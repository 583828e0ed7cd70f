//! Verification: a device against an arithmetic model, in every bit.
//!
//! [`recordings`] compares recorded outputs, or executes recorded operands again. A [`Campaign`] draws operands by the billion from
//! adversarial regimes, or takes every pair of codes. It has a [`Run`] for each instruction. An [`Engine`](crate::device::Engine)
//! compares ranges of tiles, and [`drive`] distributes them and adds the results in order. The [`State`] of a run therefore does not
//! depend on the number of engines, the length of ranges, or interruptions. It groups the first mismatches by kind; [`counterexamples`]
//! reduces the kinds to their causes.

pub mod campaign;
pub mod checkpoint;
mod compare;
mod counterexample;
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
pub use counterexample::{counterexamples, trace as counterexample_trace};
pub use drive::{drive, drive_all};
pub use engines::engine;
pub use part::{Part, Ran};
pub use run::{MOST_CASES, MOST_LISTED, MOST_MISMATCHES, MOST_SHARDS, Run, identify, rule_digest};
pub use state::State;
