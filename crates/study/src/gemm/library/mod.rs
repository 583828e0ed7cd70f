//! Products of libraries: whether each follows the schedule of its algorithm's attributes.

mod batches;
pub mod campaign;
mod shapes;
pub mod tables;

pub use batches::{BatchRow, Layer, read_layers};
pub use shapes::{AskedProduct, checked_shape, read_shapes};
