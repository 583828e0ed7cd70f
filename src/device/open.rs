//! Opening a device by its name.

use std::time::Duration;

use super::{DEFAULT_MODEL, Device, ExecDevice, ModelDevice, TraceDevice, cuda, cuda::CudaDevice};
use crate::{Error, Result, arithmetic::shipped, base::nearest::nearest};

/// The device that `name` names; without a name `cuda:0` where there is one, else `model:hopper`.
///
/// `timeout` is how long an `exec:` program may take for one answer.
///
/// # Errors
/// A request error for a name of no known kind or an input file that is wrong, a device error for a device
/// that cannot be reached.
pub fn open(name: Option<&str>, timeout: Duration) -> Result<Box<dyn Device>> {
    let Some(name) = name else {
        return if cuda::count() > 0 {
            Ok(Box::new(CudaDevice::open(0)?))
        } else {
            Ok(Box::new(ModelDevice::open(DEFAULT_MODEL)?))
        };
    };
    if let Some(Ok(ordinal)) = cuda::ordinal(name) {
        return Ok(Box::new(CudaDevice::open(ordinal)?));
    }
    match name.split_once(':') {
        Some(("model", model)) if !model.is_empty() => Ok(Box::new(ModelDevice::open(model)?)),
        Some(("trace", file)) if !file.is_empty() => Ok(Box::new(TraceDevice::open(file)?)),
        Some(("exec", command)) => Ok(Box::new(ExecDevice::new(command, timeout)?)),
        _ => {
            let known: Vec<String> =
                ["cuda:0".to_string()].into_iter().chain(shipped().map(|m| format!("model:{m}"))).collect();
            Err(Error::request(format!(
                "unknown device '{name}'; the nearest is {}. A device is cuda:N, model:NAME or model:FILE, trace:FILE, \
                 or exec:'PROGRAM ARGS'; `tcnum devices` lists those of this machine",
                nearest(name, known.iter().map(String::as_str), 1).join(", ")
            )))
        }
    }
}
