//! Python functions as devices.

use std::{rc::Rc, sync::Arc};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};
use tcnum::{
    Error, Result,
    isa::{Codes, Instruction, Tiles},
};
use tcnum_engine::device::{Device, DeviceMaker, DeviceName, Execution, ExecutionKind, Identity, lending};

use crate::{calls::Raised, instruction};

/// A function that computes tiles, with its name in commands.
#[derive(FromPyObject)]
pub(crate) struct Function {
    /// Name, such as `python:matmul`.
    name: String,
    /// Description for reports.
    description: String,
    /// The callable: it takes the instruction, the tile count and the bytes of operands by name, and returns the bytes
    /// of D.
    answer: Py<PyAny>,
    /// Name of the only instruction that it executes, if any.
    only: Option<String>,
}

/// Does `work` on this thread, during which each function is a device.
pub(crate) fn with<R>(functions: Vec<Function>, raised: &Raised, work: impl FnOnce() -> R) -> R {
    let maker = |function: Function| -> (DeviceName, DeviceMaker) {
        let (function, raised) = (Arc::new(function), raised.clone());
        let name = DeviceName::from(&*function.name);
        (name, Rc::new(move || Ok(Box::new(FunctionDevice::new(function.clone(), raised.clone())))))
    };
    lending(functions.into_iter().map(maker).collect(), work)
}

struct FunctionDevice {
    identity: Identity,
    function: Arc<Function>,
    raised: Raised,
}

impl FunctionDevice {
    fn new(function: Arc<Function>, raised: Raised) -> FunctionDevice {
        let identity = Identity::new(&*function.name, &*function.description);
        FunctionDevice { identity, function, raised }
    }

    /// Calls the function, and returns the bytes of D.
    fn answer(&self, py: Python<'_>, i: &Instruction, tiles: &Tiles) -> PyResult<Vec<u8>> {
        let arrays = PyDict::new(py);
        for (name, codes) in tiles.arrays() {
            arrays.set_item(name, PyArray1::from_slice(py, codes.as_bytes()))?;
        }
        let instruction = instruction::Instruction(i.clone());
        let d = self.function.answer.bind(py).call1((instruction, tiles.count, arrays))?;
        if let Ok(bytes) = d.cast::<PyBytes>() {
            return Ok(bytes.as_bytes().to_vec());
        }
        let d: PyReadonlyArray1<'_, u8> = d.extract()?;
        Ok(d.as_slice()?.to_vec())
    }
}

impl Device for FunctionDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, i: &Instruction) -> Result<Execution> {
        match &self.function.only {
            Some(only) if *only != i.name => {
                Err(Error::unavailable(format!("{} executes {only}, not {i}", self.identity.name)))
            }
            _ => Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() }),
        }
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.prepare(i)?;
        let answered = Python::attach(|py| {
            self.answer(py, i, tiles).map_err(|error| {
                let said = error.to_string();
                self.raised.keep(error);
                said
            })
        });
        let wrong = |what: String| Error::device(format!("{}: {what}", self.identity.name));
        let bytes = answered.map_err(|said| wrong(format!("it raised {said}")))?;
        let wanted = tiles.count * i.m * i.n * i.d.bytes();
        match (bytes.len() == wanted).then(|| Codes::from_bytes(i.d, bytes)).flatten() {
            Some(codes) => Ok(codes),
            None => Err(wrong(format!("it did not return {} codes of {}", tiles.count * i.m * i.n, i.d))),
        }
    }
}
