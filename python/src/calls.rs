//! Calls into the library: without Python's lock, stopped by its signals, with its exceptions.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{
    create_exception,
    exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError},
    prelude::*,
    types::{PyModule, PyTuple},
};
use tcnum::{Error, Interruption};

create_exception!(tcnum, BaseError, PyException, "An error of tcnum.");

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
    derived("DeviceError", "A device cannot be reached, or failed.", py.get_type::<PyRuntimeError>().into_any())
}

/// Exceptions that Python raised during a call: in a signal handler, or in a function as a device.
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

/// Does `work` without Python's lock.
///
/// # Errors
/// Errors of the work; exceptions of signal handlers.
pub(crate) fn call<R: Send>(py: Python<'_>, work: impl Send + FnOnce() -> tcnum::Result<R>) -> PyResult<R> {
    call_with(py, &Raised::default(), work)
}

/// Does `work` without Python's lock; `raised` collects Python's exceptions.
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

/// Does `work` without Python's lock; returns its outcome, and the exception that Python raised.
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

/// Makes the exception for an error, with the Python exception that caused it.
pub(crate) fn exception(py: Python<'_>, error: &Error, cause: Option<PyErr>) -> PyErr {
    // KeyboardInterrupt and SystemExit pass unchanged.
    if let Some(other) = cause.as_ref().filter(|cause| !cause.is_instance_of::<PyException>(py)) {
        return other.clone_ref(py);
    }
    let name = match error {
        Error::Interrupted { .. } => return cause.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
        Error::Device { .. } => "DeviceError",
        // A wrong request, or an instruction that a device lacks.
        _ => "RequestError",
    };
    let made = py
        .import("tcnum._tcnum")
        .and_then(|module| module.getattr(name))
        .and_then(|class| class.call1((as_parameters(&error.to_string()),)));
    let made = made.map_or_else(|failed| failed, PyErr::from_value);
    if cause.is_some() {
        made.set_cause(py, cause);
    }
    made
}

/// A message with its parameters as a caller in Python writes them: `scale_a`, `cases=N`.
pub(crate) fn as_parameters(message: &str) -> String {
    tcnum::spelled(message, |name, value| value.map_or(name.into(), |value| format!("{name}={value}")))
}
