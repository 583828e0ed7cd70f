//! The objects of cuBLASLt, destroyed when dropped.

use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
};

use super::functions::{Functions, Opaque};
use crate::{Error, Result};

/// The attribute of preferences that bounds scratch memory.
const PREFERRED_WORKSPACE: c_int = 1;
/// The attributes of preferences that promise the alignment of A, B, C and D.
const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];

/// Names of statuses.
const STATUSES: [(c_int, &str); 10] = [
    (0, "CUBLAS_STATUS_SUCCESS"),
    (1, "CUBLAS_STATUS_NOT_INITIALIZED"),
    (3, "CUBLAS_STATUS_ALLOC_FAILED"),
    (7, "CUBLAS_STATUS_INVALID_VALUE"),
    (8, "CUBLAS_STATUS_ARCH_MISMATCH"),
    (11, "CUBLAS_STATUS_MAPPING_ERROR"),
    (13, "CUBLAS_STATUS_EXECUTION_FAILED"),
    (14, "CUBLAS_STATUS_INTERNAL_ERROR"),
    (15, "CUBLAS_STATUS_NOT_SUPPORTED"),
    (16, "CUBLAS_STATUS_LICENSE_ERROR"),
];

/// Names a status.
pub(super) fn status_name(status: c_int) -> String {
    let known = STATUSES.iter().find(|(number, _)| *number == status);
    known.map_or_else(|| format!("status {status}"), |(_, name)| (*name).to_string())
}

fn succeeded(function: &str, status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(Error::device(format!("{function} failed: {}", status_name(status)))),
    }
}

/// Version of the library: `13.0.2`.
#[allow(unsafe_code)]
pub(super) fn version(functions: &Functions) -> String {
    // SAFETY: the function takes nothing.
    let number = unsafe { (functions.version)() };
    // Since version 11; 130002 is 13.0.2.
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// An object, and the function that destroys it.
struct Owned {
    raw: Opaque,
    destroy: unsafe extern "C" fn(Opaque) -> c_int,
}

impl Owned {
    /// Creates an object.
    fn new(
        function: &str,
        destroy: unsafe extern "C" fn(Opaque) -> c_int,
        create: impl FnOnce(*mut Opaque) -> c_int,
    ) -> Result<Owned> {
        let mut raw = null_mut();
        succeeded(function, create(&mut raw))?;
        Ok(Owned { raw, destroy })
    }
}

impl Drop for Owned {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: made by the library, destroyed once. A failure has no remedy.
        unsafe { (self.destroy)(self.raw) };
    }
}

/// The library's context.
pub(super) struct LibraryHandle(Owned);

impl LibraryHandle {
    #[allow(unsafe_code)]
    pub(super) fn new(functions: &Functions) -> Result<LibraryHandle> {
        // SAFETY: the pointer is to a live pointer.
        Owned::new("cublasLtCreate", functions.destroy, |raw| unsafe { (functions.create)(raw) }).map(LibraryHandle)
    }

    pub(super) fn raw(&self) -> Opaque {
        self.0.raw
    }
}

/// The description of a product.
pub(super) struct MatmulDescription {
    object: Owned,
    set: unsafe extern "C" fn(Opaque, c_int, *const c_void, usize) -> c_int,
}

impl MatmulDescription {
    #[allow(unsafe_code)]
    pub(super) fn new(functions: &Functions, compute: c_int, scale: c_int) -> Result<MatmulDescription> {
        // SAFETY: the pointer is to a live pointer.
        let create = |raw| unsafe { (functions.description_create)(raw, compute, scale) };
        let object = Owned::new("cublasLtMatmulDescCreate", functions.description_destroy, create)?;
        Ok(MatmulDescription { object, set: functions.description_set })
    }

    /// Sets an attribute to a value of its type.
    #[allow(unsafe_code)]
    pub(super) fn set<T: Copy>(&self, number: c_int, value: &T) -> Result<()> {
        // SAFETY: the object and the value are live.
        let status = unsafe { (self.set)(self.object.raw, number, (&raw const *value).cast(), size_of::<T>()) };
        succeeded(&format!("cublasLtMatmulDescSetAttribute({number})"), status)
    }

    pub(super) fn raw(&self) -> Opaque {
        self.object.raw
    }
}

/// The memory layout of a matrix: column by column, without gaps.
pub(super) struct MatrixLayout(Owned);

impl MatrixLayout {
    #[allow(unsafe_code)]
    pub(super) fn new(functions: &Functions, format: c_int, rows: usize, columns: usize) -> Result<MatrixLayout> {
        // SAFETY: the pointer is to a live pointer.
        let create = |raw| unsafe { (functions.layout_create)(raw, format, rows as u64, columns as u64, rows as i64) };
        Owned::new("cublasLtMatrixLayoutCreate", functions.layout_destroy, create).map(MatrixLayout)
    }

    pub(super) fn raw(&self) -> Opaque {
        self.0.raw
    }
}

/// The limits for the heuristic.
pub(super) struct Preference(Owned);

impl Preference {
    /// Allows `workspace` bytes of scratch memory, and promises pointers aligned to `alignment` bytes.
    #[allow(unsafe_code)]
    pub(super) fn new(functions: &Functions, workspace: usize, alignment: u32) -> Result<Preference> {
        // SAFETY: the pointer is to a live pointer.
        let create = |raw| unsafe { (functions.preference_create)(raw) };
        let object = Owned::new("cublasLtMatmulPreferenceCreate", functions.preference_destroy, create)?;
        let set = |number, pointer: *const c_void, size| {
            // SAFETY: the object is live, and the value has this size.
            let status = unsafe { (functions.preference_set)(object.raw, number, pointer, size) };
            succeeded(&format!("cublasLtMatmulPreferenceSetAttribute({number})"), status)
        };
        set(PREFERRED_WORKSPACE, (&raw const workspace).cast(), size_of::<usize>())?;
        ALIGNMENTS.iter().try_for_each(|number| set(*number, (&raw const alignment).cast(), size_of::<u32>()))?;
        Ok(Preference(object))
    }

    pub(super) fn raw(&self) -> Opaque {
        self.0.raw
    }
}
