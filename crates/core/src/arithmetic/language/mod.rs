//! Language of model files: the keys of a rule, their meaning, and the defects of a file.
//!
//! [`keys`] is its table: a key is a row. The keys of a rule are lowered, row by row, to a [`draft`], a tree of nodes.
//! For an instruction the draft becomes the [`Program`](super::Program) that all evaluators run.

mod check;
pub(super) mod draft;
pub(super) mod evidence;
pub(super) mod file;
pub(super) mod keys;
pub(super) mod limits;
mod lowering;
mod near;
pub(super) mod node;
pub(super) mod rule;
pub(super) mod setting;
mod tree;
pub(super) mod value;
mod values;

pub(super) use crate::isa::pattern;
