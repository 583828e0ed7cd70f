//! The Python module `tcnum._tcnum`, the compiled part of the package `tcnum` (`python/tcnum`).
//!
//! Arrays arrive flat, contiguous and with the expected types; the package ensures this and explains errors.

mod arrays;
mod calls;
mod commands;
mod device;
mod emulation;
mod formats;
mod identify;
mod instruction;
mod model;
mod products;
mod reports;

use pyo3::{prelude::*, types::PyModule};

/// The compiled part of tcnum.
#[pymodule]
fn _tcnum(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", tcnum::VERSION)?;
    calls::add(module)?;
    formats::add(module)?;
    arrays::add(module)?;
    instruction::add(module)?;
    model::add(module)?;
    commands::add(module)?;
    identify::add(module)?;
    products::add(module)?;
    emulation::add(module)
}
