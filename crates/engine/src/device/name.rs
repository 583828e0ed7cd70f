//! Names of devices.

use std::fmt::{self, Display, Formatter};

use crate::{Error, Result};

/// The name of a device. Every text parses to one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DeviceName {
    /// `cpu`: the processor that runs this program.
    Cpu,
    /// `cuda:N`: a GPU by its number, from 0.
    Cuda(usize),
    /// `cuda:all` or `cuda:*`: every GPU of this machine.
    AllGpus,
    /// `cublaslt:N`: NVIDIA's library for matrix products on a GPU; `cublaslt` means the first.
    CublasLt(usize),
    /// `model:NAME`: a shipped model or a model file.
    Model(String),
    /// `trace:FILE`: a recording.
    Trace(String),
    /// `exec:PROGRAM ARGS`: a program.
    Exec(String),
    /// Any other text: a lent device, or the device of a recording.
    Other(String),
}

impl DeviceName {
    /// Model or model file, if the device is a model.
    pub fn model(&self) -> Option<&str> {
        match self {
            DeviceName::Model(model) => Some(model),
            _ => None,
        }
    }

    /// Recording file, if the device is a recording.
    pub fn trace(&self) -> Option<&str> {
        match self {
            DeviceName::Trace(file) => Some(file),
            _ => None,
        }
    }

    /// The name in a sentence about models: `hopper` for `model:hopper`.
    pub fn short(&self) -> String {
        self.model().map_or_else(|| self.to_string(), str::to_string)
    }

    /// The name in a sentence about execution: `this processor` for `cpu`.
    pub fn spoken(&self) -> String {
        if *self == DeviceName::Cpu { "this processor".into() } else { self.to_string() }
    }

    /// Checks that the device computes; `wanted` names the request for the message.
    ///
    /// # Errors
    /// A request error if the device is a recording.
    pub fn computes(&self, wanted: &str) -> Result<()> {
        match self {
            DeviceName::Trace(_) => {
                Err(Error::request(format!("{self} is a recording, which computes no new outputs: {wanted}")))
            }
            _ => Ok(()),
        }
    }
}

impl From<&str> for DeviceName {
    fn from(text: &str) -> DeviceName {
        let known = match text.split_once(':') {
            None if text == "cpu" => Some(DeviceName::Cpu),
            None if text == "cublaslt" => Some(DeviceName::CublasLt(0)),
            Some(("cuda", "all" | "*")) => Some(DeviceName::AllGpus),
            Some(("cuda", number)) => number.parse().ok().map(DeviceName::Cuda),
            Some(("cublaslt", number)) => number.parse().ok().map(DeviceName::CublasLt),
            Some(("model", model)) if !model.is_empty() => Some(DeviceName::Model(model.into())),
            Some(("trace", file)) if !file.is_empty() => Some(DeviceName::Trace(file.into())),
            Some(("exec", command)) => Some(DeviceName::Exec(command.into())),
            _ => None,
        };
        known.unwrap_or_else(|| DeviceName::Other(text.into()))
    }
}

impl Display for DeviceName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Cpu => f.write_str("cpu"),
            DeviceName::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            DeviceName::AllGpus => f.write_str("cuda:all"),
            DeviceName::CublasLt(ordinal) => write!(f, "cublaslt:{ordinal}"),
            DeviceName::Model(model) => write!(f, "model:{model}"),
            DeviceName::Trace(file) => write!(f, "trace:{file}"),
            DeviceName::Exec(command) => write!(f, "exec:{command}"),
            DeviceName::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_printed_as_it_is_written() {
        let names = [
            "cpu",
            "cuda:12",
            "cuda:all",
            "cublaslt:3",
            "model:hopper",
            "model:own.toml",
            "trace:a:b",
            "exec:p -x 'y z'",
        ];
        for text in names {
            let name = DeviceName::from(text);
            assert!(!matches!(name, DeviceName::Other(_)) && name.to_string() == text, "{name:?}");
        }
        assert_eq!(DeviceName::from("cublaslt"), DeviceName::CublasLt(0));
        assert_eq!(DeviceName::from("cuda:*"), DeviceName::AllGpus);
        for text in ["", "cuda:-1", "cublaslt2", "cublas", "model:", "trace:", "NVIDIA A100-SXM4-80GB"] {
            assert_eq!(DeviceName::from(text), DeviceName::Other(text.into()));
        }
    }
}
