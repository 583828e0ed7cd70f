//! Arrays of a file whose elements are read piece by piece, so that files may be larger than memory.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Error as IoError, ErrorKind},
    path::{Path, PathBuf},
};

use super::{Container, Content, LARGEST_EXTENT, npy, safetensors, wrong};
use crate::{
    Error, Result,
    base::{places, text},
};

/// A file of arrays that is open for reading.
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    elements: Elements,
    /// Its arrays, in the order of their data.
    pub arrays: Vec<StreamedArray>,
    /// Strings by key; none in an `.npy` file.
    pub metadata: BTreeMap<String, String>,
}

/// The bytes of the elements.
#[derive(Debug)]
enum Elements {
    File(File),
    /// In memory, in C order, where the file has Fortran order.
    Ordered(Vec<u8>),
}

/// An array of an open file.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamedArray {
    /// Its name in the file; of an `.npy` file, which has none, the name of the file.
    pub name: String,
    /// Its extents; empty for a single number.
    pub shape: Vec<usize>,
    /// What the file says of its elements.
    pub kind: Content,
    /// Bytes of an element; 0 of types that pack several into a byte.
    pub width: usize,
    /// Where its data begin in the file, and how many bytes they are.
    pub data: (u64, u64),
    /// Whether the file has all of them.
    pub whole: bool,
}

impl StreamedArray {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ArrayFile {
    /// Opens the file at `path` and reads what it says of its arrays. Of a safetensors file that was cut short, the arrays behind
    /// its end are not [whole](StreamedArray::whole). An `.npy` file in Fortran order is read as a whole.
    ///
    /// # Errors
    /// A request error that names the path and what is malformed or missing.
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
        // Where an extent is 0, the others are not bounded by the size of the file.
        let extents = || arrays.iter().flat_map(|array| array.shape.iter().map(move |extent| (array, extent)));
        if let Some((array, extent)) = extents().find(|(_, extent)| **extent > LARGEST_EXTENT) {
            return Err(wrong(format!("array '{}' has the extent {extent}, which is too large", array.name)));
        }
        let elements = ordered.map_or(Elements::File(file), Elements::Ordered);
        Ok(ArrayFile { path: path.to_path_buf(), elements, arrays, metadata })
    }

    /// Reads the bytes of `array` that begin with its element `first`.
    ///
    /// # Errors
    /// A file that cannot be read, or has become shorter.
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
