//! What changed: between two results of the same command, or between two devices.
//!
//! Of results the tables are compared row by row. What names a row, and what says only where it comes from, is data (`keys.toml`).
//!
//! ```
//! use tcnum::diff::{self, KeptResult};
//! # fn main() -> tcnum::Result<()> {
//! let kept = |differing: u32| {
//!     let row = format!(r#"{{"instruction": "i", "regime": "near", "compared": 9, "differing": {differing}}}"#);
//!     KeptResult::parse(&format!(r#"{{"schema": 2, "command": "verify", "tables": {{"regimes": [{row}]}}}}"#))
//! };
//! let changes = diff::compare(&kept(0)?, &kept(1)?)?;
//! assert_eq!(changes.tables[1].cells[0].row, "i, near");
//! # Ok(())
//! # }
//! ```

mod compare;
mod features;
mod keys;
mod result;
pub mod tables;

pub use compare::{Change, Changes, TableChanges, compare};
pub use features::{FeaturePair, features};
pub use result::KeptResult;
