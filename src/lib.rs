//! `tcnum` profiles the numeric behaviour of low-precision floating-point formats and of the matrix
//! instructions of GPUs.
//!
//! The layers, each of which uses only those above it:
//!
//! 1. [`format`](mod@format): formats as data; codes to exact values, and exact values rounded to codes;
//! 2. [`softfloat`]: scalar operations on codes, rounded once, with exception flags; [`slices`]: conversions of slices,
//!    vectorised; [`exact`]: exact dot-product-adds in integers, and independently by MPFR, and the scalar operations by MPFR;
//!    [`block`]: block formats, elements that share a scale;
//! 3. [`isa`]: instructions as data, and the tiles that they consume;
//! 4. [`arithmetic`]: the arithmetic of instructions as data (`models/*.toml`), and its evaluation; [`inputs`]: random and
//!    directed operands; [`array`](mod@array): arrays as files; [`trace`]: recordings as files;
//! 5. [`device`]: what executes instructions: GPUs, models, recordings, other programs;
//! 6. [`report`]: one result schema, and its renderings; [`summary`]: means and maxima;
//! 7. what is asked of formats ([`catalogue`], [`convert`], [`calc`]) and of devices ([`probe`], [`verify`], [`explain`], [`chain`],
//!    and [`experiment`], which sets published figures beside measured ones);
//! 8. [`cli`]: the command line.

pub mod arithmetic;
pub mod array;
mod base;
pub mod calc;
pub mod catalogue;
pub mod chain;
pub mod cli;
pub mod convert;
pub mod device;
pub mod exact;
pub mod experiment;
pub mod explain;
pub mod format;
pub mod inputs;
pub mod isa;
pub mod number;
pub mod probe;
pub mod report;
pub mod softfloat;
pub mod summary;
pub mod trace;
pub mod verify;

pub use base::error::{Error, Result};
// The old paths, for modules that are being rewritten.
#[allow(unused_imports)]
use base::{atomic, digest, nearest, text, vectors, visible};
