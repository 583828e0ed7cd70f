//! The arithmetic of matrix instructions as data (`models/*.toml`), and its evaluation.
//!
//! A [`Model`] is a list of rules; each rule says which instructions it covers, by name pattern, and how they
//! compute one dot-product-add. Nothing here asks for a GPU by name.

mod check;
mod evaluate;
mod explain;
mod fast;
mod fused;
mod keys;
mod model;
mod plan;
mod rule;
pub mod scalar;
mod shipped;

use crate::isa::pattern;
pub use evaluate::Evaluator;
pub use explain::{Explanation, Line};
pub use keys::{KEYS, Key};
pub use model::Model;
pub use plan::{Fused, Plan, PlanStep};
pub use rule::{
    Alignment, CPosition, Conversion, Join, Lanes, Late, Operand, Parts, Rounded, Rule, Start, Step, Subnormals, Wrap,
    ZeroSign,
};
pub use shipped::{of_target, shipped};
