//! Opening a device by its name.

use std::time::Duration;

use super::{
    DEFAULT_MODEL, Device, ExecDevice, ModelDevice, TraceDevice, cpu,
    cpu::CpuDevice,
    cuda::{self, CudaDevice},
    lent,
};
use crate::{Error, Result, arithmetic::shipped, base::nearest::nearest};

/// The name of the device that is used where nobody names one: `cuda:0` where there is a GPU; else `cpu`, if `on_cpu` says that it
/// has what was asked for; else `model:hopper`.
pub fn default_name(on_cpu: impl FnOnce() -> bool) -> String {
    match cuda::count() {
        0 if on_cpu() => cpu::NAME.into(),
        0 => format!("model:{DEFAULT_MODEL}"),
        _ => "cuda:0".into(),
    }
}

/// The device that `name` names; without a name the default one for what no processor has.
///
/// `timeout` is how long an `exec:` program may take for one answer.
///
/// # Errors
/// A request error for a name of no known kind or an input file that is wrong, a device error for a device
/// that cannot be reached.
pub fn open(name: Option<&str>, timeout: Duration) -> Result<Box<dyn Device>> {
    let name = &name.map_or_else(|| default_name(|| false), str::to_string);
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
            let known: Vec<String> = ["cuda:0".to_string(), cpu::NAME.to_string()]
                .into_iter()
                .chain(shipped().map(|m| format!("model:{m}")))
                .collect();
            Err(Error::request(format!(
                "unknown device '{name}'; the nearest is {}. A device is cuda:N, cpu, model:NAME or model:FILE, trace:FILE, \
                 or exec:'PROGRAM ARGS'; `tcnum devices` lists those of this machine",
                nearest(name, known.iter().map(String::as_str), 1).join(", ")
            )))
        }
    }
}
