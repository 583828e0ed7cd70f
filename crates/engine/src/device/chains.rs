//! Chains of an instruction: whole matrix products, summed step by step along k.
//! The D of each step is the C of the next.

use std::ops::Range;

use super::ProductShape;
use crate::{
    Result,
    isa::{Codes, Instruction},
};

/// Whole matrix products as a capability of a device.
pub trait WholeProducts {
    /// Prepares the product of A (m x k) and B (k x n) by steps of `instruction`, `promoted` or not.
    /// Returns `None` if the device cannot do it for this instruction.
    ///
    /// # Errors
    /// As [`super::Device::prepare`]; a device error if the operands do not fit into its memory.
    ///
    /// # Panics
    /// Panics if A or B has another number of codes.
    fn chains(
        &mut self,
        instruction: &Instruction,
        promoted: bool,
        shape: ProductShape,
        a: &Codes,
        b: &Codes,
    ) -> Result<Option<Box<dyn Chains>>>;
}

/// One matrix product with its operands, ready to be summed.
pub trait Chains {
    /// Sums all elements, row by row. A run is a list of steps and begins from zero.
    /// Each step takes a range of k, at most the instruction's k; zeros fill the rest.
    ///
    /// If `promoted`, each run's sum is added to an f32 register (round to nearest, from zero), and the result is f32.
    /// If not, there is one run, and the result is its code of D.
    ///
    /// # Errors
    /// A device error.
    fn sum(&mut self, runs: &[Vec<Range<usize>>], promoted: bool) -> Result<Codes>;

    /// Seconds that the sums have taken so far, without copying matrices.
    fn seconds(&self) -> f64;
}
