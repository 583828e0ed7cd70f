//! Quantisation errors of the tensors of files, for formats and rules for their scales.
//!
//! A tensor is read in panels of rows along an axis, in bounded memory. Each panel is quantised to every target and compared with the
//! original. Values of plain formats are divided by their scale in `f32`, rounded to the format, saturating, and multiplied by it;
//! block formats are converted as in [`crate::format::block`].

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

pub use file::FileLosses;
pub use product::Activations;
pub use scale::PlainRule;
pub use table::{QuantisationRow, TensorQuantisationRow, WorstRunRow};
pub use target::{QuantisationTarget, Sharing, shared, sharing, targets};
pub use tensor::Quantisation;
