//! The content of a checkpoint, and evidence for its layout.
//!
//! [`Survey`] tests by the values whether the conventions of a tensor's layout can be right: the order of nibbles, the direction of the
//! global scale, and the order of the scales. [`compare`] compares two checkpoints after decoding.

mod answer;
mod compare;
mod fused;
mod likeness;
mod marks;
mod partners;
mod survey;
mod table;
#[cfg(test)]
mod tests;

pub use answer::{compared, inspected};
pub use compare::compare;
pub use survey::Survey;
pub use table::{CheckpointTensorRow, ComparedTensorRow};
