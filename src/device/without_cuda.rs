//! The module `cuda` of a build without the feature `cuda`: it reads the names of GPUs, and says why none answers.

#[path = "cuda/architecture.rs"]
pub(crate) mod architecture;

use super::{Chains, ChosenAlgorithm, Device, Execution, Gpu, Identity, Library, LibraryProduct, Problem};
use crate::{
    Error, Result,
    arithmetic::Program,
    isa::{Codes, Instruction, Tiles},
};
use architecture::Architecture;

/// Why there is none of this.
fn absent<T>() -> Result<T> {
    Err(Error::device("this build of tcnum has no GPUs: it was made without the feature `cuda` of the package"))
}

/// Number of GPUs that this build sees.
pub(crate) fn count() -> usize {
    0
}

/// What a GPU is.
///
/// # Errors
/// Always: there is none.
pub(crate) fn identify(_gpu: &Gpu) -> Result<(Identity, &'static Architecture)> {
    absent()
}

/// The GPUs of this machine.
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

/// The compiler of kernels.
pub(crate) mod compile {
    pub(crate) fn version() -> crate::Result<String> {
        super::absent()
    }
}

/// A GPU that cannot be opened.
pub enum CudaDevice {}

impl CudaDevice {
    /// # Errors
    /// Always: this build has no GPUs.
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
