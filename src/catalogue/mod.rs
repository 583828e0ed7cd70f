//! Formats and models in tables: the records of formats and of block formats, codes, and a published table beside ours; the rules of models.

mod blocks;
mod codes;
mod models;
mod published;
mod records;

pub use blocks::blocks;
pub use codes::{codes, landmarks};
pub use models::{keys, model, models};
pub use published::published;
pub use records::{Detail, records};
