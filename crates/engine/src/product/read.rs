//! Matrices in files.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::Matrix;
use crate::{
    Error, Result,
    array::{self, Array, Arrays, Container, Content},
    base::nearest::nearest,
    format::{Format, Overflow, Rounding},
    isa::Codes,
    tensor::{ConversionTarget, Tensor, convert},
};

/// Formats that NumPy's files have a type for.
const NUMPY: [&str; 6] = ["f64", "f32", "f16", "s8", "s32", "s64"];
/// Name of D in a safetensors file.
const NAME: &str = "d";

/// An array in a file: `FILE.npy`, `FILE.safetensors:NAME`, or `FILE.safetensors` of one array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayFile {
    /// The file.
    pub path: PathBuf,
    /// The name of the array.
    pub name: Option<String>,
    /// The matrix that is read from a batch, an array of three dimensions.
    ///
    /// An array of two dimensions is the same in each product.
    pub product: Option<usize>,
}

/// Treatment of an array in another format than the wanted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// Values of the wanted format are taken, others are refused.
    Exact,
    /// The array keeps its format; integers are codes of the wanted format.
    Keep,
    /// Values are rounded to nearest, ties to even, and saturate.
    Quantise,
}

impl ArrayFile {
    /// The array that an option names.
    pub fn parse(text: &str) -> ArrayFile {
        let named = text.rsplit_once(".safetensors:").map(|(stem, name)| (format!("{stem}.safetensors"), name));
        match named {
            Some((path, name)) => ArrayFile { path: path.into(), name: Some(name.into()), product: None },
            None => ArrayFile { path: text.into(), name: None, product: None },
        }
    }

    /// Its name in messages.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{}:{name}", self.path.display()),
            None => self.path.display().to_string(),
        }
    }

    /// The array itself, of any shape.
    ///
    /// # Errors
    /// A file that cannot be read or has no such array.
    pub fn array(&self) -> Result<Array<'static>> {
        let arrays = Arrays::read(&self.path)?;
        let chosen = self.chosen(&arrays.arrays, |array| &array.name).cloned();
        chosen.map_err(|error| error.within(self.label()))
    }

    /// The matrix in `format`, or in the file's own; with a note if values were rounded.
    ///
    /// Integers are codes of `format`. f32 is taken for tf32 unchanged: the unit ignores the low 13 bits. An array of one dimension is
    /// a row.
    ///
    /// # Errors
    /// A file that cannot be read or has no such array, an array that is no matrix or holds other values than the format has.
    pub fn read(&self, format: Option<&'static Format>, conversion: Conversion) -> Result<(Matrix, Option<String>)> {
        let arrays = Arrays::read(&self.path)?;
        let within = |error: Error| error.within(self.label());
        let read = self.chosen(&arrays.arrays, |array| &array.name).and_then(|array| {
            match self.product.filter(|_| array.shape.len() == 3) {
                None => Matrix::of_array(array, format, conversion),
                Some(at) => {
                    let bytes = array.bytes.len() / array.shape[0].max(1);
                    let matrix = array.bytes.get(at * bytes..(at + 1) * bytes);
                    let bytes = matrix.ok_or_else(|| Error::request(format!("there is no matrix {at}")))?.into();
                    let shape = array.shape[1..].to_vec();
                    Matrix::of_array(
                        &Array { name: array.name.clone(), shape, kind: array.kind, bytes },
                        format,
                        conversion,
                    )
                }
            }
        });
        let (matrix, note) = read.map_err(within)?;
        Ok((matrix, note.map(|note| format!("{}: {note}", self.label()))))
    }

    /// The stacked matrices of a batch in the file's format, and their number.
    ///
    /// The first of three dimensions counts the matrices; an array of one matrix has no number.
    ///
    /// # Errors
    /// As [`ArrayFile::read`].
    pub fn read_batch(&self) -> Result<(Matrix, Option<usize>)> {
        let arrays = Arrays::read(&self.path)?;
        let read = |array: &Array| {
            let (batch, (rows, columns)) = match *array.shape {
                [batch, rows, columns] => (Some(batch), (batch * rows, columns)),
                _ => (None, extent(&array.shape)?),
            };
            let (codes, format, _) = codes(array, None, Conversion::Keep)?;
            Ok((Matrix::new(rows, columns, format, codes), batch))
        };
        self.chosen(&arrays.arrays, |array| &array.name).and_then(read).map_err(|error| error.within(self.label()))
    }

    /// Rows and columns of the matrix, from the header alone.
    ///
    /// # Errors
    /// As [`ArrayFile::read`].
    pub fn extent(&self) -> Result<(usize, usize)> {
        let shape = self.shape()?;
        let matrix = if self.product.is_some() && shape.len() == 3 { &shape[1..] } else { &shape };
        extent(matrix).map_err(|error| error.within(self.label()))
    }

    /// The number of matrices of an array of three dimensions, from the header alone.
    ///
    /// # Errors
    /// A file that cannot be read or has no such array.
    pub fn batch(&self) -> Result<Option<usize>> {
        Ok(Some(self.shape()?).filter(|shape| shape.len() == 3).map(|shape| shape[0]))
    }

    fn shape(&self) -> Result<Vec<usize>> {
        let file = array::ArrayFile::open(&self.path)?;
        let chosen = self.chosen(&file.arrays, |array| &array.name).map(|array| array.shape.clone());
        chosen.map_err(|error| error.within(self.label()))
    }

    /// The array among those of the file.
    fn chosen<'a, T>(&self, arrays: &'a [T], name_of: impl Fn(&T) -> &str) -> Result<&'a T> {
        let names = || arrays.iter().map(&name_of);
        match (&self.name, arrays) {
            (None, [one]) => Ok(one),
            (None, []) => Err(Error::request("the file has no arrays")),
            (None, several) => Err(Error::request(format!(
                "the file has {} arrays; name one, such as {}:{}",
                several.len(),
                self.path.display(),
                name_of(&several[0])
            ))),
            (Some(name), _) => arrays.iter().find(|array| name_of(array) == name).ok_or_else(|| {
                Error::request(format!(
                    "there is no array '{name}'; the nearest names are {}",
                    nearest(name, names(), 3).join(", ")
                ))
            }),
        }
    }
}

impl Matrix {
    /// The matrix in an array, as by [`ArrayFile::read`].
    ///
    /// # Errors
    /// An array that is no matrix or holds other values than the format has.
    pub fn of_array(
        array: &Array,
        format: Option<&'static Format>,
        conversion: Conversion,
    ) -> Result<(Matrix, Option<String>)> {
        let (rows, columns) = extent(&array.shape)?;
        let (codes, format, note) = codes(array, format, conversion)?;
        Ok((Matrix::new(rows, columns, format, codes), note))
    }
}

/// The rows and columns of a matrix of this shape.
pub(super) fn extent(shape: &[usize]) -> Result<(usize, usize)> {
    match *shape {
        [columns] => Ok((1, columns)),
        [rows, columns] => Ok((rows, columns)),
        _ => Err(Error::request(format!("the shape is {shape:?}; a matrix has rows and columns"))),
    }
}

/// The codes of an array in the wanted format, the format, and a note if values were rounded.
fn codes(
    array: &Array,
    wanted: Option<&'static Format>,
    conversion: Conversion,
) -> Result<(Codes, &'static Format, Option<String>)> {
    let (stored, wanted) = match (array.kind, wanted) {
        (Content::Format(stored), Some(wanted)) if stored != wanted && conversion != Conversion::Keep => {
            (stored, wanted)
        }
        (Content::Format(stored), _) => {
            let (format, codes) = array.codes(Some(stored))?;
            return Ok((codes, format, None));
        }
        (Content::Unsigned(_), None) => {
            return Err(Error::request("the array holds integers, and no format is known for these codes"));
        }
        _ => {
            let (format, codes) = array.codes(wanted)?;
            return Ok((codes, format, None));
        }
    };
    let given = Codes::from_bytes(stored, array.bytes.to_vec()).expect("whole elements");
    if (stored.name, wanted.name, conversion) == ("f32", "tf32", Conversion::Exact) {
        return Ok((given, wanted, None));
    }
    let target = ConversionTarget::Scalar { format: wanted, rounding: Rounding::Rne, overflow: Overflow::Saturate };
    let (converted, changes) = convert(&Tensor::Scalar(stored, given), 1, &target)?;
    let changed = changes.losses.values - changes.losses.exact;
    let Tensor::Scalar(_, codes) = converted else { unreachable!("the target is no block format") };
    match (changed, conversion) {
        (0, _) => Ok((codes, wanted, None)),
        (_, Conversion::Exact | Conversion::Keep) => Err(Error::request(format!(
            "{changed} of {} values of {stored} are not in {wanted}; use ‹quantise› to round them",
            changes.losses.values
        ))),
        (_, Conversion::Quantise) => Ok((
            codes,
            wanted,
            Some(format!("{changed} of {} values of {stored} were rounded to {wanted}.", changes.losses.values)),
        )),
    }
}

/// Refuses a file that cannot hold a D of this format.
///
/// # Errors
/// A request error: the name ends in neither `.npy` nor `.safetensors`, or NumPy has no such type.
pub fn writable(path: &Path, format: &Format) -> Result<()> {
    match Container::of(path)? {
        Container::Npy if !NUMPY.contains(&format.name) => Err(Error::request(format!(
            "{}: NumPy has no type for {format}; write a .safetensors file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes a matrix, whole or not at all; a safetensors file has it as `d`, with the metadata.
///
/// # Errors
/// As [`writable`]; a file that cannot be written.
pub fn write(path: &Path, matrix: &Matrix, metadata: BTreeMap<String, String>) -> Result<()> {
    writable(path, matrix.format)?;
    write_named(path, &[(NAME, matrix)], metadata)
}

/// Writes the stacked matrices of a batch as an array of three dimensions, as [`write()`] does.
///
/// # Errors
/// As [`write()`].
pub fn write_batch(path: &Path, matrix: &Matrix, batch: usize, metadata: BTreeMap<String, String>) -> Result<()> {
    writable(path, matrix.format)?;
    let shape = vec![batch, matrix.rows / batch.max(1), matrix.columns];
    let array = Array::of_codes(NAME, shape, matrix.format, matrix.codes.as_bytes().to_vec());
    Arrays { arrays: vec![array], metadata }.write(path)
}

/// Writes named matrices and metadata to a safetensors file, whole or not at all.
///
/// # Errors
/// A file that cannot be written, or not hold them.
pub fn write_named(path: &Path, matrices: &[(&str, &Matrix)], metadata: BTreeMap<String, String>) -> Result<()> {
    let array = |(name, matrix): &(&str, &Matrix)| {
        let bytes = matrix.codes.as_bytes().to_vec();
        Array::of_codes(*name, vec![matrix.rows, matrix.columns], matrix.format, bytes)
    };
    Arrays { arrays: matrices.iter().map(array).collect(), metadata }.write(path)
}
