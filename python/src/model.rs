//! Models: the arithmetic of instructions, evaluated on arrays.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyModule},
};
use tcnum::{
    arithmetic,
    isa::{self, Operand, Tiles, operands},
};
use tcnum_engine::{report::Report, steps};
use tcnum_study::explain;

use crate::{arrays::codes, calls::call, instruction::Instruction, reports::python_report};

/// Adds the classes and the functions of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ModelFile>()?;
    module.add_class::<Evaluator>()?;
    module.add("MODEL_NAMES", arithmetic::shipped().collect::<Vec<_>>())?;
    module.add_function(wrap_pyfunction!(explained, module)?)
}

/// A model of arithmetic, shipped or from a file.
#[pyclass(name = "ModelFile", module = "tcnum._tcnum", frozen)]
pub(crate) struct ModelFile {
    model: arithmetic::Model,
    /// Requested name or file.
    #[pyo3(get)]
    given: String,
}

#[pymethods]
impl ModelFile {
    #[new]
    fn new(py: Python<'_>, name: String) -> PyResult<ModelFile> {
        Ok(ModelFile { model: call(py, || arithmetic::Model::load(&name))?, given: name })
    }

    /// Makes the model that a TOML document describes.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<ModelFile> {
        let model = call(py, || arithmetic::Model::parse(text, "model"))?;
        Ok(ModelFile { given: model.name.clone(), model })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.model.title
    }

    #[getter]
    fn version(&self) -> u32 {
        self.model.version
    }

    #[getter]
    fn targets(&self) -> Vec<String> {
        self.model.architectures.clone()
    }

    /// The model as a TOML document.
    #[getter]
    fn text(&self) -> &str {
        self.model.text()
    }

    /// Names of the listed instructions that it covers.
    fn instructions(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        call(py, || {
            let covered = isa::all().iter().filter(|i| self.model.rule(i).is_some());
            Ok(covered.map(|i| i.name.clone()).collect())
        })
    }

    /// The arithmetic of an instruction on tiles of `m` rows and `n` columns; 0 means the instruction's own.
    fn arithmetic(&self, py: Python<'_>, instruction: &Instruction, m: usize, n: usize) -> PyResult<Evaluator> {
        let instruction = &instruction.0;
        let or = |given: usize, usual: usize| if given == 0 { usual } else { given };
        let tile = isa::Instruction { m: or(m, instruction.m), n: or(n, instruction.n), ..instruction.clone() };
        let evaluator = call(py, || self.model.evaluator(&tile))?;
        Ok(Evaluator { evaluator, tile })
    }
}

/// The arithmetic of one instruction.
#[pyclass(name = "Evaluator", module = "tcnum._tcnum", frozen)]
pub(crate) struct Evaluator {
    evaluator: arithmetic::Evaluator,
    tile: isa::Instruction,
}

/// The operands of tiles from Python.
struct GivenTiles<'py> {
    count: usize,
    operands: Vec<(&'static str, PyReadonlyArray1<'py, u8>)>,
}

impl GivenTiles<'_> {
    /// Bytes of the codes of each operand.
    fn arrays(&self) -> PyResult<Vec<(&'static str, &[u8])>> {
        self.operands.iter().map(|(name, array)| Ok((*name, array.as_slice()?))).collect()
    }
}

/// Checks the arrays that make up tiles of an instruction.
fn arrays_of<'py>(i: &isa::Instruction, arrays: &Bound<'py, PyDict>) -> PyResult<GivenTiles<'py>> {
    let (mut count, mut given) = (None, Vec::new());
    for Operand { name, format, rows, columns } in operands(i) {
        let wrong = |what: String| PyValueError::new_err(format!("{name}: {what}"));
        let array = arrays.get_item(name)?.ok_or_else(|| wrong(format!("{i} needs it")))?;
        let read: PyReadonlyArray1<'py, u8> = array.extract()?;
        let (bytes, each) = (read.as_slice()?, rows * columns * format.bytes());
        if !bytes.len().is_multiple_of(each) || count.is_some_and(|count| count != bytes.len() / each) {
            return Err(wrong(format!("{} bytes are not whole tiles of {each}", bytes.len())));
        }
        count = Some(bytes.len() / each);
        if format.bits as usize != 8 * format.bytes() {
            codes(format, &read).map_err(|error| wrong(error.value(arrays.py()).to_string()))?;
        }
        if name == "positions" {
            checked_positions(i, bytes)?;
        }
        given.push((name, read));
    }
    Ok(GivenTiles { count: count.unwrap_or(0), operands: given })
}

/// Refuses invalid positions of stored elements.
fn checked_positions(i: &isa::Instruction, positions: &[u8]) -> PyResult<()> {
    let (Some(chunk), stored) = (i.chunk(), i.stored_k()) else { return Ok(()) };
    for (row, given) in positions.chunks(stored.max(1)).enumerate() {
        if !chunk.allows(given.iter().map(|position| u64::from(*position))) {
            let rule = chunk.rule();
            return Err(PyValueError::new_err(format!("positions: row {row} has {given:?}; each chunk has {rule}")));
        }
    }
    Ok(())
}

#[pymethods]
impl Evaluator {
    /// Computes the bytes of D of tiles from the bytes of each operand in `arrays`.
    fn execute<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyDict>,
        mut out: PyReadwriteArray1<'py, u8>,
    ) -> PyResult<()> {
        let read = arrays_of(&self.tile, arrays)?;
        let (given, d) = (read.arrays()?, out.as_slice_mut()?);
        let wanted = read.count * self.tile.m * self.tile.n * self.tile.d.bytes();
        if d.len() != wanted {
            return Err(PyValueError::new_err(format!("D has {wanted} bytes, but out has {}", d.len())));
        }
        call(py, || {
            self.evaluator.execute_into(&given, d);
            Ok(())
        })
    }

    /// The operations of the arithmetic, one per line.
    fn program(&self) -> String {
        self.evaluator.program().to_string()
    }

    /// True if many elements are evaluated at a time.
    #[getter]
    fn is_fast(&self) -> bool {
        self.evaluator.is_fast()
    }
}

/// Explains one case step by step by each of the models, given with evaluators of one-element tiles.
#[pyfunction]
fn explained<'py>(
    py: Python<'py>,
    models: Vec<(String, Py<Evaluator>)>,
    arrays: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let Some((_, first)) = models.first() else { return Err(PyValueError::new_err("no model")) };
    let i = &first.get().tile;
    let read = arrays_of(i, arrays)?;
    if read.count != 1 {
        return Err(PyValueError::new_err(format!("only one case can be explained, not {}", read.count)));
    }
    let given = operands(i)
        .into_iter()
        .zip(&read.operands)
        .map(|(operand, (name, array))| Ok((*name, codes(operand.format, array)?)));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let tiles = Tiles::from_arrays(1, given).ok_or_else(|| PyValueError::new_err("a, b and c are needed"))?;
    let case = tiles.case(i, 0, 0, 0);
    let said: Vec<_> = models.iter().map(|(_, evaluator)| evaluator.get().evaluator.explain(&case)).collect();
    let titles: Vec<String> = models.iter().map(|(name, _)| format!("model {name}")).collect();
    let results = titles.iter().zip(&said).map(|(title, said)| (&title[..], said.d));
    let report = Report {
        holds: said.windows(2).all(|pair| pair[0].d == pair[1].d),
        tables: vec![explain::results(i.name.clone(), i.d, results), steps::table(&titles, steps::rows(None, &said))],
        ..Report::new("explain", String::new())
    };
    python_report(py, &report)
}
