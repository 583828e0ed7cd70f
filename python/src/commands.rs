//! Commands, and their reports.

use std::ffi::OsString;

use pyo3::{
    prelude::*,
    types::{PyDict, PyModule},
};
use tcnum::verbs;

use crate::{
    calls::{Raised, exception, outcome_and_cause},
    device::{self, Function},
    reports::python_report,
};

/// Adds the functions of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(report, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)
}

/// The report of a command, whose words come without the program's name; `functions` are devices that its words name. With it the
/// exception that ended the command in the middle, if one did.
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
    match outcome_and_cause(py, &raised, work) {
        (Err(error), cause) => Err(exception(py, &error, cause)),
        (Ok((report, Some(error))), cause) => Ok((python_report(py, &report)?, Some(exception(py, &error, cause)))),
        (Ok((_, None)), Some(error)) => Err(error),
        (Ok((report, None)), None) => Ok((python_report(py, &report)?, None)),
    }
}

/// Runs the command line, the program's name first, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| verbs::status(words))
}
