//! The arithmetic of matrix instructions as data (`models/*.toml`), and its evaluation.
//!
//! A [`Model`] is a list of rules; each rule says which instructions it covers, by name pattern, and how they
//! compute one dot-product-add. Nothing here asks for a GPU by name.

mod evaluate;
mod model;
mod pattern;
mod rule;

pub use evaluate::Evaluator;
pub use model::{Model, shipped};
pub use rule::{Alignment, CPosition, Join, Operand, Parts, Rounded, Rule, Start, Step, Wrap};
