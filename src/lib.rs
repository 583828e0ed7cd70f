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
//! The layers, each of which uses only those above it:
//!
//! 1. the crate `tcnum_core`, which is the part to depend on and whose modules are here under their names: [`number`],
//!    [`format`](mod@format), [`softfloat`], [`exact`], [`isa`], [`inputs`], [`arithmetic`];
//! 2. [`array`](mod@array): arrays as files; [`trace`]: recordings as files;
//! 3. [`device`]: what executes instructions: GPUs, models, recordings, other programs;
//! 4. [`report`]: tables as declared rows, their schema and their renderings; [`summary`]: means and maxima;
//! 5. [`comparison`]: what a comparison finds, the same for all that compare; [`rule`]: rules that can be edited, and what refutes
//!    them; [`order`]: the orders of sums; [`tensor`], [`checkpoint`]: values of files, and their losses;
//!    [`product`]: matrix products by schedules, with bounds and references; [`scheme`]: those made of several products;
//! 6. one module a question, of formats ([`convert`], [`inspect`], [`calc`], [`quantise`]), of what there is (`catalogue`), of devices
//!    ([`record`], [`probe`], [`verify`], [`power`], [`identify`](mod@identify), [`features`], [`distinguish`](mod@distinguish), [`tree`],
//!    [`explain`], [`cost`]), of products ([`gemm`], [`matching`], [`bound`], [`check`], [`chain`], [`emulate`]) and of
//!    published figures ([`experiment`]);
//! 7. [`diff`]: changes between two results or devices; [`tables`]: all tables of reports; [`gate`]: reports as continuous integration
//!    reads them; `document`: documents and figures of results; `atlas`: a site of all models;
//! 8. [`verbs`]: the command line, which other programs have as reports ([`verbs::report()`]).
//!
//! Modules 2 to 8 belong to the program: they may change with every version. `tests/rooms.rs` holds the order.
//!
//! The package has three features, all of them on by default. Without any, formats, the soft-float, exact arithmetic, models and all that
//! works with simulated devices need no library of C and no tool but Rust:
//!
//! - `mpfr` builds GMP and MPFR from source (a C compiler, m4 and make). It gives the judges by MPFR ([`format::mpfr`],
//!   [`softfloat::mpfr`], [`exact::mpfr`]), and what sums exactly by GMP: [`chain`] and [`gemm::accuracy`].
//! - `cuda` gives [`device::cuda`]: GPUs. Without it no name of a GPU can be opened, and an error says so.
//! - `cli` gives [`verbs`], [`experiment`], [`tables`] and the program, with `mpfr`.
//!
//! Helpers that many modules need (files, text, signals) are in the private module `base`.

#![cfg_attr(docsrs, feature(doc_cfg))]
// Without commands or GPUs, their helpers have no user.
#![cfg_attr(not(all(feature = "cli", feature = "cuda")), allow(dead_code, unreachable_pub, unused_imports))]

pub mod array;
#[cfg(feature = "cli")]
pub mod atlas;
mod base;
mod bench;
pub mod bound;
pub mod calc;
pub(crate) mod catalogue;
#[cfg(feature = "mpfr")]
pub mod chain;
#[cfg(feature = "mpfr")]
pub mod check;
pub mod checkpoint;
pub mod comparison;
pub mod convert;
pub mod cost;
pub mod device;
pub mod diff;
pub mod distinguish;
#[cfg(feature = "cli")]
mod document;
pub mod emulate;
#[cfg(feature = "cli")]
pub mod experiment;
pub mod explain;
pub mod features;
pub mod gate;
pub mod gemm;
pub mod identify;
pub mod inspect;
mod kernels;
#[cfg(test)]
#[path = "../tests/common/machine.rs"]
mod machine;
pub mod matching;
pub mod order;
pub mod power;
pub mod probe;
pub mod product;
pub mod quantise;
pub mod record;
pub mod report;
pub mod rule;
pub mod scheme;
pub mod steps;
pub mod summary;
#[cfg(feature = "cli")]
pub mod tables;
pub mod tensor;
pub mod trace;
pub mod tree;
#[cfg(feature = "cli")]
pub mod verbs;
pub mod verify;
mod version;

pub use base::{interrupt::interruptible, parameters::spelled, stage::Stage};
pub use tcnum_core::{Error, Interruption, Result, arithmetic, exact, format, inputs, isa, number, softfloat};
pub use version::{COMMIT, VERSION};
