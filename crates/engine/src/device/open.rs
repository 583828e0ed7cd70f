//! Devices by name: the device that a user means, and opening it.

use std::time::Duration;

use super::{
    DEFAULT_MODEL, Device, DeviceName, ExecDevice, ModelDevice, TraceDevice,
    cpu::CpuDevice,
    cuda::{self, CudaDevice},
    lent,
};
use crate::{
    Error, Result,
    arithmetic::{named, suggested},
};

/// Kinds of device: the part of a name before its colon.
const KINDS: [&str; 5] = ["cuda", "cublaslt", "model", "trace", "exec"];

impl DeviceName {
    /// The default device:
    /// `cuda:0` if there is a GPU, else `cpu` if `on_cpu` returns true, else `model:hopper`.
    pub fn usual(on_cpu: impl FnOnce() -> bool) -> DeviceName {
        match cuda::count() {
            0 if on_cpu() => DeviceName::Cpu,
            0 => DeviceName::Model(DEFAULT_MODEL.into()),
            _ => DeviceName::Cuda(0),
        }
    }

    /// The device that a user means; the name of a model may lack its kind (`hopper`, `H100`, `FILE.toml`).
    pub fn asked(text: &str) -> DeviceName {
        let name = DeviceName::from(text);
        let model = match &name {
            DeviceName::Model(model) | DeviceName::Other(model) if !lent::has(&name) => model,
            _ => return name,
        };
        match named(model) {
            Some(model) => DeviceName::Model(model.into()),
            None if model.ends_with(".toml") => DeviceName::Model(model.clone()),
            None => name,
        }
    }

    /// Returns true if the name has the form of a device's name, valid or not, and so is not a file's.
    pub fn is_of_device(&self) -> bool {
        match self {
            DeviceName::Other(text) => {
                let kind = text.split_once(':').map(|(kind, _)| kind);
                kind.is_some_and(|kind| KINDS.contains(&kind)) || lent::has(self)
            }
            _ => true,
        }
    }
}

/// Opens the device of this name, or without a name the default device.
///
/// `timeout` limits one answer of an `exec:` program.
///
/// # Errors
/// A request error for an unknown name or a wrong input file; a device error for a device that cannot be reached.
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
                "{name} executes no instructions; use `tcnum gemm` for whole products"
            )));
        }
        DeviceName::Model(model) => Box::new(ModelDevice::open(model)?),
        DeviceName::Trace(file) => Box::new(TraceDevice::open(file)?),
        DeviceName::Exec(command) => Box::new(ExecDevice::new(command, timeout)?),
        DeviceName::AllGpus | DeviceName::Other(_) => {
            let like = suggested(&name.to_string(), &["cuda:0", "cpu"]);
            return Err(Error::request(format!(
                "'{name}' is not a device; did you mean {like}? A device is a model or its GPU by name (hopper, H100), model:FILE, cuda:N, \
                 cpu, trace:FILE or exec:'PROGRAM ARGS'; `tcnum devices` lists all devices of this machine"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_may_leave_out_the_kind_of_a_model() {
        let model = |name: &str| DeviceName::Model(name.into());
        for (text, name) in [
            ("H100", model("hopper")),
            ("model:H100", model("hopper")),
            ("own.toml", model("own.toml")),
            ("model:own", model("own")),
            ("trace:own.toml", DeviceName::Trace("own.toml".into())),
            ("own", DeviceName::Other("own".into())),
        ] {
            assert_eq!(DeviceName::asked(text), name);
        }
    }
}
