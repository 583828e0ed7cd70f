//! The arithmetic of a program as a tree of equal steps, and in sentences.

mod joined;
mod sentences;
mod tree;

pub(crate) use sentences::sentences;
pub(crate) use tree::{Input, Part, tree};
