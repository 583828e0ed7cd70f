//! Opening a device by its name.

use std::time::Duration;

use super::{
    DEFAULT_MODEL, Device, ExecDevice, ModelDevice, TraceDevice, cpu,
    cpu::CpuDevice,
    cuda::{self, CudaDevice},
    lent,
};
use crate::{
    Error, Result,
    arithmetic::{named, suggested},
};

/// The name of the device that is used where nobody names one: `cuda:0` where there is a GPU; else `cpu`, if `on_cpu` says that it
/// has what was asked for; else `model:hopper`.
pub fn default_name(on_cpu: impl FnOnce() -> bool) -> String {
    match cuda::count() {
        0 if on_cpu() => cpu::NAME.into(),
        0 => format!("model:{DEFAULT_MODEL}"),
        _ => "cuda:0".into(),
    }
}

/// The kinds of device, as their names begin.
const KINDS: [&str; 5] = ["cuda:", "model:", "trace:", "exec:", "cublaslt"];

/// The name of a device as reports have it: `model:hopper` for a shipped model's name or alias (`hopper`, `H100`), `model:FILE.toml` for
/// a model file; every other name as it is.
pub(crate) fn canonical_name(name: &str) -> String {
    if is_canonical(name) && !name.starts_with("model:") {
        return name.into();
    }
    let model = name.strip_prefix("model:").unwrap_or(name);
    match named(model) {
        Some(model) => format!("model:{model}"),
        None if model.ends_with(".toml") => format!("model:{model}"),
        None => name.into(),
    }
}

/// Whether `name` names a device, and cannot be a file's name.
pub(crate) fn is_canonical(name: &str) -> bool {
    name == cpu::NAME || lent::has(name) || KINDS.iter().any(|kind| name.starts_with(kind))
}

/// The device that `name` names, in any of its spellings; without a name the default one for what no processor has.
///
/// `timeout` is how long an `exec:` program may take for one answer.
///
/// # Errors
/// A request error for a name of no known kind or an input file that is wrong, a device error for a device
/// that cannot be reached.
pub fn open(name: Option<&str>, timeout: Duration) -> Result<Box<dyn Device>> {
    let name = &name.map_or_else(|| default_name(|| false), canonical_name);
    if let Some(device) = lent::device(name) {
        return device;
    }
    if name == cpu::NAME {
        return Ok(Box::new(CpuDevice::open()));
    }
    if let Some(Ok(ordinal)) = cuda::ordinal(name) {
        return Ok(Box::new(CudaDevice::open(ordinal)?));
    }
    if cuda::cublaslt::ordinal(name).is_some() {
        return Err(Error::request(format!(
            "{name} computes whole products, by `tcnum gemm`; it executes no instructions"
        )));
    }
    match name.split_once(':') {
        Some(("model", model)) if !model.is_empty() => Ok(Box::new(ModelDevice::open(model)?)),
        Some(("trace", file)) if !file.is_empty() => Ok(Box::new(TraceDevice::open(file)?)),
        Some(("exec", command)) => Ok(Box::new(ExecDevice::new(command, timeout)?)),
        _ => {
            let like = suggested(name, &["cuda:0", cpu::NAME]);
            Err(Error::request(format!(
                "'{name}' is not a device; did you mean {like}? A device is a model or its GPU by name (hopper, H100), model:FILE, cuda:N, \
                 cpu, trace:FILE or exec:'PROGRAM ARGS'; `tcnum devices` lists those of this machine"
            )))
        }
    }
}
