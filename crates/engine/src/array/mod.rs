//! Arrays in `.npy`, safetensors and GGUF files: read without trust, written whole or not at all.

mod gguf;
mod gguf_writer;
mod npy;
mod packed;
mod safetensors;
mod shards;
mod stream;
mod writer;

use std::{borrow::Cow, collections::BTreeMap, path::Path};

pub use gguf_writer::GgufEntries;
pub use packed::pack;
pub(crate) use safetensors::{LONGEST_HEADER, header};
pub use stream::{ArrayFile, StreamedArray};
pub(crate) use stream::{ComputedArray, ComputedValues};
pub use writer::{ArrayWriter, FileHeading, NewArray};

use crate::{
    Error, Result,
    format::{FORMATS, Format, find},
    isa::Codes,
};

/// One array: its elements in the order of their indices, the last running fastest, little-endian.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<'a> {
    /// Name in the file; for an `.npy` file, the name of the file.
    pub name: String,
    /// Extents; empty for a single number.
    pub shape: Vec<usize>,
    /// Type of the elements in the file.
    pub kind: Content,
    /// The elements.
    pub bytes: Cow<'a, [u8]>,
}

/// The type of an array's elements in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Codes of this format. A file without a type for them holds unsigned integers.
    Format(&'static Format),
    /// Unsigned or untyped integers of this many bytes: codes of a format that is given elsewhere.
    Unsigned(usize),
    /// A type without a format here.
    Other(&'static str),
}

impl Content {
    /// Returns true for floating-point elements, and those of a format by table.
    pub fn is_floating(self) -> bool {
        matches!(self, Content::Format(format) if !format.is_integer())
    }

    /// Returns the name of the type of such elements in a safetensors or GGUF file.
    pub fn type_name(self) -> String {
        safetensors::type_name(self)
    }

    /// Determines the format of the elements of array `name`: their own, or else the given one.
    ///
    /// # Errors
    /// A type that disagrees with the given format, or has none.
    pub(crate) fn format(self, name: &str, given: Option<&'static Format>) -> Result<&'static Format> {
        let wrong = |what: String| Err(Error::request(format!("array '{name}': {what}")));
        match (self, given) {
            (Content::Format(held), None) => Ok(held),
            (Content::Format(held), Some(given)) if held == given => Ok(held),
            (Content::Format(held), Some(given)) => wrong(format!("it holds {held}, not {given}")),
            (Content::Unsigned(bytes), Some(format)) if bytes == format.bytes() => Ok(format),
            (Content::Unsigned(bytes), Some(format)) => {
                wrong(format!("its elements have {bytes} bytes, and codes of {format} {}", format.bytes()))
            }
            (Content::Unsigned(bytes), None) => wrong(unnamed(bytes)),
            (Content::Other(name), _) => {
                wrong(format!("its type {name} cannot be converted; choose other arrays by ‹tensor›"))
            }
        }
    }
}

/// Says of codes of this many bytes that their file does not name their format, and how to name one.
fn unnamed(bytes: usize) -> String {
    let fitting: Vec<&str> =
        FORMATS.iter().filter(|format| format.bytes() == bytes).map(|format| format.name).collect();
    let example = match bytes {
        1 => "e4m3",
        2 => "bf16",
        4 => "f32",
        _ => "f64",
    };
    let plural = if bytes == 1 { "byte" } else { "bytes" };
    format!(
        "the file does not name the format of its codes of {bytes} {plural}; name one by ‹from›, such as ‹from={example}› (formats of {bytes} {plural}: {})",
        fitting.join(" ")
    )
}

/// Largest extent of an array that is read: extents fit the signed integers of a report.
pub const LARGEST_EXTENT: usize = i64::MAX as usize;

/// The kind of a file, by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `.npy`: one array, without name or metadata.
    Npy,
    /// `.safetensors`: named arrays and metadata.
    Safetensors,
    /// `.gguf`: named tensors, blocks of bytes among them, and metadata.
    Gguf,
}

/// The arrays and metadata of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arrays<'a> {
    /// Arrays, in ascending order of name.
    pub arrays: Vec<Array<'a>>,
    /// Metadata; empty for an `.npy` file.
    pub metadata: BTreeMap<String, String>,
}

impl Container {
    /// The kind of the file at `path`.
    ///
    /// # Errors
    /// A name that ends in neither `.npy`, `.safetensors` nor `.gguf`.
    pub fn of(path: &Path) -> Result<Container> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("npy") => Ok(Container::Npy),
            Some("safetensors") => Ok(Container::Safetensors),
            Some("gguf") => Ok(Container::Gguf),
            _ => Err(Error::request(format!(
                "{}: not an array file; its name must end in .npy, .safetensors or .gguf; a new folder ends in /",
                path.display()
            ))),
        }
    }
}

fn wrong(path: &Path, cause: &str) -> Error {
    Error::request(format!("{}: {cause}", path.display()))
}

impl<'a> Arrays<'a> {
    /// Finds an array by its name.
    pub fn get(&self, name: &str) -> Option<&Array<'a>> {
        self.arrays.iter().find(|array| array.name == name)
    }

    /// Reads the whole file at `path`; [`ArrayFile`] reads it piece by piece.
    ///
    /// # Errors
    /// As [`ArrayFile::open`]; a truncated file.
    pub fn read(path: &Path) -> Result<Arrays<'static>> {
        let file = ArrayFile::open(path)?;
        let mut arrays = file.arrays.iter().map(|array| file.array(array)).collect::<Result<Vec<_>>>()?;
        arrays.sort_by(|x, y| x.name.cmp(&y.name));
        Ok(Arrays { arrays, metadata: file.metadata })
    }

    /// Writes the file, whole or not at all; the same arrays give the same bytes.
    ///
    /// # Errors
    /// A path that cannot be written; for `.npy`, not exactly one array, or more than 64 dimensions; names and metadata
    /// too long to be read again.
    pub fn write(&self, path: &Path) -> Result<()> {
        let planned: Vec<NewArray> = self.arrays.iter().map(Array::planned).collect();
        let heading = FileHeading { metadata: self.metadata.clone(), ..FileHeading::default() };
        let writer = ArrayWriter::begin(path, &planned, &heading)?;
        for (number, array) in self.arrays.iter().enumerate() {
            writer.write(number, 0, &array.bytes)?;
        }
        writer.finish()
    }
}

impl Array<'_> {
    /// Makes an array of codes.
    pub fn of_codes(name: impl Into<String>, shape: Vec<usize>, format: &'static Format, codes: Vec<u8>) -> Self {
        Array { name: name.into(), shape, kind: Content::Format(format), bytes: Cow::Owned(codes) }
    }

    /// The array without its elements, as a writer takes it.
    fn planned(&self) -> NewArray {
        NewArray { name: self.name.clone(), shape: self.shape.clone(), kind: self.kind, bytes: self.bytes.len() as u64 }
    }

    /// Returns the elements as codes of their own format, or else of `format`.
    ///
    /// # Errors
    /// A type that disagrees with `format` or has none; a code wider than the format, with its position.
    pub fn codes(&self, format: Option<&'static Format>) -> Result<(&'static Format, Codes)> {
        let format = self.kind.format(&self.name, format)?;
        let codes = Codes::from_bytes(format, self.bytes.to_vec()).expect("whole elements");
        check_codes(&format!("array '{}'", self.name), format, &codes, 0)?;
        Ok((format, codes))
    }
}

/// Refuses codes wider than `format`.
/// `what` names the array; `first` is the position of its first code here.
///
/// # Errors
/// The first wide code, with its position.
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

/// The content of a file type that has the format `name`.
fn named(name: &str) -> Content {
    Content::Format(find(name).expect("a format of the table"))
}
