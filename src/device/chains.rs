//! Chains of an instruction: sums of all elements of a matrix product at once, each of steps whose D is the next step's C.

use std::ops::Range;

use crate::{
    Result,
    isa::{Codes, Instruction},
};

/// Whole matrix products at once.
pub trait WholeProducts {
    /// What sums the steps of `instruction` for all elements of a product of m x k codes of A and k x n codes of B at once, `promoted` or not;
    /// `None` if the device has nothing of the kind for it. `shape`: m, n and k.
    ///
    /// # Errors
    /// As [`super::Device::prepare`]; a device error: the operands do not fit into its memory.
    ///
    /// # Panics
    /// Unless there are as many codes.
    fn chains(
        &mut self,
        instruction: &Instruction,
        promoted: bool,
        shape: (usize, usize, usize),
        a: &Codes,
        b: &Codes,
    ) -> Result<Option<Box<dyn Chains>>>;
}

/// Something that sums the steps of every element of one matrix product, whose operands it holds.
pub trait Chains {
    /// The sums of all elements, row by row. Each run is of steps, each of which takes these k, at most as many as the instruction's;
    /// zeros follow where it takes fewer. A run begins from zero.
    ///
    /// `promoted`: what each run has summed is added, in f32 to nearest, to a register that begins at zero, and the result is
    /// f32. Otherwise there is one run, and the result is its code of D.
    ///
    /// # Errors
    /// A device error.
    fn sum(&mut self, runs: &[Vec<Range<usize>>], promoted: bool) -> Result<Codes>;

    /// Seconds that the sums have taken so far, without moving matrices.
    fn seconds(&self) -> f64;
}
