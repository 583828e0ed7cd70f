//! Campaigns: a device compared with a model on billions of operands.
//!
//! Operands are from adversarial regimes, or all pairs of codes.
//!
//! A campaign has a [`Run`] for each instruction. An [`Engine`](crate::device::Engine) compares ranges of tiles, and [`drive`] distributes
//! them and adds the results in order. The [`State`] of a run therefore does not depend on the number of engines, the length of ranges, or
//! interruptions. It groups the first mismatches by kind; [`counterexamples`] reduces the kinds to their causes.

mod counterexample;
mod drive;
mod engines;
mod part;
mod run;
pub mod shrink;
mod state;
mod tables;

pub use counterexample::{counterexamples, trace as counterexample_trace};
pub use drive::{drive, drive_all};
pub use engines::engine;
pub use part::{Part, Ran};
pub use run::{MOST_CASES, MOST_LISTED, MOST_MISMATCHES, MOST_SHARDS, Run, identify, rule_digest};
pub use state::State;
pub use tables::{RegimeRow, regimes};
