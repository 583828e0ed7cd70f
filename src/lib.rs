//! `tcnum` profiles the numeric behaviour of low-precision floating-point formats and of the matrix
//! instructions of GPUs.
//!
//! The layers, each of which uses only those above it: [`format`](mod@format) (formats as data), [`exact`] (exact and
//! MPFR references), [`isa`] (instructions as data), [`arithmetic`] (the arithmetic of instructions as data, and
//! its evaluation), [`device`] (what executes instructions), the experiments ([`probe`], [`record`], [`verify`],
//! [`chain`], and [`experiment`], which declares published ones), [`report`] (one result schema and its renderings) and [`cli`].

pub mod arithmetic;
mod atomic;
pub mod catalogue;
pub mod chain;
pub mod cli;
pub mod convert;
pub mod device;
mod digest;
mod error;
pub mod exact;
pub mod experiment;
pub mod format;
pub mod inputs;
pub mod isa;
mod nearest;
pub mod probe;
pub mod report;
pub mod softfloat;
pub mod summary;
pub mod trace;
pub mod verify;

pub use error::{Error, Result};
