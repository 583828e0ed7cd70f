//! Products of libraries: which schedule an algorithm follows, by its attributes, and whether it does.

mod attributes;
pub mod campaign;
mod operands;
mod shapes;

pub use attributes::{LibrarySchedules, Prediction};
pub use operands::{Values, draw};
pub use shapes::{AskedProduct, checked_shape, read_shapes};
