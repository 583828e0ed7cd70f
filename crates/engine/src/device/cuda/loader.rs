//! Run-time loading of the CUDA driver, NVRTC and cuBLASLt.
//!
//! cudarc opens the driver and NVRTC by name through the system's loader, and panics without them: [`driver()`] or
//! [`nvrtc()`] must return `Ok` before any call. If the loader does not find a library, the usual folders are searched
//! and the file is opened by its full path; the loader then finds it by name. cuBLASLt is opened here, because a user
//! may name its file.

use std::{
    borrow::Borrow,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use cudarc::{driver, get_lib_name_candidates, nvrtc};
use libloading::Library;

use crate::{Error, Result};

/// Folders of the driver's library beyond the loader's own: containers, WSL, NixOS.
const DRIVER_FOLDERS: &[&str] = &[
    "/usr/local/nvidia/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64/nvidia",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
];

/// System folders in which a distribution installs NVRTC.
const SYSTEM_FOLDERS: &[&str] = &["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// Functions that the driver must have: cudarc panics where one is missing.
const DRIVER_FUNCTIONS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuStreamSynchronize",
    "cuLaunchKernel",
];

/// Functions that NVRTC must have, for the same reason.
const NVRTC_FUNCTIONS: &[&str] = &[
    "nvrtcVersion",
    "nvrtcGetErrorString",
    "nvrtcGetNumSupportedArchs",
    "nvrtcGetSupportedArchs",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcDestroyProgram",
];

/// Loads the driver.
///
/// # Errors
/// A device error: the names and places that were searched, or the missing function.
pub fn driver() -> Result<()> {
    static DRIVER: OnceLock<Result<()>> = OnceLock::new();
    DRIVER.get_or_init(load_driver).clone()
}

/// Loads NVRTC, the run-time compiler.
///
/// # Errors
/// As [`driver()`].
pub fn nvrtc() -> Result<()> {
    static NVRTC: OnceLock<Result<()>> = OnceLock::new();
    NVRTC.get_or_init(load_nvrtc).clone()
}

#[allow(unsafe_code)]
fn load_driver() -> Result<()> {
    // SAFETY: opening the vendor's library runs its initialisers, as loading always does.
    let present = || unsafe { driver::sys::is_culib_present() };
    let folders: Vec<PathBuf> = DRIVER_FOLDERS.iter().map(PathBuf::from).collect();
    let loaded = present() || open_from("cuda", &folders) && present();
    if !loaded {
        let source = "It comes with the NVIDIA GPU driver; in a container, start it with the GPU passed through";
        return Err(Error::device(not_found("CUDA driver", &names("cuda"), &folders, source)));
    }
    // SAFETY: the library is present, so this does not panic.
    match lacking(unsafe { driver::sys::culib() }, DRIVER_FUNCTIONS) {
        None => Ok(()),
        Some(name) => Err(Error::device(format!(
            "the CUDA driver lacks {name}: it is too old, or not a driver; install a current NVIDIA GPU driver"
        ))),
    }
}

#[allow(unsafe_code)]
fn load_nvrtc() -> Result<()> {
    // SAFETY: as for the driver.
    let present = || unsafe { nvrtc::sys::is_culib_present() };
    let folders = toolkit_folders();
    let loaded = present() || open_from("nvrtc", &folders) && present();
    if !loaded {
        let source = "It comes with the CUDA toolkit (set CUDA_HOME), or with `pip install nvidia-cuda-nvrtc` (set LD_LIBRARY_PATH \
                      to its lib folder)";
        return Err(Error::device(not_found("NVRTC (CUDA's run-time compiler)", &names("nvrtc"), &folders, source)));
    }
    // SAFETY: the library is present, so this does not panic.
    match lacking(unsafe { nvrtc::sys::culib() }, NVRTC_FUNCTIONS) {
        None => Ok(()),
        Some(name) => Err(Error::device(format!("NVRTC lacks {name}: CUDA 11.2 or later is needed"))),
    }
}

/// The first of `functions` that a library lacks.
#[allow(unsafe_code)]
fn lacking(library: &Library, functions: &[&'static str]) -> Option<&'static str> {
    // SAFETY: symbols are only looked for, never called.
    let absent = |name: &&&str| unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()).is_err() };
    functions.iter().find(absent).copied()
}

/// The message for a missing library, with its `source`.
fn not_found(what: &str, names: &[impl Borrow<str>], folders: &[PathBuf], source: &str) -> String {
    let searched: String = folders.iter().map(|folder| format!(", {}", folder.display())).collect();
    format!("no {what}: looked for {} on the loader's path{searched}. {source}", names.join(", "))
}

/// Names of cuBLASLt, the newest first.
const CUBLASLT_NAMES: &[&str] = &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"];
/// Variable that names the file of cuBLASLt.
const CUBLASLT_FILE: &str = "TCNUM_CUBLASLT";

/// Loads cuBLASLt: the file that `TCNUM_CUBLASLT` names, else the loader's library, else a toolkit's.
/// Returns its file or name, too.
///
/// # Errors
/// A request error: what was looked for, where, and what would provide it.
pub fn cublaslt() -> Result<&'static (Library, String)> {
    static CUBLASLT: OnceLock<Result<(Library, String)>> = OnceLock::new();
    CUBLASLT.get_or_init(load_cublaslt).as_ref().map_err(Clone::clone)
}

#[allow(unsafe_code)]
fn load_cublaslt() -> Result<(Library, String)> {
    // SAFETY: the vendor's library, loaded as the loader itself would; it is never unloaded.
    let opened = |name: &Path| unsafe { Library::new(name) };
    if let Some(file) = std::env::var_os(CUBLASLT_FILE).filter(|file| !file.is_empty()) {
        let path = PathBuf::from(file);
        let name = path.display().to_string();
        let failed = |error| Error::unavailable(format!("{CUBLASLT_FILE}={name}: it cannot be loaded: {error}"));
        return Ok((opened(&path).map_err(failed)?, name));
    }
    let folders = toolkit_folders();
    let by_name = CUBLASLT_NAMES.iter().map(PathBuf::from);
    let files = folders.iter().flat_map(|folder| CUBLASLT_NAMES.iter().map(|name| folder.join(name)));
    let loaded = by_name.chain(files.filter(|file| file.is_file())).find_map(|path| {
        let library = opened(&path).ok()?;
        Some((library, path.display().to_string()))
    });
    loaded.ok_or_else(|| {
        let source = format!(
            "It comes with the CUDA toolkit (set CUDA_HOME), with PyTorch, and with `pip install nvidia-cublas`; \
             {CUBLASLT_FILE}=FILE names the file"
        );
        Error::unavailable(not_found("cuBLASLt", CUBLASLT_NAMES, &folders, &source))
    })
}

/// The NVRTC file that the loader would open, guessed without loading it.
pub fn nvrtc_file() -> Option<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let loader: Vec<PathBuf> = std::env::split_paths(&path).filter(|p| !p.as_os_str().is_empty()).collect();
    let system = SYSTEM_FOLDERS.iter().map(PathBuf::from).collect();
    [loader, system, toolkit_folders()].iter().find_map(|folders| find_in("nvrtc", folders))
}

/// Roots of CUDA toolkits: the environment's first, then the usual places, the newest first.
pub fn toolkits() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let mut installed: Vec<PathBuf> = std::fs::read_dir("/usr/local")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda")))
        .collect();
    installed.sort_by_cached_key(|path| version_of(path));
    installed.reverse();
    named.chain(installed).chain([PathBuf::from("/opt/cuda")]).filter(|root| root.is_dir()).collect()
}

/// The numbers in a folder's name; the plain name (`cuda`, the installation's choice) ranks highest.
fn version_of(path: &Path) -> Vec<u32> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbers: Vec<u32> = name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    if numbers.is_empty() { vec![u32::MAX] } else { numbers }
}

fn toolkit_folders() -> Vec<PathBuf> {
    let below = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "bin"];
    toolkits().iter().flat_map(|root| below.map(|folder| root.join(folder))).filter(|f| f.is_dir()).collect()
}

/// The file names of a library on this system.
pub fn names(stem: &str) -> Vec<String> {
    let all = get_lib_name_candidates(stem);
    let plain: Vec<String> = all.iter().filter(|name| !name.contains("64")).cloned().collect();
    if cfg!(windows) { all } else { plain }
}

fn find_in(stem: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().flat_map(|folder| names(stem).into_iter().map(|n| folder.join(n))).find(|path| path.is_file())
}

/// Opens the library from the first folder that has it, and keeps it open.
fn open_from(stem: &str, folders: &[PathBuf]) -> bool {
    let Some(path) = find_in(stem, folders) else { return false };
    // NVRTC opens its builtins by name, which the loader would not find either.
    let builtins = format!("lib{stem}-builtins.so");
    for entry in path.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&builtins) {
            open(&entry.path());
        }
    }
    open(&path)
}

#[allow(unsafe_code)]
fn open(path: &Path) -> bool {
    // SAFETY: the vendor's library, loaded as the loader itself would; it is never unloaded.
    unsafe { Library::new(path) }.map(std::mem::forget).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_include_those_that_vendors_ship() {
        if cfg!(target_os = "linux") {
            assert!(names("cuda").contains(&"libcuda.so.1".to_string()));
            assert!(names("nvrtc").contains(&"libnvrtc.so.13".to_string()));
            assert!(names("nvrtc").contains(&"libnvrtc.so.12".to_string()));
        }
    }

    #[test]
    fn toolkits_are_sorted_by_number_and_the_plain_name_wins() {
        let mut folders: Vec<PathBuf> =
            ["/x/cuda-9.2", "/x/cuda", "/x/cuda-13.0", "/x/cuda-12.10"].iter().map(PathBuf::from).collect();
        folders.sort_by_key(|f| version_of(f));
        folders.reverse();
        let names: Vec<_> = folders.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["cuda", "cuda-13.0", "cuda-12.10", "cuda-9.2"]);
    }

    #[test]
    fn a_missing_library_is_a_device_error_with_its_names() {
        if let Err(error) = driver() {
            assert_eq!(error.exit_status(), 3);
            assert!(error.to_string().contains("libcuda.so.1"), "{error}");
        }
        if let Err(error) = nvrtc() {
            assert_eq!(error.exit_status(), 3);
            assert!(error.to_string().contains("libnvrtc.so.13"), "{error}");
        }
    }
}
