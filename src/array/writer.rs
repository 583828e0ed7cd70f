//! Files of arrays that are written piece by piece, whole or not at all.

use std::{collections::BTreeMap, path::Path};

use super::{Container, Content, npy, safetensors, wrong};
use crate::{Result, base::atomic::ReplacingFile};

/// An array that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewArray {
    /// Its name; an `.npy` file has none.
    pub name: String,
    /// Its extents; empty for a single number.
    pub shape: Vec<usize>,
    /// What its elements are.
    pub kind: Content,
    /// Bytes of its elements.
    pub bytes: u64,
}

/// A file of arrays that is being written, by any number of threads; it is not there before it is finished.
#[derive(Debug)]
pub struct ArrayWriter {
    file: ReplacingFile,
    /// Where the data of each array begin.
    starts: Vec<u64>,
}

impl ArrayWriter {
    /// Begins a file with these arrays and metadata: the same ones give the same bytes.
    ///
    /// # Errors
    /// A path that cannot be written; for `.npy`, more or less than one array, and more than 64 dimensions; names and metadata that
    /// are too long to be read again.
    pub fn begin(path: &Path, arrays: &[NewArray], metadata: &BTreeMap<String, String>) -> Result<ArrayWriter> {
        let layout = match (Container::of(path)?, arrays) {
            (Container::Safetensors, _) => safetensors::layout(arrays, metadata),
            (Container::Npy, [array]) => npy::header(array).map(|header| {
                let start = header.len() as u64;
                (header, vec![start])
            }),
            (Container::Npy, arrays) => {
                Err(format!("an .npy file holds one array, and there are {}; write a .safetensors file", arrays.len()))
            }
        };
        let (header, starts) = layout.map_err(|cause| wrong(path, &cause))?;
        let length = header.len() as u64 + arrays.iter().map(|array| array.bytes).sum::<u64>();
        let file = ReplacingFile::begin(path, length)?;
        file.write(0, &header)?;
        Ok(ArrayWriter { file, starts })
    }

    /// Writes the bytes of the array of this number that begin with its byte `first`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, array: usize, first: u64, bytes: &[u8]) -> Result<()> {
        self.file.write(self.starts[array] + first, bytes)
    }

    /// Puts the file, all of which has been written, in its place.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(self) -> Result<()> {
        self.file.finish()
    }
}
