//! Products of libraries: which schedule an algorithm follows, by its attributes, and whether it does.

mod attributes;
mod batches;
pub mod campaign;
mod operands;
mod shapes;
pub mod tables;

pub use attributes::{LibrarySchedules, Prediction};
pub use batches::{BatchRow, Layer, read_layers};
pub use operands::{Values, draw};
pub use shapes::{AskedProduct, checked_shape, read_shapes};
