//! Opening a device by its name.

use std::time::Duration;

use super::{Device, DeviceName, ExecDevice, ModelDevice, TraceDevice, cpu::CpuDevice, cuda::CudaDevice, lent};
use crate::{Error, Result, arithmetic::suggested};

/// The device of this name; without a name the default one for what no processor has.
///
/// `timeout` is how long an `exec:` program may take for one answer.
///
/// # Errors
/// A request error for a name of no known kind or an input file that is wrong, a device error for a device
/// that cannot be reached.
pub fn open(name: Option<&DeviceName>, timeout: Duration) -> Result<Box<dyn Device>> {
    let name = &name.cloned().unwrap_or_else(|| DeviceName::usual(|| false));
    if let Some(device) = lent::device(name) {
        return device;
    }
    Ok(match name {
        DeviceName::Cpu => Box::new(CpuDevice::open()),
        DeviceName::Cuda(ordinal) => Box::new(CudaDevice::open(*ordinal)?),
        DeviceName::CublasLt(_) => {
            return Err(Error::request(format!(
                "{name} computes whole products, by `tcnum gemm`; it executes no instructions"
            )));
        }
        DeviceName::Model(model) => Box::new(ModelDevice::open(model)?),
        DeviceName::Trace(file) => Box::new(TraceDevice::open(file)?),
        DeviceName::Exec(command) => Box::new(ExecDevice::new(command, timeout)?),
        DeviceName::AllGpus | DeviceName::Other(_) => {
            let like = suggested(&name.to_string(), &["cuda:0", "cpu"]);
            return Err(Error::request(format!(
                "'{name}' is not a device; did you mean {like}? A device is a model or its GPU by name (hopper, H100), model:FILE, cuda:N, \
                 cpu, trace:FILE or exec:'PROGRAM ARGS'; `tcnum devices` lists those of this machine"
            )));
        }
    })
}
