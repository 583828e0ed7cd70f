//! Products of more precision than a unit's operands, by schemes.

use std::time::Duration;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyModule};
use tcnum::Result;
use tcnum_engine::{
    device::{self, DeviceName},
    product::Matrix,
    product::{NumberMatrix, ProductOperands},
    scheme::{self, Scheme, SchemeUnit},
};

use crate::{
    calls::{Raised, call_with},
    device::Function,
};

/// Adds the function of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(emulated, module)?)
}

/// Stacked matrices of a batch from Python: their elements and the rows and columns of all together.
#[derive(FromPyObject)]
struct PythonNumbers<'py> {
    values: PyReadonlyArray1<'py, f64>,
    rows: usize,
    columns: usize,
}

impl PythonNumbers<'_> {
    fn matrix(&self) -> PyResult<NumberMatrix> {
        let values = self.values.as_slice()?.to_vec();
        match self.rows.checked_mul(self.columns) == Some(values.len()) {
            true => Ok(NumberMatrix { rows: self.rows, columns: self.columns, values }),
            false => Err(PyValueError::new_err("the elements do not match their shape")),
        }
    }
}

/// Computes D = alpha A B + beta C by a scheme; returns its elements and the name of their format.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the package calls it by position, and people call the package")]
fn emulated<'py>(
    py: Python<'py>,
    scheme: &str,
    a: PythonNumbers<'py>,
    b: PythonNumbers<'py>,
    c: Option<PythonNumbers<'py>>,
    factors: (f64, f64),
    batch: usize,
    device_name: String,
    functions: Vec<Function>,
    timeout: u64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, &'static str)> {
    let raised = Raised::default();
    let (alpha, beta) = factors;
    let c = c.map(|c| c.matrix()).transpose()?;
    let operands = ProductOperands { a: a.matrix()?, b: b.matrix()?, c, alpha, beta, batch: batch.max(1) };
    let d = call_with(py, &raised.clone(), || {
        crate::device::with(functions, &raised, || {
            computed(scheme, &operands, &device_name, Duration::from_secs(timeout))
        })
    })?;
    let values: Vec<f64> = d.codes.iter().map(|code| d.format.to_f64(code)).collect();
    Ok((PyArray1::from_vec(py, values), d.format.name))
}

fn computed(scheme: &str, operands: &ProductOperands, device_name: &str, timeout: Duration) -> Result<Matrix> {
    let scheme = Scheme::find(scheme)?;
    operands.fit()?;
    scheme.fit_operands(operands)?;
    scheme.fit_format(operands)?;
    let mut device = device::open(Some(&DeviceName::asked(device_name)), timeout)?;
    let unit = SchemeUnit::of(&scheme, device.as_mut(), None)?;
    scheme::products(&scheme, &unit, device.as_mut(), operands)
}
