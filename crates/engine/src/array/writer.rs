//! Array files written piece by piece, whole or not at all.

use std::{collections::BTreeMap, path::Path};

use super::{Container, Content, npy, safetensors, wrong};
use crate::{Result, base::atomic::ReplacingFile};

/// An array to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewArray {
    /// Name; unused in an `.npy` file.
    pub name: String,
    /// Extents; empty for a single number.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub kind: Content,
    /// Bytes of all elements.
    pub bytes: u64,
}

/// A file of arrays under construction, by any number of threads. It appears when it is finished.
#[derive(Debug)]
pub struct ArrayWriter {
    file: ReplacingFile,
    /// First byte of each array's data.
    starts: Vec<u64>,
}

impl ArrayWriter {
    /// Begins a file; the same arrays and metadata give the same bytes.
    ///
    /// # Errors
    /// A path that cannot be written; for `.npy`, not exactly one array, or more than 64 dimensions; names and metadata
    /// too long to be read again.
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

    /// Writes bytes of array number `array` from its byte `first` on.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, array: usize, first: u64, bytes: &[u8]) -> Result<()> {
        self.file.write(self.starts[array] + first, bytes)
    }

    /// Puts the completely written file in its place.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(self) -> Result<()> {
        self.file.finish()
    }
}
