//! Products of devices and libraries: by schedules, against references, and of two makers.

#[cfg(feature = "mpfr")]
mod accuracy;
#[cfg(feature = "mpfr")]
pub mod accuracy_table;
pub mod between;
pub mod library;
pub mod tables;

#[cfg(feature = "mpfr")]
pub use accuracy::{Accuracy, accuracy};
