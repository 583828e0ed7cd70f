//! Arrays of a file whose elements are read piece by piece, so that files may be larger than memory.

use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{Container, Content, npy, safetensors, wrong};
use crate::{Error, Result, base::text};

/// A file of arrays that is open for reading.
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    file: Mutex<File>,
    /// Its arrays, in the order of their data.
    pub arrays: Vec<StreamedArray>,
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
    /// its end are not [whole](StreamedArray::whole).
    ///
    /// # Errors
    /// A request error that names the path and what is malformed or missing; an `.npy` file in Fortran order.
    pub fn open(path: &Path) -> Result<ArrayFile> {
        let wrong = |cause: String| wrong(path, &cause);
        let container = Container::of(path)?;
        let (file, length) = text::open(path).map_err(wrong)?;
        let start = BufReader::new(&file);
        let arrays = match container {
            Container::Npy => {
                let name = path.file_stem().map_or("array".into(), |stem| stem.to_string_lossy().into_owned());
                npy::streamed(name, start, length).map(|array| vec![array])
            }
            Container::Safetensors => safetensors::streamed(start, length),
        };
        let arrays = arrays.map_err(wrong)?;
        Ok(ArrayFile { path: path.to_path_buf(), file: Mutex::new(file), arrays })
    }

    /// Reads the bytes of `array` that begin with its element `first`.
    ///
    /// # Errors
    /// A file that cannot be read, or has become shorter.
    pub fn read(&self, array: &StreamedArray, first: usize, bytes: &mut [u8]) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let at = array.data.0 + (first * array.width) as u64;
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
        read.map_err(|error| Error::request(format!("{}: cannot be read: {error}", self.path.display())))
    }
}
