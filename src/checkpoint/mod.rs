//! Checkpoints as they are: the arrays that belong together, their codes and their conventions.
//!
//! A quantised tensor is one or more arrays of a file: codes, scales of blocks, and sometimes a global scale. A [`Layout`] is a file in
//! `layouts/` that says which names belong together and what each array holds. [`Checkpoint::open`] finds the layout of every tensor by
//! names, types, shapes and `config.json`, and [`Survey`] tests by the values whether the layout's conventions can be right: the order of
//! nibbles, the direction of the global scale, and the order of the scales. [`compare`] compares two checkpoints after decoding.
//!
//! Tensors are read piece by piece, in bounded memory. A value of a quantised tensor is computed exactly and rounded once, to `f32`.

mod answer;
mod compare;
mod config;
mod decoded;
mod elements;
mod find;
mod layout;
mod open;
mod own;
mod packing;
mod survey;
mod swizzle;
mod table;
mod tensor;
#[cfg(test)]
mod tests;
mod undecoded;
mod written;

pub use answer::{compared, inspected};
pub use compare::compare;
pub use decoded::DecodedFile;
pub use layout::Layout;
pub use open::Checkpoint;
pub use packing::Packing;
pub use survey::Survey;
pub use table::{CheckpointTensorRow, ComparedTensorRow};
pub use tensor::{CheckpointTensor, GlobalScale, Reading};
