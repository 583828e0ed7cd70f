//! Commands and their reports.

use std::ffi::OsString;

use pyo3::{
    prelude::*,
    types::{PyDict, PyModule},
};
use tcnum::verbs;

use crate::{
    calls::{Raised, outcome_and_cause},
    device::{self, Function},
    reports::python_outcome,
};

/// Adds the functions of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(report, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)
}

/// Runs a command, given without the program's name, in which `functions` are devices.
/// Returns its report, and the exception that ended it early, if any.
#[pyfunction]
fn report<'py>(
    py: Python<'py>,
    words: Vec<OsString>,
    functions: Vec<Function>,
) -> PyResult<(Bound<'py, PyDict>, Option<PyErr>)> {
    let raised = Raised::default();
    let words = std::iter::once("tcnum".into()).chain(words).collect();
    let work = {
        let raised = raised.clone();
        move || device::with(functions, &raised, || verbs::report(words))
    };
    python_outcome(py, outcome_and_cause(py, &raised, work))
}

/// Runs the command line, with the program's name first, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| verbs::status(words))
}
