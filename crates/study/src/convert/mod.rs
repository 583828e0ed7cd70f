//! Reports on the conversion of single values, of blocks, and of files of arrays.

mod block;
mod file;
mod target;
pub mod value;

pub use block::in_blocks;
pub use block::{ElementRow, ScaleRow};
pub use file::{ArrayRow, ConvertedFile, FileConversion, TargetRecipe};
pub use value::ConversionRow;
