//! The arithmetic of a program as a tree of equal steps, and in sentences.

mod joined;
mod sentences;
mod tree;

pub use sentences::sentences;
pub use tree::{Input, Part, tree};
