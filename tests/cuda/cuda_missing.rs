//! A machine whose CUDA is absent, broken or incomplete gets one message that says what is missing, exit status 3, and
//! the simulated device where none was asked for. Drivers are imitated by libraries that the C compiler makes.
#![cfg(target_os = "linux")]

use std::{
    path::Path,
    process::{Command, Output},
};

use crate::machine::{NO_NVRTC, Need, skip};
use tcnum_engine::device::cuda::loader;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers/imaginary.c");

/// A folder whose libcuda.so.1 was compiled from `source`.
fn driver(source: &Path, flags: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in loader::names("cuda") {
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(folder.path().join(name))
            .arg(source)
            .args(flags)
            .status();
        assert!(status.expect("a C compiler: the build needed one").success());
    }
    folder
}

/// `tcnum` where the loader finds the driver of `folder` before all others, and no toolkit by the environment.
fn tcnum(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tcnum"))
        .args(line.split_whitespace())
        .env("LD_LIBRARY_PATH", folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env_remove("CUDA_HOME")
        .env_remove("CUDA_PATH")
        .output()
        .expect("tcnum starts")
}

/// The one line on standard error of a command that ends with status 3.
fn failure(folder: &Path, line: &str) -> String {
    let output = tcnum(folder, line);
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(3), "{line}: {message}");
    assert!(output.stdout.is_empty() && message.starts_with("error: ") && message.lines().count() == 1, "{message}");
    message
}

#[test]
fn a_gpu_without_nvrtc_says_which_library_is_missing_and_how_to_get_it() {
    let folder = driver(Path::new(SOURCE), &[]);
    let list = tcnum(folder.path(), "devices");
    assert!(String::from_utf8_lossy(&list.stdout).contains("Imaginary GPU"), "{list:?}");
    if !loader::toolkits().is_empty() || loader::nvrtc_file().is_some() {
        return skip(Need::NoNvrtc, "this machine has an NVRTC");
    }
    for line in ["probe --device cuda:0", "probe"] {
        let message = failure(folder.path(), line);
        for part in ["NVRTC", "libnvrtc.so.13", "pip install nvidia-cuda-nvrtc", "CUDA_HOME"] {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn a_gpu_that_is_not_there_names_those_that_are() {
    let folder = driver(Path::new(SOURCE), &[]);
    assert!(failure(folder.path(), "probe --device cuda:3").contains("there is only cuda:0"));
}

#[test]
fn instructions_that_the_gpu_lacks_are_refused_with_the_architectures_that_have_them() {
    let folder = driver(Path::new(SOURCE), &[]);
    let refusals = [
        ("instructions f8f6f4 --device cuda:0", "(Imaginary GPU) has no such instruction"),
        ("probe --instr mma.m16n8k32.f32.e4m3.e4m3.f32.f8f6f4 --device cuda:0", "sm_120a"),
    ];
    for (line, part) in refusals {
        let output = tcnum(folder.path(), line);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(part) && message.lines().count() == 1, "{message}");
    }
}

#[test]
fn a_driver_without_a_gpu_leaves_the_simulated_device() {
    let folder = driver(Path::new(SOURCE), &["-DNO_DEVICE"]);
    assert!(failure(folder.path(), "probe --device cuda:0").contains("no CUDA-capable device"));
    let output = tcnum(folder.path(), "probe --samples 10 --op multiply --instr mma.m16n8k8.f32.f16.f16.f32");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("\ndevice: model:hopper"), "{text}");
}

#[test]
fn a_driver_that_lacks_functions_is_named_as_such() {
    let source = tempfile::Builder::new().suffix(".c").tempfile().expect("a file");
    std::fs::write(source.path(), "int cuInit(unsigned flags) { return 0; }\n").expect("written");
    let folder = driver(source.path(), &[]);
    assert!(failure(folder.path(), "probe --device cuda:0").contains("lacks cuDriverGetVersion"));
    let output = tcnum(folder.path(), "devices");
    assert!(output.status.success(), "{output:?}");
}

/// Kernels are compiled in the background: a GPU that fails meanwhile ends the command as any failure does.
#[test]
fn a_gpu_that_fails_while_kernels_are_compiled_is_a_device_failure() {
    if loader::nvrtc_file().is_none() {
        return skip(Need::Nvrtc, NO_NVRTC);
    }
    let folder = driver(Path::new(SOURCE), &[]);
    let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(folder.path().into()).chain(std::env::split_paths(&libraries)));
    let output = Command::new(env!("CARGO_BIN_EXE_tcnum"))
        .args(["verify", "--fmt", "f16", "--fmt", "bf16", "--fmt", "tf32", "--device", "cuda:0", "--cases", "1000"])
        .env("LD_LIBRARY_PATH", path.expect("folders without colons"))
        .env("TCNUM_CACHE", folder.path().join("cache"))
        .output()
        .expect("tcnum starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("the driver cannot load what NVRTC"), "{message}");
}
