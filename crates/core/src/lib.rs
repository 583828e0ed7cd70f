//! Low-precision formats, soft-float arithmetic, and the arithmetic of matrix instructions as data.
//!
//! This is the part of `tcnum` to depend on: formats, blocks and slices; scalar operations and exact sums, each with a
//! judge by MPFR; instructions and models; programs and their evaluators. It has no command line and needs no GPU.
//!
//! Encode a value: 464 is a tie between 448, the largest e4m3 number, and the next multiple of its quantum.
//!
//! ```
//! use tcnum_core::format::{self, Overflow, Rounding};
//! # fn main() -> tcnum_core::Result<()> {
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
//! use tcnum_core::{format, softfloat::{Environment, Flags, Unit}};
//! # fn main() -> tcnum_core::Result<()> {
//! let unit = Unit::new(format::find("bf16")?, Environment::default())?;
//! let third = unit.div(0x3f80, 0x4040); // 1 / 3
//! assert_eq!((third.code, third.flags), (Some(0x3eab), Flags::INEXACT));
//! # Ok(())
//! # }
//! ```
//!
//! One dot-product-add on a tensor core: Hopper keeps 13 fraction bits of e4m3 products, relative to the largest.
//!
//! ```
//! use tcnum_core::{arithmetic::Model, isa::{self, Case}};
//! # fn main() -> tcnum_core::Result<()> {
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
//! Quantise a slice, to one format or to blocks that share scales:
//!
//! ```
//! use tcnum_core::format::{self, Overflow, Rounding, block::{self, Quantizer}, slices::Encoder};
//! # fn main() -> tcnum_core::Result<()> {
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
//! The modules; each uses only the modules above it:
//!
//! 1. [`number`]: exact values, their sums, products and quotients, and rounding;
//! 2. [`format`](mod@format): formats as data; codes to exact values, and exact values rounded to codes;
//!    [`format::block`]: elements that share a scale; [`format::slices`]: conversions of slices, vectorised;
//! 3. [`softfloat`]: scalar operations on codes, rounded once, with exception flags; [`exact`]: exact dot-product-adds;
//! 4. [`isa`]: instructions as data, which targets have them, and the tiles that they consume;
//! 5. [`inputs`]: random, directed and exhaustive operands;
//! 6. [`arithmetic`]: the arithmetic of instructions as data, lowered to programs, and their evaluation.
//!
//! The feature `mpfr` builds GMP and MPFR from source (a C compiler, m4 and make) and gives the judges: `format::mpfr`,
//! `softfloat::mpfr` and `exact::mpfr`.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod arithmetic;
#[doc(hidden)]
pub mod base;
pub mod exact;
pub mod format;
pub mod inputs;
pub mod isa;
#[cfg(test)]
#[path = "../../../tests/common/machine.rs"]
mod machine;
pub mod number;
pub mod softfloat;

pub use base::error::{Error, Interruption, Result};
