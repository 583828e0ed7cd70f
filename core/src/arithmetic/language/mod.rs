//! The language of model files: what a rule can say, what its keys mean, and what is wrong with a file.
//!
//! [`keys`] is the table of it: a key is a row. Row by row the keys of a rule are lowered to a [`draft`], a tree of nodes, which for an
//! instruction becomes the [`Program`](super::Program) that all evaluators run.

mod check;
pub(super) mod draft;
pub(super) mod evidence;
pub(super) mod file;
pub(super) mod keys;
mod limits;
mod lowering;
pub(super) mod node;
pub(super) mod rule;
pub(super) mod setting;
mod table;
mod tree;
mod values;

pub(super) use crate::isa::pattern;
