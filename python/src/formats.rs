//! Formats as Python classes.

use std::sync::{Mutex, PoisonError};

use pyo3::{Borrowed, exceptions::PyValueError, prelude::*, types::PyModule};
use tcnum::format::{
    self, FORMATS, Format, Overflow, Real, Rounding,
    block::{self, BlockFormat, SCALE_RULES, formats},
};
use tcnum_engine::tensor::FileContent;
use tcnum_study::quantise;

use crate::calls::exception;

/// Adds the classes and the functions of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ElementFormat>()?;
    module.add_class::<BlockFormatRecord>()?;
    module.add("FORMAT_NAMES", FORMATS.iter().map(|format| format.name).collect::<Vec<_>>())?;
    module.add("BLOCK_FORMAT_NAMES", formats().iter().map(|format| format.name).collect::<Vec<_>>())?;
    module.add("SCALE_RULES", SCALE_RULES.iter().map(|rule| rule.name).collect::<Vec<_>>())?;
    module.add_function(wrap_pyfunction!(find_format, module)?)?;
    module.add_function(wrap_pyfunction!(shared, module)?)
}

/// Formats of files, the latest last.
static FILE_FORMATS: Mutex<Vec<&'static Format>> = Mutex::new(Vec::new());

/// Finds a format or block format by name or in a TOML file.
#[pyfunction]
fn find_format(py: Python<'_>, name: &str) -> PyResult<AnyFormat> {
    let Some(blocks) = block::resolve(name).map_err(|error| exception(py, &error, None))? else {
        return Ok(AnyFormat(FileContent::Scalar(Some(resolve(py, name)?))));
    };
    [blocks.element.format, blocks.scale].into_iter().for_each(remember);
    Ok(AnyFormat(FileContent::Blocks(blocks)))
}

/// Gives a format scales for the values that `per` names: `1x32`, `128x128`, `row`, `tensor`.
#[pyfunction]
fn shared(py: Python<'_>, format: AnyFormat, per: &str) -> PyResult<AnyFormat> {
    quantise::shared(format.0, per).map(AnyFormat).map_err(|error| exception(py, &error, None))
}

/// Finds a format by name or in a file; a file's format is then known by its name.
pub(crate) fn resolve(py: Python<'_>, name: &str) -> PyResult<&'static Format> {
    let known = FILE_FORMATS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .rev()
        .find(|format| format.name == name)
        .copied();
    if let Some(format) = known {
        return Ok(format);
    }
    let format = format::resolve(name).map_err(|error| exception(py, &error, None))?;
    remember(format);
    Ok(format)
}

/// Keeps a format of a file, which its name then finds.
fn remember(format: &'static Format) {
    if format::find(format.name).is_err() {
        let mut formats = FILE_FORMATS.lock().unwrap_or_else(PoisonError::into_inner);
        formats.retain(|other| *other != format);
        formats.push(format);
    }
}

/// A `Format` or a `BlockFormat` of Python.
pub(crate) struct AnyFormat(pub(crate) FileContent);

impl<'a, 'py> FromPyObject<'a, 'py> for AnyFormat {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<AnyFormat> {
        if let Ok(blocks) = given.cast::<BlockFormatRecord>() {
            let format = blocks.get().0;
            return match format.offset {
                Some(_) => {
                    Err(PyValueError::new_err(format!("{format} has offsets, which arrays lack; convert files")))
                }
                None => Ok(AnyFormat(FileContent::Blocks(format))),
            };
        }
        Ok(AnyFormat(FileContent::Scalar(Some(given.cast::<ElementFormat>()?.get().0))))
    }
}

impl<'py> IntoPyObject<'py> for AnyFormat {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            FileContent::Blocks(format) => Ok(Bound::new(py, BlockFormatRecord(format))?.into_any()),
            FileContent::Scalar(Some(format)) => Ok(Bound::new(py, ElementFormat(format))?.into_any()),
            FileContent::Scalar(None) => unreachable!("a format of Python is a format"),
        }
    }
}

/// Finds a rounding by name.
pub(crate) fn rounding(name: &str) -> PyResult<Rounding> {
    Rounding::parse(name).ok_or_else(|| {
        let known = Rounding::DETERMINISTIC.map(|rounding| rounding.name()).join(", ");
        PyValueError::new_err(format!("unknown rounding '{name}'; known are {known}"))
    })
}

/// Finds an overflow rule by name.
pub(crate) fn overflow(name: &str) -> PyResult<Overflow> {
    Overflow::ALL.into_iter().find(|overflow| overflow.name() == name).ok_or_else(|| {
        let known = Overflow::ALL.map(|overflow| overflow.name()).join(", ");
        PyValueError::new_err(format!("unknown overflow '{name}'; known are {known}"))
    })
}

/// A number format: a finite set of codes with values.
#[pyclass(name = "Format", module = "tcnum", frozen, eq, hash)]
#[derive(PartialEq)]
pub(crate) struct ElementFormat(pub(crate) &'static Format);

impl std::hash::Hash for ElementFormat {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl ElementFormat {
    fn value(&self, code: Option<u64>) -> Option<f64> {
        code.map(|code| self.0.to_f64(code))
    }

    fn landmark(&self, name: &str) -> Option<f64> {
        self.value(self.0.landmarks().into_iter().find(|(landmark, _)| *landmark == name).map(|(_, code)| code))
    }
}

#[pymethods]
impl ElementFormat {
    /// Name in reports.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// Other accepted names.
    #[getter]
    fn aliases(&self) -> Vec<&'static str> {
        self.0.aliases.to_vec()
    }

    /// Bits of a code.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.bits
    }

    /// Bytes of the smallest unsigned integer that holds a code.
    #[getter]
    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Document that defines the format.
    #[getter]
    fn source(&self) -> &'static str {
        self.0.source
    }

    /// True for an integer format.
    #[getter]
    fn is_integer(&self) -> bool {
        self.0.is_integer()
    }

    /// True if numbers have a sign.
    #[getter]
    fn signed(&self) -> bool {
        self.0.is_signed()
    }

    /// Bits of the exponent; None for integers and formats by table.
    #[getter]
    fn exponent_bits(&self) -> Option<u32> {
        self.0.float().map(|float| float.exponent_bits)
    }

    /// Stored bits of the significand; None for integers and formats by table.
    #[getter]
    fn trailing_bits(&self) -> Option<u32> {
        self.0.float().map(|float| float.trailing_bits)
    }

    /// Bias of the exponent; None for integers and formats by table.
    #[getter]
    fn bias(&self) -> Option<i32> {
        self.0.float().map(|float| float.bias)
    }

    /// Largest number.
    #[getter]
    fn max(&self) -> f64 {
        self.0.to_f64(self.0.largest(false))
    }

    /// Most negative number.
    #[getter]
    fn min(&self) -> f64 {
        self.0.to_f64(self.0.largest(true))
    }

    /// Smallest positive normal number; None for integers.
    #[getter]
    fn smallest_normal(&self) -> Option<f64> {
        self.landmark("smallest normal")
    }

    /// Smallest positive subnormal number; None without subnormals.
    #[getter]
    fn smallest_subnormal(&self) -> Option<f64> {
        self.landmark("smallest subnormal")
    }

    /// True if there are infinities.
    #[getter]
    fn has_infinity(&self) -> bool {
        self.0.has_infinity()
    }

    /// True if there is a NaN.
    #[getter]
    fn has_nan(&self) -> bool {
        self.0.has_nan()
    }

    /// Decodes one code to a float (to nearest if inexact).
    /// Raises ValueError for a code with too many bits.
    fn value_of(&self, code: u64) -> PyResult<f64> {
        match code <= self.0.code_mask() {
            true => Ok(self.0.to_f64(code)),
            false => Err(PyValueError::new_err(format!(
                "code {code:#x} has more than the {} bits of {}",
                self.0.bits, self.0
            ))),
        }
    }

    /// Encodes one value; returns None if the format has no code for it.
    #[pyo3(signature = (value, rounding = "RNE", overflow = "standard"))]
    fn code_of(&self, value: f64, rounding: &str, overflow: &str) -> PyResult<Option<u64>> {
        let (direction, beyond) = (crate::formats::rounding(rounding)?, crate::formats::overflow(overflow)?);
        Ok(self.0.encode(&Real::from(value), direction, beyond))
    }

    fn __repr__(&self) -> String {
        format!("tcnum.formats['{}']", self.0)
    }

    /// The landmarks of the format, as a table for notebooks.
    fn _repr_html_(&self) -> String {
        let row = |(name, code): (&str, u64)| {
            format!("<tr><td>{name}</td><td>{}</td><td>{:e}</td></tr>", self.0.hex(code), self.0.to_f64(code))
        };
        let rows: String = self.0.landmarks().into_iter().map(row).collect();
        format!(
            "<table><caption>{}, {} bits</caption><thead><tr><th></th><th>code</th><th>value</th></tr></thead><tbody>{rows}</tbody></table>",
            self.0, self.0.bits
        )
    }

    fn __str__(&self) -> &'static str {
        self.0.name
    }
}

/// A block format: elements of a narrow format that share a scale.
#[pyclass(name = "BlockFormat", module = "tcnum", frozen)]
pub(crate) struct BlockFormatRecord(pub(crate) &'static BlockFormat);

#[pymethods]
impl BlockFormatRecord {
    /// Name in reports.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// Other accepted names.
    #[getter]
    fn aliases(&self) -> Vec<&'static str> {
        self.0.aliases.to_vec()
    }

    /// Format of the elements.
    #[getter]
    fn element(&self) -> ElementFormat {
        ElementFormat(self.0.element.format)
    }

    /// Power of two that multiplies elements (mxint8: -6, others: 0).
    #[getter]
    fn element_exponent(&self) -> i32 {
        self.0.element.exponent
    }

    /// Rows of a block, over all dimensions but the last; None: all.
    #[getter]
    fn rows(&self) -> Option<usize> {
        Some(self.0.rows).filter(|rows| *rows < BlockFormat::WHOLE)
    }

    /// Elements of a row of a block; None: all.
    #[getter]
    fn length(&self) -> Option<usize> {
        Some(self.0.length).filter(|length| *length < BlockFormat::WHOLE)
    }

    /// Values that share a scale: `1x32`, `128x128`, `row`, `tensor`.
    #[getter]
    fn per(&self) -> String {
        self.0.extents()
    }

    /// Format of a block's scale.
    #[getter]
    fn scale(&self) -> ElementFormat {
        ElementFormat(self.0.scale)
    }

    /// Format of the tensor's scale; None without one.
    #[getter]
    fn tensor_scale(&self) -> Option<ElementFormat> {
        self.0.tensor_scale.map(ElementFormat)
    }

    /// Scale rule of the format's own specification.
    #[getter]
    fn default_rule(&self) -> &'static str {
        self.0.default_rule
    }

    /// Document that defines the format.
    #[getter]
    fn source(&self) -> &'static str {
        self.0.source
    }

    fn __repr__(&self) -> String {
        match block::find(self.0.name) == Some(self.0) {
            true => format!("tcnum.formats['{}']", self.0),
            false => format!("<tcnum.BlockFormat {} per {}>", self.0, self.0.extents()),
        }
    }

    fn __str__(&self) -> &'static str {
        self.0.name
    }
}
