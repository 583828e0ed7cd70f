//! `tcnum` profiles the numeric behaviour of low-precision floating-point formats and of the matrix
//! instructions of GPUs.
//!
//! Encode a value: 464 lies half-way between 448, the largest e4m3 number, and where the next one would be.
//!
//! ```
//! use tcnum::format::{self, Overflow, Rounding};
//! # fn main() -> tcnum::Result<()> {
//! let e4m3 = format::find("e4m3")?;
//! assert_eq!(e4m3.encode_f64(464.0, Rounding::Rne, Overflow::Standard), Some(0x7e));
//! assert_eq!(e4m3.to_f64(0x7e), 448.0);
//! # Ok(())
//! # }
//! ```
//!
//! One operation on codes, rounded once, with its exception flags:
//!
//! ```
//! use tcnum::{format, softfloat::{Environment, Flags, Unit}};
//! # fn main() -> tcnum::Result<()> {
//! let unit = Unit::new(format::find("bf16")?, Environment::default())?;
//! let third = unit.div(0x3f80, 0x4040); // 1 / 3
//! assert_eq!((third.code, third.flags), (Some(0x3eab), Flags::INEXACT));
//! # Ok(())
//! # }
//! ```
//!
//! One dot-product-add as a tensor core computes it: Hopper keeps 13 fraction bits below the largest product of e4m3.
//!
//! ```
//! use tcnum::{arithmetic::Model, isa::{self, Case}};
//! # fn main() -> tcnum::Result<()> {
//! let instruction = isa::find("wgmma.m64n8k32.f32.e4m3.e4m3")?;
//! let evaluator = Model::load("hopper")?.evaluator(&instruction)?;
//! let mut case = Case::zeros(&instruction);
//! (case.a[0], case.b[0]) = (0x78, 0x78); // 256 * 256 = 2^16
//! (case.a[1], case.b[1]) = (0x38, 0x38); // 1 * 1
//! assert_eq!(f32::from_bits(evaluator.dot(&case) as u32), 65536.0);
//! # Ok(())
//! # }
//! ```
//!
//! Verify a device against a model, here a simulated one (`cuda:0` is a GPU, `exec:PROGRAM` anything else that computes):
//!
//! ```
//! use std::time::Duration;
//! use tcnum::{arithmetic::Model, device, inputs::Sequence, isa, verify};
//! # fn main() -> tcnum::Result<()> {
//! let mut device = device::open(Some(&"model:ampere".into()), Duration::from_secs(60))?;
//! let instruction = isa::find("mma.m16n8k16.f32.f16.f16.f32")?;
//! let random = Sequence::Random { seed: 1 };
//! let state = verify::compare(device.as_mut(), &Model::load("ampere")?, &instruction, random, Some(10_000))?;
//! assert_eq!((state.compared(), state.differing()), (10_112, 0)); // whole tiles
//! # Ok(())
//! # }
//! ```
//!
//! Quantise a slice, to one format or to blocks that share scales:
//!
//! ```
//! use tcnum::format::{self, Overflow, Rounding, block::{self, Quantizer}, slices::Encoder};
//! # fn main() -> tcnum::Result<()> {
//! let values = [0.1, -2.5, 1000.0];
//! let mut codes = [0u8; 3];
//! Encoder::new(format::find("e4m3")?, Rounding::Rne, Overflow::Saturate)?.encode(&values, &mut codes);
//! assert_eq!(codes, [0x1d, 0xc2, 0x7e]);
//!
//! let blocks = Quantizer::new(block::find("mxfp4").expect("a name of the table")).quantize(&values, values.len());
//! assert_eq!(blocks.dequantize(), [0.0, -0.0, 768.0]); // one scale of 2^7, and at most 6 times that
//! # Ok(())
//! # }
//! ```
//!
//! What others can depend on:
//!
//! - the crate `tcnum_core`, whose modules are here under their names: [`number`], [`format`](mod@format), [`softfloat`], [`exact`],
//!   [`isa`], [`inputs`], [`arithmetic`];
//! - [`device`]: what executes instructions, and the trait of a device of your own; [`comparison`] and [`verify`], which compare it with a
//!   model;
//! - `verbs::report`: any command line of the program, as a [`report::Report`].
//!
//! All else belongs to the program, and may change with every version. It stands in floors, each of which uses only those below it:
//! `tcnum_engine` (files, devices, reports, rules, tensors, products), `tcnum_study` (a module for each question), and in this crate
//! differences of results, files for continuous integration, published experiments, documents, the atlas and the command line.
//!
//! The package has three features, all of them on by default. Without any, formats, the soft-float, exact arithmetic, models and all that
//! works with simulated devices need no library of C and no tool but Rust:
//!
//! - `mpfr` builds GMP and MPFR from source (a C compiler, m4 and make). It gives the judges by MPFR ([`format::mpfr`],
//!   [`softfloat::mpfr`], [`exact::mpfr`]), and what sums exactly by GMP.
//! - `cuda` gives [`device::cuda`]: GPUs. Without it no name of a GPU can be opened, and an error says so.
//! - `cli` gives `verbs` and the program, with `mpfr`.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "cli")]
pub mod atlas;
#[cfg(feature = "cli")]
pub mod diff;
#[cfg(feature = "cli")]
mod document;
#[cfg(feature = "cli")]
pub mod experiment;
#[cfg(feature = "cli")]
pub mod gate;
#[cfg(test)]
#[path = "../tests/common/machine.rs"]
mod machine;
#[cfg(feature = "cli")]
mod survey;
#[cfg(feature = "cli")]
pub mod tables;
#[cfg(feature = "cli")]
pub mod verbs;

pub use tcnum_core::{Error, Interruption, Result, arithmetic, exact, format, inputs, isa, number, softfloat};
pub use tcnum_engine::{
    VERSION,
    base::{interrupt::interruptible, parameters::spelled},
    comparison, device, report,
};
pub use tcnum_study::verify;

#[cfg(feature = "cli")]
use tcnum_engine::{
    Stage, array, base, campaign, catalogue, checkpoint, classes, distinction, order, product, rows, rule, scheme,
    set_commit, steps, summary, tensor, trace,
};
#[cfg(feature = "cli")]
use tcnum_study::{
    attention, bound, calc, chain, check, convert, cost, coverage, distinguish, emulate, explain, features, gemm,
    identify, inspect, kit, matching, power, probe, quantise, record, tree,
};

/// The commit that the program is built from, in hexadecimal; `unknown` outside a repository.
///
/// It ends in `-dirty` if sources differed.
pub const COMMIT: &str = env!("TCNUM_COMMIT");
