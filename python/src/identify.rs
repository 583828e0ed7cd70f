//! Identification of an instruction's arithmetic.

use std::time::Duration;

use pyo3::{
    prelude::*,
    types::{PyDict, PyModule},
};
use tcnum::{Error, Result};
use tcnum_engine::{
    comparison::{Nans, OneNan},
    device::{self, DeviceName},
    report::Report,
};
use tcnum_study::identify::{Limits, Request, Session, Study, tables};

use crate::{
    calls::{Raised, outcome_and_cause},
    device::Function,
    instruction::Instruction,
    reports::python_outcome,
};

/// Adds the function of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(identify, module)?)
}

/// The arguments of `identify`.
#[derive(FromPyObject)]
struct IdentifyArguments {
    device: String,
    instruction: Py<Instruction>,
    seed: u64,
    budget: Option<u64>,
    cases: Option<u64>,
    from_nothing: bool,
    any_nan: bool,
    timeout: u64,
}

/// Runs a search, and returns its report with the model found, and the exception that ended it early, if any.
#[pyfunction]
fn identify<'py>(
    py: Python<'py>,
    asked: IdentifyArguments,
    functions: Vec<Function>,
) -> PyResult<(Bound<'py, PyDict>, Option<PyErr>)> {
    let raised = Raised::default();
    let work = {
        let raised = raised.clone();
        move || crate::device::with(functions, &raised, || studied(&asked))
    };
    python_outcome(py, outcome_and_cause(py, &raised, work))
}

fn studied(asked: &IdentifyArguments) -> Result<(Report, Option<Error>)> {
    let mut device = device::open(Some(&DeviceName::asked(&asked.device)), Duration::from_secs(asked.timeout))?;
    let nans = Nans::from(asked.any_nan);
    if nans == Nans::Alike {
        device = Box::new(OneNan(device));
    }
    let request = Request {
        seed: asked.seed,
        catalogue: !asked.from_nothing,
        nans,
        limits: Limits::of(device.as_ref(), asked.budget, asked.cases),
        date: None,
        skip_lacking: false,
        withheld: Vec::new(),
    };
    let mut found = Study::default();
    let instructions = std::slice::from_ref(&asked.instruction.get().0);
    let outcome = Session::new(device.as_mut(), &request, &mut |_| ()).identify(instructions, &mut found);
    if found.findings.is_empty() {
        outcome.clone()?;
    }
    let mut report = Report::new("identify", String::new());
    report.seed = Some(asked.seed);
    report.device = Some(device.identity().clone());
    let outcome = report.until_interrupted(outcome);
    tables::report(&found, &device.identity().name.to_string(), &mut report)?;
    Ok((report, outcome.err()))
}
