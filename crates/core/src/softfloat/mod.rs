//! Scalar arithmetic in any format, in integers: each operation rounds once.
//!
//! [`Unit`] works on codes: every operation of IEEE 754 on the codes of one format in one [`Environment`], with the
//! exception flags; [`Converter`] converts codes of one format to another. One datapath serves every format: it reads
//! the format's record, never its name. [`Unit::map`] is the same datapath on many operands, compiled for each format
//! of the table.
//!
//! [`add`] and [`fma`] work on exact values ([`Real`](crate::format::Real)) inside an instruction, whose
//! steps need no flags. Both use the rounding of [`format`](mod@crate::format).

mod compare;
mod converter;
mod datapath;
mod environment;
mod flags;
mod integral;
mod map;
#[cfg(feature = "mpfr")]
pub mod mpfr;
mod nan;
mod operation;
mod product;
mod quotient;
mod root;
mod select;
mod sum;
mod tabled;
mod unit;
mod unpacked;
mod values;

pub use converter::Converter;
pub use environment::{Environment, Tininess};
pub use flags::{Flags, Outcome};
pub use map::Mapped;
pub use nan::NanRule;
pub use operation::{CLASSES, Operation, ResultKind};
pub use unit::Unit;
pub use values::{ResultTarget, add, fma};
