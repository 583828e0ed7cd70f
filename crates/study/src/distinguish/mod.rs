//! Comparisons of instructions of devices, of models that agree, and test kits, as reports of [`crate::distinction`].

mod causes;
pub mod tables;
