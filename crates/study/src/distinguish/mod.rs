//! Comparisons of instructions, of models that agree, and test kits, by [`crate::distinction`].

mod causes;
pub mod tables;
