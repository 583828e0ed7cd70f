//! The formats in tables: their records, their codes, and a published table beside ours.

mod codes;
mod published;
mod records;

pub use codes::{codes, landmarks};
pub use published::published;
pub use records::{Detail, records};
