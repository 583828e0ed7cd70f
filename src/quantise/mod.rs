//! Quantisation of tensors of any size: what formats, with their scales, make of the values of a file.
//!
//! A tensor is read in panels of rows along an axis, each of which is quantised to every target and compared with what it was, so
//! that memory is bounded whatever the size of the file. Values of plain formats are divided by their scale in `f32`, rounded to
//! the format, saturating, and multiplied by it; block formats are converted as [`crate::format::block`] says.

mod file;
mod losses;
mod product;
mod scale;
mod scaler;
mod table;
mod target;
mod tensor;
#[cfg(test)]
mod tests;
mod view;

pub use file::{Choice, FileLosses};
pub use product::Activations;
pub use scale::PlainRule;
pub use table::{QuantisationRow, TensorQuantisationRow, WorstRunRow};
pub use target::{BlockScale, QuantisationTarget, Sharing, sharing, targets};
pub use tensor::Quantisation;
