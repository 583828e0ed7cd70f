//! Quantisation errors of the tensors of files, for formats and rules for their scales.
//!
//! A tensor is read in panels of rows along an axis, in bounded memory. Each panel is quantised to every target and compared with the
//! original. Values are converted as in [`crate::format::block`]: those of plain formats with scales, too.

mod budget;
mod file;
mod losses;
mod product;
mod scaler;
mod table;
mod target;
mod tensor;
#[cfg(test)]
mod tests;
mod view;

pub use budget::{PlanRow, PlannedFormats};
pub use file::{FileLosses, TensorCount};
pub use product::Activations;
pub use table::{QuantisationRow, TensorQuantisationRow, WorstRunRow};
pub use target::{QuantisationTarget, ScaleScope, shared, targets};
pub use tensor::Quantisation;
