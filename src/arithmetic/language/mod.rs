//! The language of model files: what a rule can say, what its keys mean, and what is wrong with a file.
//!
//! [`keys`] is the table of it. A rule is lowered to a [`Program`](super::Program), which all evaluators run.

mod check;
pub(super) mod file;
pub(super) mod keys;
mod limits;
pub(super) mod node;
pub(super) mod rule;
pub(super) mod tree;
mod values;

pub(super) use crate::isa::pattern;
