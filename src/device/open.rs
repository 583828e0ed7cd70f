//! Devices by their names: which one a user means, and opening it.

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

/// The kinds of device, as their names begin before a colon.
const KINDS: [&str; 5] = ["cuda", "cublaslt", "model", "trace", "exec"];

impl DeviceName {
    /// The default device: `cuda:0` if there is a GPU; else `cpu`, if `on_cpu` says that it has what was asked for; else
    /// `model:hopper`.
    pub fn usual(on_cpu: impl FnOnce() -> bool) -> DeviceName {
        match cuda::count() {
            0 if on_cpu() => DeviceName::Cpu,
            0 => DeviceName::Model(DEFAULT_MODEL.into()),
            _ => DeviceName::Cuda(0),
        }
    }

    /// The device that a user means, who may write the bare name of a model (`hopper`), its alias (`H100`) or a model file (`FILE.toml`).
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

    /// Whether the name has the form of a device's, right or wrong, so that it is not a file's name.
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
