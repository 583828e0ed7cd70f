//! Functions of Python as devices.

use std::{rc::Rc, sync::Arc};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};
use tcnum::{
    Error, Result,
    device::{Device, DeviceMaker, DeviceName, Execution, ExecutionKind, Identity, lending},
    isa::{Codes, Instruction, Tiles},
};

use crate::{calls::Raised, instruction};

/// A function that computes tiles, under the name by which a command asks for it.
#[derive(FromPyObject)]
pub(crate) struct Function {
    /// The name, such as `python:matmul`.
    name: String,
    /// What it is, for reports.
    description: String,
    /// Called with the instruction and the bytes of the codes of each operand, by name; gives an array of the bytes of D.
    answer: Py<PyAny>,
    /// The name of the only instruction that it executes, if there is but one.
    only: Option<String>,
}

/// Does `work` on this thread, where each function is the device of its name.
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

    /// The bytes of D, as the function gives them.
    fn answer(&self, py: Python<'_>, i: &Instruction, tiles: &Tiles) -> PyResult<Vec<u8>> {
        let arrays = PyDict::new(py);
        for (name, codes) in tiles.arrays() {
            arrays.set_item(name, PyArray1::from_slice(py, codes.as_bytes()))?;
        }
        let own = instruction::Instruction(i.clone());
        let d = self.function.answer.bind(py).call1((own, tiles.count, arrays))?;
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
            None => Err(wrong(format!("it did not give {} codes of {}", tiles.count * i.m * i.n, i.d))),
        }
    }
}
