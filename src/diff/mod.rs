//! Changes between two results of a command, or between two devices.
//!
//! The tables of results are compared row by row. `keys.toml` says which columns name a row, and which give only its provenance.
//!
//! ```
//! tcnum_engine::rows! {
//!     /// How often an instruction differs from its model in a regime.
//!     struct Count in "regimes" {
//!         /// The instruction.
//!         instruction: String => shown("instruction"),
//!         /// The regime.
//!         regime: String => shown("regime"),
//!         /// Outputs that differ.
//!         differing: u64 => shown("differ"),
//!     }
//! }
//! use tcnum::{diff, report::{Report, Table}};
//! # fn main() {
//! let result = |differing| {
//!     let row = Count { instruction: "mma".into(), regime: "near".into(), differing };
//!     Report { tables: vec![Table::of("Regimes", [row])], ..Report::new("verify", "tcnum verify") }
//! };
//! let changes = diff::compare(&result(0), &result(1)).expect("results of one command");
//! assert_eq!((&*changes.tables[1].cells[0].row, changes.tables[1].same), ("mma, near", 0));
//! # }
//! ```

mod compare;
mod features;
mod keys;
pub mod tables;

pub(crate) use compare::compare_kept;
pub use compare::{Change, Changes, TableChanges, compare};
pub use features::{FeaturePair, features};
