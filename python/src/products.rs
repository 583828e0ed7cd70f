//! Whole matrix products, and the schedules that make them.

use std::{borrow::Cow, time::Duration};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyModule},
};
use tcnum::{Error, Result, arithmetic::Model};
use tcnum_engine::{
    array::{Array, Content},
    device::{self, DeviceName},
    product::{
        Conversion, Factors, Matrix, Product, Schedule,
        bound::{Claim, LibraryFamily, Origin},
        instruction,
        kernel::KernelNames,
        search::Suspects,
    },
    report::{Report, Table},
};
use tcnum_study::{
    check::{self, CheckRequest, CheckedProduct},
    gemm::{accuracy_table, tables},
    matching::{self, Recognised},
};

use crate::{
    calls::{Raised, call_with},
    device::Function,
    formats::resolve,
    reports::python_report,
};

/// Adds the functions of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(product, module)?)?;
    module.add_function(wrap_pyfunction!(matches, module)?)?;
    module.add_function(wrap_pyfunction!(checks, module)?)
}

/// A matrix from Python; without a format, its elements are codes.
#[derive(FromPyObject)]
struct PythonMatrix<'py> {
    bytes: PyReadonlyArray1<'py, u8>,
    rows: usize,
    columns: usize,
    format: Option<String>,
    width: usize,
}

/// Makes the arrays of a call, by name.
fn arrays<'a>(py: Python<'_>, given: &'a [(String, PythonMatrix<'_>)]) -> PyResult<Vec<Array<'a>>> {
    let array = |(name, matrix): &'a (String, PythonMatrix<'_>)| {
        let kind = match &matrix.format {
            Some(format) => Content::Format(resolve(py, format)?),
            None => Content::Unsigned(matrix.width),
        };
        let bytes = matrix.bytes.as_slice()?;
        if matrix.rows.checked_mul(matrix.columns).and_then(|count| count.checked_mul(matrix.width))
            != Some(bytes.len())
        {
            return Err(PyValueError::new_err(format!("{name}: its bytes do not match its shape")));
        }
        Ok(Array { name: name.clone(), shape: vec![matrix.rows, matrix.columns], kind, bytes: Cow::Borrowed(bytes) })
    };
    given.iter().map(array).collect()
}

/// The matrices of a call by name, for [`Factors`].
struct NamedMatrices<'a, 'n> {
    arrays: &'a [Array<'a>],
    notes: &'n mut Vec<String>,
}

impl NamedMatrices<'_, '_> {
    fn optional(
        &mut self,
        name: &str,
        format: Option<&'static tcnum::format::Format>,
        conversion: Conversion,
    ) -> Result<Option<Matrix>> {
        let Some(array) = self.arrays.iter().find(|array| array.name == name) else { return Ok(None) };
        let (matrix, note) = Matrix::of_array(array, format, conversion).map_err(|error| error.within(name))?;
        self.notes.extend(note.map(|note| format!("{name}: {note}")));
        Ok(Some(matrix))
    }
}

/// The bytes of the codes of a product, the name of their format, and the report.
type PythonProduct<'py> = (Bound<'py, PyArray1<u8>>, &'static str, Bound<'py, PyDict>);

/// Computes a product on a device by a schedule (a TOML document).
#[pyfunction]
#[pyo3(signature = (schedule, given, device_name, functions, quantise, accuracy, timeout))]
#[expect(clippy::too_many_arguments, reason = "the package calls it by position, and people call the package")]
fn product<'py>(
    py: Python<'py>,
    schedule: &str,
    given: Vec<(String, PythonMatrix<'py>)>,
    device_name: Option<String>,
    functions: Vec<Function>,
    quantise: bool,
    accuracy: bool,
    timeout: u64,
) -> PyResult<PythonProduct<'py>> {
    let raised = Raised::default();
    let arrays = arrays(py, &given)?;
    let (d, report) = call_with(py, &raised.clone(), || {
        crate::device::with(functions, &raised, || {
            let schedule = Schedule::parse(schedule, "schedule")?;
            computed(&schedule, &arrays, device_name.as_deref(), (quantise, accuracy), Duration::from_secs(timeout))
        })
    })?;
    Ok((PyArray1::from_slice(py, d.codes.as_bytes()), d.format.name, python_report(py, &report)?))
}

fn computed(
    schedule: &Schedule,
    arrays: &[Array],
    device_name: Option<&str>,
    (quantise, accuracy): (bool, bool),
    timeout: Duration,
) -> Result<(Matrix, Report)> {
    let mut report = Report::new("gemm", String::new());
    let conversion = if quantise { Conversion::Quantise } else { Conversion::Exact };
    let mut named = NamedMatrices { arrays, notes: &mut report.notes };
    let factors = Factors::of_schedule(schedule, conversion, &mut |name, format, conversion| {
        named.optional(name, format, conversion)
    })?;
    let mut device = device::open(device_name.map(DeviceName::asked).as_ref(), timeout)?;
    let product = Product::of(device.as_mut(), schedule, &factors)?;
    report.device = Some(device.identity().clone());
    report.tables.push(Table::of("Matrix product", [tables::product(schedule, &factors, &product)]));
    if accuracy {
        let measured = tcnum_study::gemm::accuracy(schedule, &factors, &product.d)?;
        accuracy_table::report(&measured, product.d.codes.len(), &mut report);
    }
    Ok((product.d, report))
}

/// Finds the schedules by which instructions of the models give `d`.
#[pyfunction]
fn matches<'py>(
    py: Python<'py>,
    given: Vec<(String, PythonMatrix<'py>)>,
    models: Vec<String>,
    instructions: Vec<String>,
    factors: (f64, f64),
    quantise: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = arrays(py, &given)?;
    let suspects =
        |instructions| Suspects { models, instructions, factors, turn: None, kernels: KernelNames::default() };
    let report = call_with(py, &Raised::default(), || {
        let instructions = instructions.iter().map(|name| instruction(name)).collect::<Result<Vec<_>>>()?;
        matched(&suspects(instructions), &arrays, quantise)
    })?;
    python_report(py, &report)
}

fn matched(suspects: &Suspects, arrays: &[Array], quantise: bool) -> Result<Report> {
    let mut report = Report::new("gemm", String::new());
    let conversion = if quantise { Conversion::Quantise } else { Conversion::Exact };
    let mut named = NamedMatrices { arrays, notes: &mut report.notes };
    let d = named.optional("d", None, conversion)?.ok_or_else(|| Error::request("d is missing"))?;
    let factors =
        Factors::of_instruction(suspects.instructions.first(), conversion, &mut |name, format, conversion| {
            named.optional(name, format, conversion)
        })?;
    let request = matching::Request { suspects: suspects.clone(), separates: false };
    let mut found = Recognised::default();
    matching::search(&request, &factors, &d, &mut found, &|_| ())?;
    matching::report(&found, &factors, &d, "d".into(), &mut report);
    Ok(report)
}

/// Checks every element of `d` against the bound of a schedule (a TOML document), of a library, or of any instruction of a model.
#[pyfunction]
fn checks<'py>(
    py: Python<'py>,
    given: Vec<(String, PythonMatrix<'py>)>,
    model: String,
    schedule: Option<String>,
    library: Option<(String, Option<String>)>,
    quantise: bool,
    sample: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = arrays(py, &given)?;
    let report = call_with(py, &Raised::default(), || {
        let library =
            library.as_ref().map(|(name, product)| LibraryFamily::of(name, product.as_deref())).transpose()?;
        let origin = match (&schedule, library) {
            (Some(text), _) => Origin::Schedule(Box::new(Schedule::parse(text, "schedule")?)),
            (None, Some(family)) => Origin::Library(family),
            (None, None) => Origin::Generation,
        };
        checked(&arrays, Model::load(&model)?, origin, quantise, sample.max(1))
    })?;
    python_report(py, &report)
}

fn checked(arrays: &[Array], model: Model, mut origin: Origin, quantise: bool, sample: usize) -> Result<Report> {
    let mut report = Report::new("check", String::new());
    let conversion = if quantise { Conversion::Quantise } else { Conversion::Exact };
    let mut named = NamedMatrices { arrays, notes: &mut report.notes };
    let d = named.optional("d", None, Conversion::Keep)?.ok_or_else(|| Error::request("d is missing"))?;
    if let Origin::Schedule(schedule) = &mut origin {
        schedule.output.format = d.format;
    }
    let mut read = |name: &str, format, conversion| named.optional(name, format, conversion);
    let given = match &origin {
        Origin::Schedule(schedule) => Factors::of_schedule(schedule, conversion, &mut read)?,
        _ => Factors::of_instruction(None, conversion, &mut read)?,
    };
    let (claim, factors) = Claim::of_product(model, origin, given, d.format, &mut report.notes)?;
    let request = CheckRequest { claim: &claim, factors: &factors, d: &d, sample, criteria: &[] };
    let found = check::check(&request, &|_| ())?;
    check::tables::report(&[CheckedProduct { request, check: found }], &mut report)?;
    Ok(report)
}
