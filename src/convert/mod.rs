//! Conversion of single values, of blocks, and of files of arrays.

mod block;
mod choice;
mod coder;
mod converter;
mod deviations;
mod file;
mod names;
mod pieces;
mod source;
mod target;
mod tensor;
mod unsound;
mod value;
mod values;

pub(crate) use block::in_blocks;
pub use block::{ElementRow, ScaleRow};
pub(crate) use choice::is_convolution;
pub use choice::{ArrayCounts, ChosenTensors, TensorChoice, flattened};
pub(crate) use coder::{FormatDecoder, FormatEncoder};
pub use deviations::Deviations;
pub use file::{ArrayRow, ConvertedFile, FileContent, FileConversion, layout};
pub use names::ArrayNames;
pub(crate) use pieces::common_multiple;
pub(crate) use source::original_shape;
pub(crate) use target::stored_scale;
pub use tensor::{ConversionTarget, Tensor, convert, convert_with_seed, encode};
pub use unsound::UnsoundValues;
pub use value::{ConversionRow, Converted, ValueConversion, ValueRead, read};
