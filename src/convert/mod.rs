//! Conversion: what a format makes of single values, of blocks, and of whole files of arrays.

mod block;
mod deviations;
mod file;
mod tensor;
mod value;
mod values;

pub use block::{BlockConversion, ElementRow, ScaleRow};
pub use deviations::Deviations;
pub use file::{ArrayRow, FileConversion, Layout, layout};
pub use tensor::{Target, Tensor, convert};
pub use value::{Conversion, ConversionRow, Converted, Source, read};
