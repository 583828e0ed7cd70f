//! Checkpoints as they are: the arrays that belong together, their codes and their conventions.
//!
//! A quantised tensor is one or more arrays of a file: codes, scales of blocks, and sometimes a global scale. A [`Layout`] is a file in
//! `layouts/` that says which names belong together and what each array holds. [`Checkpoint::open`] finds the layout of every tensor by
//! names, types, shapes and `config.json`.
//!
//! Tensors are read piece by piece, in bounded memory. A value of a quantised tensor is computed exactly and rounded once, to `f32`.

mod blocks;
mod config;
mod converted;
mod decoded;
mod description;
mod find;
mod fit;
mod ignored;
mod keys;
mod layout;
mod llama;
mod names;
mod open;
mod packing;
mod plane;
mod reader;
mod scales;
mod shape;
pub mod swizzle;
mod tensor;
mod undecoded;
mod written;

pub use decoded::DecodedFile;
pub use description::{DescribedGroup, ModelDescription};
pub use find::{NOTHING_DECIDES, TRUNCATED};
pub use layout::Layout;
pub use llama::LlamaModel;
pub use names::aliases;
pub use open::Checkpoint;
pub use packing::Packing;
pub use reader::TensorReader;
pub use tensor::{CheckpointTensor, GlobalScale, Reading};
pub use tensor::{Quantised, ScalePlace, TensorContent};
