//! Products of devices and libraries: what they are by a schedule, how exact they are, and where two makers first differ.

#[cfg(feature = "mpfr")]
mod accuracy;
#[cfg(feature = "mpfr")]
pub mod accuracy_table;
pub mod between;
pub mod library;
pub mod tables;

#[cfg(feature = "mpfr")]
pub use accuracy::{Accuracy, accuracy};
