//! Conversion: what a format makes of single values, of blocks, and of whole files of arrays.

mod block;
mod file;
mod tensor;
mod value;

pub use block::BlockConversion;
pub use file::{FileConversion, Layout, layout};
pub use tensor::{Deviations, Target, Tensor, convert};
pub use value::{Conversion, Converted, Source, read};
