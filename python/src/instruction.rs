//! Instructions as a Python class.

use pyo3::{prelude::*, types::PyModule};
use tcnum::isa;
use tcnum_engine::product;

use crate::calls::{call, exception};

/// Adds the class and the functions of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Instruction>()?;
    module.add_function(wrap_pyfunction!(instruction, module)?)?;
    module.add_function(wrap_pyfunction!(described, module)?)
}

/// Finds the instruction or matrix product of this name, or the instruction in a TOML file.
#[pyfunction]
fn instruction(py: Python<'_>, name: &str) -> PyResult<Instruction> {
    Ok(Instruction(product::instruction(name).map_err(|error| exception(py, &error, None))?))
}

/// Makes the instruction that a TOML document describes; it is then known by its name.
#[pyfunction]
fn described(py: Python<'_>, text: &str) -> PyResult<Instruction> {
    Ok(Instruction(call(py, || isa::described(text, "instruction", false))?))
}

/// One matrix instruction: D[m, n] = A[m, k] * B[k, n] + C[m, n], with the formats of its operands.
#[pyclass(name = "Instruction", module = "tcnum", frozen, eq)]
#[derive(PartialEq, Clone)]
pub(crate) struct Instruction(pub(crate) isa::Instruction);

#[pymethods]
impl Instruction {
    /// Name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Vendor's full spelling.
    #[getter]
    fn spelling(&self) -> &str {
        &self.0.ptx
    }

    /// Rows of A, C and D.
    #[getter]
    fn m(&self) -> usize {
        self.0.m
    }

    /// Columns of B, C and D.
    #[getter]
    fn n(&self) -> usize {
        self.0.n
    }

    /// Columns of A and rows of B.
    #[getter]
    fn k(&self) -> usize {
        self.0.k
    }

    /// Name of A's format.
    #[getter]
    fn a(&self) -> &'static str {
        self.0.a.name
    }

    /// Name of B's format.
    #[getter]
    fn b(&self) -> &'static str {
        self.0.b.name
    }

    /// Name of C's format.
    #[getter]
    fn c(&self) -> &'static str {
        self.0.c.name
    }

    /// Name of D's format.
    #[getter]
    fn d(&self) -> &'static str {
        self.0.d.name
    }

    /// Stored elements of a row of A: k, or fewer for sparse forms.
    #[getter]
    fn stored_k(&self) -> usize {
        self.0.stored_k()
    }

    /// True if A is stored without some of its elements.
    #[getter]
    fn is_sparse(&self) -> bool {
        self.0.chunk().is_some()
    }

    /// Name of the scales' format for block-scaled forms; else None.
    #[getter]
    fn scale(&self) -> Option<&'static str> {
        self.0.scale.map(|scale| scale.format.name)
    }

    /// Elements along k that share a scale, for block-scaled forms; else None.
    #[getter]
    fn scale_block(&self) -> Option<usize> {
        self.0.scale.map(|scale| scale.block)
    }

    /// True for a whole matrix product.
    #[getter]
    fn is_product(&self) -> bool {
        isa::gemm(&self.0.name).is_some()
    }

    /// Targets that have it (`sm_90a`).
    #[getter]
    fn targets(&self) -> Vec<&'static str> {
        self.0.support.iter().map(|support| support.architecture).collect()
    }

    /// Arrays of a tile, in order: name, name of the format, rows, columns.
    #[getter]
    fn operands(&self) -> Vec<(&'static str, &'static str, usize, usize)> {
        isa::operands(&self.0)
            .into_iter()
            .map(|operand| (operand.name, operand.format.name, operand.rows, operand.columns))
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("tcnum.instruction('{}')", self.0.name)
    }

    fn __str__(&self) -> &str {
        &self.0.name
    }
}
