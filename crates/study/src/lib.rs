//! The questions of `tcnum`, a module each: of formats, of devices and of matrix products.
//!
//! A question is a function from a request to typed rows, on the engines of `tcnum_engine`. None knows of another, of options or of a
//! terminal: `tests/rooms.rs` of the repository holds that. This crate promises nothing to others but what the crate `tcnum` names.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod attention;
pub mod bound;
pub mod calc;
#[cfg(feature = "mpfr")]
pub mod chain;
#[cfg(feature = "mpfr")]
pub mod check;
pub mod convert;
pub mod cost;
pub mod coverage;
pub mod distinguish;
pub mod emulate;
pub mod explain;
pub mod features;
pub mod gemm;
pub mod identify;
pub mod inspect;
pub mod kit;
#[cfg(test)]
#[path = "../../../tests/common/machine.rs"]
mod machine;
pub mod matching;
pub mod power;
pub mod probe;
pub mod quantise;
pub mod record;
pub mod tree;
pub mod verify;

use tcnum_engine::{
    Error, Interruption, Result, Stage, arithmetic, array, base, bench, campaign, catalogue, checkpoint, classes,
    comparison, device, distinction, exact, format, inputs, isa, measurement, number, order, product, report, rows,
    rule, scheme, softfloat, steps, summary, tensor, trace,
};
