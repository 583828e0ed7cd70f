//! Arrays in files, `.npy` and safetensors: read without trust, written whole or not at all.

mod npy;
mod safetensors;
mod stream;
mod writer;

use std::{borrow::Cow, collections::BTreeMap, path::Path};

pub(crate) use safetensors::{LONGEST_HEADER, header};
pub use stream::{ArrayFile, StreamedArray};
pub use writer::{ArrayWriter, NewArray};

use crate::{
    Error, Result,
    format::{Encoding, Format, find},
    isa::Codes,
};

/// One array: its elements in the order of its indices, the last running fastest, little-endian.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<'a> {
    /// Its name in the file; of an `.npy` file, which has none, the name of the file.
    pub name: String,
    /// Its extents; empty for a single number.
    pub shape: Vec<usize>,
    /// What the file says of its elements.
    pub kind: Content,
    /// The elements.
    pub bytes: Cow<'a, [u8]>,
}

/// What a file says of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// They are codes of this format. A file whose kind has no type for it holds them as unsigned integers.
    Format(&'static Format),
    /// They are unsigned integers, or of no type, of this many bytes: codes of a format that must be given elsewhere.
    Unsigned(usize),
    /// They are of a type that has no format here.
    Other(&'static str),
}

impl Content {
    /// Whether elements are floating-point numbers.
    pub fn is_floating(self) -> bool {
        matches!(self, Content::Format(Format { encoding: Encoding::Float(_), .. }))
    }

    /// The format of the elements of the array called `name`: their own, or else the given one.
    ///
    /// # Errors
    /// A type that disagrees with the given format or has none.
    pub(crate) fn format(self, name: &str, given: Option<&'static Format>) -> Result<&'static Format> {
        let wrong = |what: String| Err(Error::request(format!("array '{name}': {what}")));
        match (self, given) {
            (Content::Format(own), None) => Ok(own),
            (Content::Format(own), Some(given)) if own == given => Ok(own),
            (Content::Format(own), Some(given)) => wrong(format!("it holds {own}, not {given}")),
            (Content::Unsigned(bytes), Some(format)) if bytes == format.bytes() => Ok(format),
            (Content::Unsigned(bytes), Some(format)) => {
                wrong(format!("its elements have {bytes} bytes, and codes of {format} {}", format.bytes()))
            }
            (Content::Unsigned(_), None) => {
                wrong("it holds integers; give --from, the format that they are codes of".into())
            }
            (Content::Other(name), _) => {
                wrong(format!("its type {name} cannot be converted; choose other arrays by --tensor"))
            }
        }
    }
}

/// The largest extent of an array that is read: extents fit the signed integers of a report.
pub const LARGEST_EXTENT: usize = i64::MAX as usize;

/// The kind of a file, told by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `.npy`: one array, without name or metadata.
    Npy,
    /// `.safetensors`: named arrays and metadata.
    Safetensors,
}

/// The arrays and the metadata of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arrays<'a> {
    /// In ascending order of name.
    pub arrays: Vec<Array<'a>>,
    /// Strings by key; none in an `.npy` file.
    pub metadata: BTreeMap<String, String>,
}

impl Container {
    /// The kind of the file at `path`.
    ///
    /// # Errors
    /// A name that ends in neither `.npy` nor `.safetensors`.
    pub fn of(path: &Path) -> Result<Container> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("npy") => Ok(Container::Npy),
            Some("safetensors") => Ok(Container::Safetensors),
            _ => Err(Error::request(format!(
                "{}: the name of an array file ends in .npy or .safetensors",
                path.display()
            ))),
        }
    }
}

fn wrong(path: &Path, cause: &str) -> Error {
    Error::request(format!("{}: {cause}", path.display()))
}

impl Arrays<'_> {
    /// Reads the file at `path` as a whole, which [`ArrayFile`] reads piece by piece.
    ///
    /// # Errors
    /// As [`ArrayFile::open`]; a file that is truncated.
    pub fn read(path: &Path) -> Result<Arrays<'static>> {
        let file = ArrayFile::open(path)?;
        let read = |array: &StreamedArray| {
            let mut bytes = vec![0; array.data.1 as usize];
            match array.whole {
                true => file.read_bytes(array, 0, &mut bytes)?,
                false => return Err(wrong(path, &format!("the file ends in the data of array '{}'", array.name))),
            }
            Ok(Array { name: array.name.clone(), shape: array.shape.clone(), kind: array.kind, bytes: bytes.into() })
        };
        let mut arrays = file.arrays.iter().map(read).collect::<Result<Vec<_>>>()?;
        arrays.sort_by(|x, y| x.name.cmp(&y.name));
        Ok(Arrays { arrays, metadata: file.metadata })
    }

    /// Writes the file, whole or not at all: the same arrays give the same bytes.
    ///
    /// # Errors
    /// A path that cannot be written; for `.npy`, more or less than one array, and more than 64 dimensions; names and metadata that
    /// are too long to be read again.
    pub fn write(&self, path: &Path) -> Result<()> {
        let planned: Vec<NewArray> = self.arrays.iter().map(Array::planned).collect();
        let writer = ArrayWriter::begin(path, &planned, &self.metadata)?;
        for (number, array) in self.arrays.iter().enumerate() {
            writer.write(number, 0, &array.bytes)?;
        }
        writer.finish()
    }
}

impl Array<'_> {
    /// An array of codes.
    pub fn of_codes(name: impl Into<String>, shape: Vec<usize>, format: &'static Format, codes: Vec<u8>) -> Self {
        Array { name: name.into(), shape, kind: Content::Format(format), bytes: Cow::Owned(codes) }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is said of it before it is written.
    fn planned(&self) -> NewArray {
        NewArray { name: self.name.clone(), shape: self.shape.clone(), kind: self.kind, bytes: self.bytes.len() as u64 }
    }

    /// The elements as codes of their own format, or else of `format`.
    ///
    /// # Errors
    /// A type that disagrees with `format` or has none; a code wider than the format, with its place.
    pub fn codes(&self, format: Option<&'static Format>) -> Result<(&'static Format, Codes)> {
        let format = self.kind.format(&self.name, format)?;
        let codes = Codes::from_bytes(format, self.bytes.to_vec()).expect("whole elements");
        check_codes(&format!("array '{}'", self.name), format, &codes, 0)?;
        Ok((format, codes))
    }
}

/// Refuses codes wider than `format`, `what` names the array, `first` is the place of its first code here.
///
/// # Errors
/// The first of them, with its place.
pub(crate) fn check_codes(what: &str, format: &Format, codes: &Codes, first: usize) -> Result<()> {
    if format.bits as usize == 8 * format.bytes() {
        return Ok(());
    }
    match codes.iter().position(|code| code > format.code_mask()) {
        Some(at) => Err(Error::request(format!(
            "{what}: code {:#x} at position {} has more than the {} bits of {format}",
            codes.get(at),
            first + at,
            format.bits
        ))),
        None => Ok(()),
    }
}

/// The record of the format that a file type means.
fn named(name: &str) -> Content {
    Content::Format(find(name).expect("a format of the table"))
}
