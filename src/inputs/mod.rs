//! Operands for experiments: random values, special values, and directed cases for the corners that random
//! values never visit. The same seed gives the same operands on any machine.

mod batch;
mod corners;
mod drawing;
pub mod exhaustive;
mod mix;
mod mixture;
mod position;
mod sequence;
pub mod space;
pub mod stream;
mod values;

pub use batch::{Batch, Op, RandomStream, Wide, draw};
pub use corners::{Corner, Corners};
pub use drawing::Draw;
pub(crate) use mix::output as random;
pub use mixture::{record_batch, record_tiles};
pub use position::Position;
pub use sequence::Sequence;
pub use stream::Regime;
pub use values::{Distribution, Init};

#[cfg(test)]
mod tests;
