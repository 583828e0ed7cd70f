//! Exact numbers: finite ones as a sign, an integer significand and a power of two, their sums, products and quotients, and
//! how they are rounded. The only place with such arithmetic; formats, operations and instructions are built of it.

mod accumulator;
mod finite;
mod operations;
mod quantum;
mod read;
mod real;
mod rounding;
mod word;

pub use accumulator::Accumulator;
pub use finite::Finite;
pub(crate) use finite::ldexp;
pub use operations::exact_sum;
pub use real::{Real, product, special_sum, sum};
pub use rounding::Rounding;
pub(crate) use word::Word;
