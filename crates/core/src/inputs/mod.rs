//! Operands for experiments: random and special values, and directed cases that random values miss.
//! The same seed gives the same operands on any machine.

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

pub use batch::{Batch, Drawing, Op, RandomStream, Wide, draw};
pub use corners::{Corner, Corners};
pub use drawing::Draw;
pub use mix::output as random;
pub use mixture::{Mixture, record_batch, record_tiles};
pub use position::Position;
pub use sequence::Sequence;
pub use stream::Regime;
pub use values::{Distribution, Init};

/// Random bits, `bits` per element, for the stochastic rounding of the elements at these places.
pub fn rounding_bits(seed: u64, bits: u32, places: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
    places.map(move |place| random(seed, place) >> (64 - bits))
}

#[cfg(test)]
mod tests;
