//! Calls into the library: without the lock of Python, stopped by its signals, and with its exceptions.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{
    create_exception,
    exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError},
    prelude::*,
    types::{PyModule, PyTuple},
};
use tcnum::{Error, Interruption};

create_exception!(tcnum, BaseError, PyException, "What tcnum raises.");

/// Adds the exceptions.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let base = py.get_type::<BaseError>();
    let derived = |name: &str, about: &str, other: Bound<'_, PyAny>| -> PyResult<()> {
        let bases = PyTuple::new(py, [base.as_any(), &other])?;
        let members = pyo3::types::PyDict::new(py);
        members.set_item("__doc__", about)?;
        members.set_item("__module__", "tcnum")?;
        let class = py.get_type::<pyo3::types::PyType>().call1((name, bases, members))?;
        module.add(name, class)
    };
    module.add("Error", &base)?;
    derived(
        "RequestError",
        "The request, or its input, is wrong: the message says what, where, and what to do.",
        py.get_type::<pyo3::exceptions::PyValueError>().into_any(),
    )?;
    derived("DeviceError", "A device could not be reached, or failed.", py.get_type::<PyRuntimeError>().into_any())
}

/// What Python raised while the library was at work: in a signal's handler, or in a function that is a device.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Keeps the first exception.
    pub(crate) fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Does `work` without the lock of Python.
///
/// # Errors
/// Those of the work; what a handler of signals raised.
pub(crate) fn call<R: Send>(py: Python<'_>, work: impl Send + FnOnce() -> tcnum::Result<R>) -> PyResult<R> {
    call_with(py, &Raised::default(), work)
}

/// The same, where `raised` gets what Python raises meanwhile.
///
/// # Errors
/// As [`call`].
pub(crate) fn call_with<R: Send>(
    py: Python<'_>,
    raised: &Raised,
    work: impl Send + FnOnce() -> tcnum::Result<R>,
) -> PyResult<R> {
    match outcome_and_cause(py, raised, work) {
        (Ok(result), None) => Ok(result),
        (Ok(_), Some(error)) => Err(error),
        (Err(error), cause) => Err(exception(py, &error, cause)),
    }
}

/// The same: what came of the work, and what Python raised meanwhile.
pub(crate) fn outcome_and_cause<R: Send>(
    py: Python<'_>,
    raised: &Raised,
    work: impl Send + FnOnce() -> tcnum::Result<R>,
) -> (tcnum::Result<R>, Option<PyErr>) {
    let asked = raised.clone();
    let outcome = py.detach(|| {
        let stop = move || {
            let signal = Python::attach(|py| py.check_signals()).err();
            signal.map(|error| {
                asked.keep(error);
                Interruption::Int
            })
        };
        tcnum::interruptible(stop, work)
    });
    (outcome, raised.take())
}

/// The exception for an error, and for what Python raised that caused it.
pub(crate) fn exception(py: Python<'_>, error: &Error, cause: Option<PyErr>) -> PyErr {
    // What is no fault (KeyboardInterrupt, SystemExit) goes on as it is.
    if let Some(other) = cause.as_ref().filter(|cause| !cause.is_instance_of::<PyException>(py)) {
        return other.clone_ref(py);
    }
    let name = match error {
        Error::Request { .. } | Error::Unavailable { .. } => "RequestError",
        Error::Device { .. } => "DeviceError",
        Error::Interrupted { .. } => return cause.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
    };
    let made =
        py.import("tcnum._tcnum").and_then(|own| own.getattr(name)).and_then(|class| class.call1((error.to_string(),)));
    let made = made.map_or_else(|failed| failed, PyErr::from_value);
    if cause.is_some() {
        made.set_cause(py, cause);
    }
    made
}
