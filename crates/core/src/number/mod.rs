//! Exact numbers: sums, products and quotients of finite numbers, and their rounding.
//! A number is a sign, an integer significand and a power of two. Formats, operations and instructions use this
//! arithmetic and no other.

mod accumulator;
mod finite;
mod operations;
mod quantum;
mod read;
mod real;
mod rounding;
mod word;

pub(crate) use accumulator::Accumulator;
pub use finite::Finite;
pub(crate) use finite::ldexp;
pub(crate) use operations::exact_sum;
pub(crate) use real::special_sum;
pub use real::{Real, product, sum};
pub use rounding::Rounding;
pub(crate) use word::Word;
