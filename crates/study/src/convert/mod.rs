//! Reports on the conversion of single values, of blocks, and of files of arrays.

mod block;
mod file;
mod model;
mod target;
pub mod value;

pub use block::in_blocks;
pub use block::{ElementRow, ScaleRow};
pub use file::{ArrayRow, ConvertedFile, FileConversion};
pub use model::TargetRecipe;
pub use value::ConversionRow;
