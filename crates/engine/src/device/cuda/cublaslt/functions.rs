//! The functions of cuBLASLt, found at run time, as `cublasLt.h` of CUDA 12 and 13 declares them.
//!
//! Enumerations of the header stay numbers, because a newer library may return unknown ones.

use std::{
    ffi::{c_int, c_void},
    sync::OnceLock,
};

use crate::{Error, Result, device::cuda::loader};

/// A pointer to an object of the library, or to GPU memory.
pub(super) type Opaque = *mut c_void;

/// The library's opaque algorithm.
pub(super) type Algo = [u64; 8];

/// An answer of the heuristic.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeuristicResult {
    pub algo: Algo,
    pub workspace: usize,
    pub state: c_int,
    pub waves: f32,
    pub reserved: [c_int; 4],
}

/// Defines a struct of functions, each found by its name.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($type:ty),*) -> $result:ty;)+) => {
        /// The functions.
        #[derive(Debug, Clone, Copy)]
        pub(super) struct Functions {
            $(pub $field: unsafe extern "C" fn($($type),*) -> $result,)+
        }

        impl Functions {
            #[allow(unsafe_code)]
            fn of(library: &libloading::Library, file: &str) -> Result<Functions> {
                Ok(Functions {
                    $($field: {
                        // SAFETY: the function has this type in the library's header.
                        let symbol = unsafe { library.get::<unsafe extern "C" fn($($type),*) -> $result>($name.as_bytes()) };
                        *symbol.map_err(|_| lacking(file, $name))?
                    },)+
                })
            }
        }
    };
}

fn lacking(file: &str, name: &str) -> Error {
    Error::unavailable(format!(
        "{file} lacks {name}: it is too old, or not cuBLASLt; cuBLASLt of CUDA 12 or 13 is needed (TCNUM_CUBLASLT=FILE names another)"
    ))
}

functions! {
    version = "cublasLtGetVersion": fn() -> usize;
    create = "cublasLtCreate": fn(*mut Opaque) -> c_int;
    destroy = "cublasLtDestroy": fn(Opaque) -> c_int;
    matmul = "cublasLtMatmul": fn(
        Opaque, Opaque, *const c_void, *const c_void, Opaque, *const c_void, Opaque, *const c_void, *const c_void, Opaque, *mut c_void,
        Opaque, *const Algo, *mut c_void, usize, Opaque
    ) -> c_int;
    heuristic = "cublasLtMatmulAlgoGetHeuristic": fn(
        Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut HeuristicResult, *mut c_int
    ) -> c_int;
    algo_init = "cublasLtMatmulAlgoInit": fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int, c_int, *mut Algo) -> c_int;
    algo_check = "cublasLtMatmulAlgoCheck": fn(
        Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, *const Algo, *mut HeuristicResult
    ) -> c_int;
    algo_set = "cublasLtMatmulAlgoConfigSetAttribute": fn(*mut Algo, c_int, *const c_void, usize) -> c_int;
    algo_get = "cublasLtMatmulAlgoConfigGetAttribute": fn(*const Algo, c_int, *mut c_void, usize, *mut usize) -> c_int;
    description_create = "cublasLtMatmulDescCreate": fn(*mut Opaque, c_int, c_int) -> c_int;
    description_destroy = "cublasLtMatmulDescDestroy": fn(Opaque) -> c_int;
    description_set = "cublasLtMatmulDescSetAttribute": fn(Opaque, c_int, *const c_void, usize) -> c_int;
    layout_create = "cublasLtMatrixLayoutCreate": fn(*mut Opaque, c_int, u64, u64, i64) -> c_int;
    layout_destroy = "cublasLtMatrixLayoutDestroy": fn(Opaque) -> c_int;
    preference_create = "cublasLtMatmulPreferenceCreate": fn(*mut Opaque) -> c_int;
    preference_destroy = "cublasLtMatmulPreferenceDestroy": fn(Opaque) -> c_int;
    preference_set = "cublasLtMatmulPreferenceSetAttribute": fn(Opaque, c_int, *const c_void, usize) -> c_int;
}

/// The functions of the first library found, and its file or name.
///
/// # Errors
/// A request error: no library (what was looked for, where, and what would provide it), or one that lacks a function.
pub(super) fn functions() -> Result<&'static (Functions, String)> {
    static FUNCTIONS: OnceLock<Result<(Functions, String)>> = OnceLock::new();
    let loaded = FUNCTIONS.get_or_init(|| {
        let (library, file) = loader::cublaslt()?;
        Ok((Functions::of(library, file)?, file.clone()))
    });
    loaded.as_ref().map_err(Clone::clone)
}
