//! The module `cuda` without the feature `cuda`: it names GPUs and explains their absence.

#[path = "cuda/architecture.rs"]
pub mod architecture;

use super::{
    Chains, ChosenAlgorithm, Device, Execution, Gpu, Identity, Library, LibraryProduct, Problem, ProductShape,
};
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

/// Fails.
///
/// # Errors
/// Always.
pub fn kernel_source(_instruction: &Instruction) -> Result<String> {
    absent()
}

/// Number of GPUs: none.
pub fn count() -> usize {
    0
}

/// Fails: there are no GPUs.
///
/// # Errors
/// Always.
pub fn identify(_gpu: &Gpu) -> Result<(Identity, &'static Architecture)> {
    absent()
}

/// GPUs of this machine.
pub mod gpu {
    use crate::{Result, device::Gpu};

    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn all() -> Result<Vec<Gpu>> {
        super::absent()
    }

    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn get(_ordinal: usize) -> Result<Gpu> {
        super::absent()
    }

    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn driver_version() -> Result<(String, Option<String>)> {
        super::absent()
    }
}

/// Compiler of kernels.
pub mod compile {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn version() -> crate::Result<String> {
        super::absent()
    }
}

/// A GPU that cannot be opened.
pub enum CudaDevice {}

impl CudaDevice {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(_ordinal: usize) -> Result<CudaDevice> {
        absent()
    }

    /// Chains of products.
    ///
    /// # Errors
    /// There is no such device.
    pub fn chains(
        &mut self,
        _program: &Program,
        _shape: ProductShape,
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
pub mod cublaslt {
    use super::*;

    /// A library that cannot be opened.
    pub enum CublasLt {}

    impl CublasLt {
        /// Fails.
        ///
        /// # Errors
        /// Always.
        pub fn open(_ordinal: usize) -> Result<CublasLt> {
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
