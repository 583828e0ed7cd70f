//! The module `cuda` without the feature `cuda`: it names GPUs and explains their absence.

#[path = "cuda/architecture.rs"]
pub(crate) mod architecture;

use super::{Chains, ChosenAlgorithm, Device, Execution, Gpu, Identity, Library, LibraryProduct, Problem};
use crate::{
    Error, Result,
    arithmetic::Program,
    isa::{Codes, Instruction, Tiles},
};
use architecture::Architecture;

/// The error of every function here.
fn absent<T>() -> Result<T> {
    Err(Error::device("this build of tcnum has no GPU support; rebuild it with the feature `cuda`"))
}

/// Number of GPUs: none.
pub(crate) fn count() -> usize {
    0
}

/// Fails: there are no GPUs.
///
/// # Errors
/// Always.
pub(crate) fn identify(_gpu: &Gpu) -> Result<(Identity, &'static Architecture)> {
    absent()
}

/// GPUs of this machine.
pub(crate) mod gpu {
    use crate::{Result, device::Gpu};

    pub(crate) fn all() -> Result<Vec<Gpu>> {
        super::absent()
    }

    pub(crate) fn get(_ordinal: usize) -> Result<Gpu> {
        super::absent()
    }

    pub(crate) fn driver_version() -> Result<(String, Option<String>)> {
        super::absent()
    }
}

/// Compiler of kernels.
pub(crate) mod compile {
    pub(crate) fn version() -> crate::Result<String> {
        super::absent()
    }
}

/// A GPU that cannot be opened.
pub enum CudaDevice {}

impl CudaDevice {
    /// # Errors
    /// Always.
    pub(crate) fn open(_ordinal: usize) -> Result<CudaDevice> {
        absent()
    }

    pub(crate) fn chains(
        &mut self,
        _program: &Program,
        _shape: (usize, usize, usize),
        _a: &Codes,
        _b: &Codes,
    ) -> Result<Option<Box<dyn Chains>>> {
        match *self {}
    }
}

impl Device for CudaDevice {
    fn identity(&self) -> &Identity {
        match *self {}
    }

    fn prepare(&mut self, _instruction: &Instruction) -> Result<Execution> {
        match *self {}
    }

    fn execute(&mut self, _instruction: &Instruction, _tiles: &Tiles) -> Result<Codes> {
        match *self {}
    }
}

/// NVIDIA's library for matrix products.
pub(crate) mod cublaslt {
    use super::*;

    /// A library that cannot be opened.
    pub(crate) enum CublasLt {}

    impl CublasLt {
        pub(crate) fn open(_ordinal: usize) -> Result<CublasLt> {
            absent()
        }
    }

    impl Library for CublasLt {
        fn identity(&self) -> &Identity {
            match *self {}
        }

        fn multiply(
            &mut self,
            _problem: &Problem,
            _a: &Codes,
            _b: &Codes,
            _c: Option<&Codes>,
            _chosen: Option<&ChosenAlgorithm>,
        ) -> Result<LibraryProduct> {
            match *self {}
        }
    }
}
