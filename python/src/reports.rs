//! Reports as Python values.

use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use tcnum::{Error, Result};
use tcnum_engine::report::{self, Cell, Report, Table, Verdict, View, ViewLayout, Where};

use crate::calls::{as_parameters, exception};

/// Converts the outcome of a command: its report, and the exception that ended it early, if any.
///
/// # Errors
/// An error without a report; what Python raised after a command without errors.
pub(crate) fn python_outcome<'py>(
    py: Python<'py>,
    (outcome, cause): (Result<(Report, Option<Error>)>, Option<PyErr>),
) -> PyResult<(Bound<'py, PyDict>, Option<PyErr>)> {
    match (outcome, cause) {
        (Err(error), cause) => Err(exception(py, &error, cause)),
        (Ok((report, Some(error))), cause) => Ok((python_report(py, &report)?, Some(exception(py, &error, cause)))),
        (Ok((_, None)), Some(error)) => Err(error),
        (Ok((report, None)), None) => Ok((python_report(py, &report)?, None)),
    }
}

/// Converts a report, with its tables and its text for a terminal.
pub(crate) fn python_report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let report = &report.clone().reworded(as_parameters);
    let report_dict = PyDict::new(py);
    report_dict.set_item("command", report.command.as_ref())?;
    report_dict.set_item("invocation", &report.invocation)?;
    let device = report.device.as_ref().map(|device| -> PyResult<_> {
        let device_dict = PyDict::new(py);
        device_dict.set_item("name", device.name.to_string())?;
        device_dict.set_item("description", &device.description)?;
        let details = PyDict::new(py);
        device.details.iter().try_for_each(|(key, value)| details.set_item(key, value))?;
        device_dict.set_item("details", details)?;
        Ok(device_dict)
    });
    report_dict.set_item("device", device.transpose()?)?;
    report_dict.set_item("seed", report.seed)?;
    report_dict.set_item("answer", &report.answer)?;
    report_dict.set_item("notes", &report.notes)?;
    report_dict.set_item("model", &report.model)?;
    report_dict.set_item("holds", report.holds)?;
    report_dict.set_item("verdict", report.finding().map(Verdict::name))?;
    let tables = report.tables.iter().map(|table| python_table(py, table)).collect::<PyResult<Vec<_>>>()?;
    report_dict.set_item("tables", tables)?;
    report_dict.set_item("text", report::render(report, View::Table, &ViewLayout::default()))?;
    Ok(report_dict)
}

fn python_table<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let table_dict = PyDict::new(py);
    table_dict.set_item("key", table.key)?;
    table_dict.set_item("title", &table.title)?;
    let columns = table.columns.iter().map(|column| -> PyResult<_> {
        let column_dict = PyDict::new(py);
        column_dict.set_item("key", &*column.key)?;
        column_dict.set_item("meaning", column.meaning)?;
        column_dict.set_item("heading", column.look.heading)?;
        column_dict.set_item("unit", column.look.unit)?;
        column_dict.set_item("essential", column.look.essential)?;
        let shown = match column.look.shown {
            Where::Everywhere => "everywhere",
            Where::Filled => "filled",
            Where::Varied => "varied",
        };
        column_dict.set_item("shown", shown)?;
        Ok(column_dict)
    });
    table_dict.set_item("columns", columns.collect::<PyResult<Vec<_>>>()?)?;
    table_dict.set_item("brief", table.brief)?;
    let row = |cells: &Vec<Cell>| cells.iter().map(|cell| value(py, cell)).collect::<PyResult<Vec<_>>>();
    table_dict.set_item("rows", table.rows.iter().map(row).collect::<PyResult<Vec<_>>>()?)?;
    Ok(table_dict)
}

/// Converts a cell.
fn value<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Empty => py.None().into_bound(py),
        Cell::Text(text) => text.into_pyobject(py)?.into_any(),
        Cell::Integer(number) => number.into_pyobject(py)?.into_any(),
        Cell::Real(number) => number.into_pyobject(py)?.into_any(),
        Cell::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Cell::List(cells) => {
            let values = cells.iter().map(|cell| value(py, cell)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_any()
        }
    })
}
