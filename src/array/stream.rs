//! Arrays read piece by piece from files that may exceed memory.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Error as IoError, ErrorKind},
    path::{Path, PathBuf},
};

use super::{Array, Container, Content, LARGEST_EXTENT, npy, safetensors, wrong};
use crate::{
    Error, Result,
    base::{places, text},
};

/// An open file of arrays.
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    elements: Elements,
    /// Arrays, in the order of their data.
    pub arrays: Vec<StreamedArray>,
    /// Metadata; empty for an `.npy` file.
    pub metadata: BTreeMap<String, String>,
}

/// The bytes of the elements.
#[derive(Debug)]
enum Elements {
    File(File),
    /// In memory in C order, if the file has Fortran order.
    Ordered(Vec<u8>),
}

/// An array of an open file.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamedArray {
    /// Name in the file; for an `.npy` file, the name of the file.
    pub name: String,
    /// Extents; empty for a single number.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub kind: Content,
    /// Bytes of an element; 0 for types that pack several into a byte.
    pub width: usize,
    /// First byte of the data in the file, and their length in bytes.
    pub data: (u64, u64),
    /// True if the file has all of them.
    pub whole: bool,
}

impl StreamedArray {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ArrayFile {
    /// Opens the file at `path` and reads its header.
    /// If a safetensors file is truncated, its incomplete arrays are not [whole](StreamedArray::whole). An `.npy` file
    /// in Fortran order is read completely.
    ///
    /// # Errors
    /// A request error that names the path and the malformed or missing part.
    pub fn open(path: &Path) -> Result<ArrayFile> {
        let wrong = |cause: String| wrong(path, &cause);
        let (file, length) = text::open(path).map_err(wrong)?;
        let container = Container::of(path)?;
        let start = BufReader::new(&file);
        let (arrays, metadata, ordered) = match container {
            Container::Npy => {
                let name = path.file_stem().map_or("array".into(), |stem| stem.to_string_lossy().into_owned());
                let (array, ordered) = npy::streamed(name, start, length).map_err(wrong)?;
                (vec![array], BTreeMap::new(), ordered)
            }
            Container::Safetensors => {
                let (arrays, metadata) = safetensors::streamed(start, length).map_err(wrong)?;
                (arrays, metadata, None)
            }
        };
        // An extent of 0 leaves the other extents unbounded by the file's size.
        let extents = || arrays.iter().flat_map(|array| array.shape.iter().map(move |extent| (array, extent)));
        if let Some((array, extent)) = extents().find(|(_, extent)| **extent > LARGEST_EXTENT) {
            return Err(wrong(format!("array '{}' has the extent {extent}, which is too large", array.name)));
        }
        let elements = ordered.map_or(Elements::File(file), Elements::Ordered);
        Ok(ArrayFile { path: path.to_path_buf(), elements, arrays, metadata })
    }

    /// Refuses an array that a truncated file lacks a part of.
    ///
    /// # Errors
    /// A request error that names the path and the array.
    pub fn complete(&self, array: &StreamedArray) -> Result<()> {
        match array.whole {
            true => Ok(()),
            false => Err(wrong(&self.path, &format!("the file ends in the data of array '{}'", array.name))),
        }
    }

    /// Reads all of `array`.
    ///
    /// # Errors
    /// As [`ArrayFile::complete`]; a file that cannot be read, or has been shortened.
    pub fn array(&self, array: &StreamedArray) -> Result<Array<'static>> {
        self.complete(array)?;
        let mut bytes = vec![0; array.data.1 as usize];
        self.read_bytes(array, 0, &mut bytes)?;
        Ok(Array { name: array.name.clone(), shape: array.shape.clone(), kind: array.kind, bytes: bytes.into() })
    }

    /// Reads the bytes of `array` from its element `first` on.
    ///
    /// # Errors
    /// A file that cannot be read, or has been shortened.
    pub fn read(&self, array: &StreamedArray, first: usize, bytes: &mut [u8]) -> Result<()> {
        self.read_bytes(array, (first * array.width) as u64, bytes)
    }

    /// Reads the bytes of `array` from its byte `first` on.
    ///
    /// # Errors
    /// As [`ArrayFile::read`].
    pub(crate) fn read_bytes(&self, array: &StreamedArray, first: u64, bytes: &mut [u8]) -> Result<()> {
        let at = array.data.0 + first;
        let read = match &self.elements {
            Elements::File(file) => places::read_at(file, at, bytes),
            Elements::Ordered(data) => match data.get(at as usize..).and_then(|rest| rest.get(..bytes.len())) {
                Some(own) => {
                    bytes.copy_from_slice(own);
                    Ok(())
                }
                None => Err(IoError::from(ErrorKind::UnexpectedEof)),
            },
        };
        read.map_err(|error| Error::request(format!("{}: cannot be read: {error}", self.path.display())))
    }
}
