//! Compilation of kernels to machine code with NVRTC.

use std::ffi::CString;

use cudarc::nvrtc::{result, sys};

use super::loader;
use crate::{Error, Result};

/// Compiles CUDA C++ for exactly one architecture (`sm_90a`) and returns the CUBIN.
///
/// # Errors
/// A device error: NVRTC is missing, does not know the architecture, or refuses the source (with its log).
pub fn compile(source: &str, target: &str) -> Result<Vec<u8>> {
    loader::nvrtc()?;
    let program = NvrtcProgram::new(source)?;
    program.compile(&options(target)).map_err(|cause| {
        let version = version().map_or_else(|_| "NVRTC".into(), |v| format!("NVRTC {v}"));
        match targets() {
            Ok(known) if !known.contains(&target.trim_end_matches('a').to_string()) => Error::device(format!(
                "{version} does not compile for {target}, only for {}; install another CUDA version",
                known.join(", ")
            )),
            _ => Error::device(format!("{version} cannot compile the kernel for {target}: {cause}")),
        }
    })?;
    program.cubin()
}

/// Options for NVRTC.
pub fn options(target: &str) -> Vec<String> {
    vec![format!("--gpu-architecture={target}"), "--std=c++17".into(), "--device-int128".into()]
}

/// Version of NVRTC: `13.0`.
///
/// # Errors
/// A device error without NVRTC.
#[allow(unsafe_code)]
pub fn version() -> Result<String> {
    loader::nvrtc()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: NVRTC is loaded; both pointers are to live integers.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) }.result().map_err(|e| failure("nvrtcVersion", e))?;
    Ok(format!("{major}.{minor}"))
}

/// Architectures that NVRTC compiles for, without suffix: `sm_75`, `sm_80`, ...
///
/// # Errors
/// A device error without NVRTC.
#[allow(unsafe_code)]
pub fn targets() -> Result<Vec<String>> {
    loader::nvrtc()?;
    let mut count = 0;
    // SAFETY: NVRTC is loaded; the pointer is to a live integer.
    unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) }
        .result()
        .map_err(|e| failure("nvrtcGetNumSupportedArchs", e))?;
    let mut numbers = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the array has the length that NVRTC returned.
    unsafe { sys::nvrtcGetSupportedArchs(numbers.as_mut_ptr()) }
        .result()
        .map_err(|e| failure("nvrtcGetSupportedArchs", e))?;
    Ok(numbers.into_iter().map(|n| format!("sm_{n}")).collect())
}

fn failure(function: &str, error: result::NvrtcError) -> Error {
    Error::device(format!("{function} failed: {error}"))
}

/// A program of NVRTC, destroyed when dropped.
struct NvrtcProgram(sys::nvrtcProgram);

impl NvrtcProgram {
    fn new(source: &str) -> Result<NvrtcProgram> {
        let source = CString::new(source).map_err(|_| Error::device("a kernel source contains a NUL byte"))?;
        // NVRTC copies the source.
        result::create_program(&source, Some(c"tcnum.cu"))
            .map(NvrtcProgram)
            .map_err(|e| failure("nvrtcCreateProgram", e))
    }

    /// Compiles; the error is NVRTC's log.
    #[allow(unsafe_code)]
    fn compile(&self, options: &[String]) -> std::result::Result<(), String> {
        // SAFETY: the program is live.
        unsafe { result::compile_program(self.0, options) }.map_err(|error| {
            // SAFETY: as above.
            let log = unsafe { result::get_program_log(self.0) }.unwrap_or_default();
            let log: Vec<u8> = log.into_iter().map(|c| c as u8).take_while(|&b| b != 0).collect();
            format!("{error}\n{}", String::from_utf8_lossy(&log).trim_end())
        })
    }

    #[allow(unsafe_code)]
    fn cubin(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program is live and compiled for a real architecture.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &mut size) }.result().map_err(|e| failure("nvrtcGetCUBINSize", e))?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the buffer has the size that NVRTC returned.
        unsafe { sys::nvrtcGetCUBIN(self.0, bytes.as_mut_ptr().cast()) }
            .result()
            .map_err(|e| failure("nvrtcGetCUBIN", e))?;
        Ok(bytes)
    }
}

impl Drop for NvrtcProgram {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: created by NVRTC, destroyed once. A failure has no remedy.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}
