//! The engines of `tcnum`: files, devices, reports, rules, orders of sums, tensors and matrix products.
//!
//! This crate promises nothing to others: it changes with every version of the program, whose questions (`tcnum_study`) stand on it.
//! What to depend on is `tcnum_core`, whose modules have their names here.
//!
//! An engine knows of no question: `tests/rooms.rs` of the repository holds their order.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod array;
pub mod base;
pub mod bench;
pub mod campaign;
pub mod catalogue;
pub mod checkpoint;
pub mod classes;
pub mod comparison;
pub mod device;
pub mod distinction;
pub mod kernels;
pub mod measurement;
pub mod order;
pub mod product;
pub mod report;
pub mod rule;
pub mod scheme;
pub mod steps;
pub mod summary;
pub mod tensor;
pub mod trace;
mod version;

pub use base::stage::Stage;
pub use tcnum_core::{Error, Interruption, Result, arithmetic, exact, format, inputs, isa, number, softfloat};
pub use version::{VERSION, commit, set_commit};
