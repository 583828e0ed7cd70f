//! GGUF files that are written: version 3, with the metadata of their input.
//!
//! Files that come from others have the least metadata that readers ask for.

use std::{fs::File, path::Path};

use super::{Content, NewArray, gguf, wrong};
use crate::{
    Result,
    base::{places, text},
};

/// Version of the format.
const VERSION: u32 = 3;
/// Dimensions of a tensor and bytes of its name, at most, in ggml.
const MOST_DIMENSIONS: usize = 4;
const LONGEST_NAME: usize = 63;
/// Types of entries.
const WORD: u32 = 4;
const TEXT: u32 = 8;
/// Entry with the version of the blocks' layouts, and the version.
const QUANTIZATION: (&str, u32) = ("general.quantization_version", 2);

/// Entries of the metadata of a GGUF file, as their bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct GgufEntries {
    count: u64,
    bytes: Vec<u8>,
    alignment: u64,
}

fn with_length(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

impl GgufEntries {
    /// The entries of a model of this architecture, and no others.
    pub fn of_architecture(name: &str) -> GgufEntries {
        let mut bytes = with_length("general.architecture");
        bytes.extend(TEXT.to_le_bytes());
        bytes.extend(with_length(name));
        bytes.extend(with_length(QUANTIZATION.0));
        bytes.extend(WORD.to_le_bytes());
        bytes.extend(QUANTIZATION.1.to_le_bytes());
        GgufEntries { count: 2, bytes, alignment: gguf::ALIGNMENT }
    }

    /// All entries of the GGUF file at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or is malformed.
    pub fn read(path: &Path) -> Result<GgufEntries> {
        let (file, length): (File, u64) = text::open(path).map_err(|cause| wrong(path, &cause))?;
        let read = gguf::entries(std::io::BufReader::new(&file), length);
        let (count, end, alignment) = read.map_err(|cause| wrong(path, &cause))?;
        let start = (gguf::MAGIC.len() + 4 + 8 + 8) as u64;
        let mut bytes = vec![0; (end - start) as usize];
        places::read_at(&file, start, &mut bytes).map_err(|error| wrong(path, &format!("cannot be read: {error}")))?;
        Ok(GgufEntries { count, bytes, alignment })
    }
}

/// Makes the header of a file, the places of the arrays' data, and its length.
///
/// # Errors
/// A tensor that GGUF has no type or place for.
pub(super) fn layout(
    arrays: &[NewArray],
    entries: &GgufEntries,
) -> std::result::Result<(Vec<u8>, Vec<u64>, u64), String> {
    let mut header = [gguf::MAGIC, &VERSION.to_le_bytes(), &(arrays.len() as u64).to_le_bytes()].concat();
    header.extend(entries.count.to_le_bytes());
    header.extend(&entries.bytes);
    let (mut starts, mut end) = (Vec::new(), 0u64);
    for NewArray { name, shape, kind, bytes } in arrays {
        if name.len() > LONGEST_NAME || shape.len() > MOST_DIMENSIONS {
            return Err(format!(
                "'{name}' has {} dimensions and a name of {} bytes; GGUF files hold up to {MOST_DIMENSIONS} and {LONGEST_NAME}",
                shape.len(),
                name.len()
            ));
        }
        let number = gguf::number(*kind).ok_or_else(|| {
            let stored = kind.type_name();
            format!("'{name}' has the type {stored}, which GGUF files lack; name the tensors to convert by ‹tensor›")
        })?;
        header.extend(with_length(name));
        let extents: &[usize] = if shape.is_empty() { &[1] } else { shape };
        header.extend((extents.len() as u32).to_le_bytes());
        extents.iter().rev().for_each(|extent| header.extend((*extent as u64).to_le_bytes()));
        header.extend(number.to_le_bytes());
        header.extend(end.to_le_bytes());
        starts.push(end);
        end = (end + bytes).next_multiple_of(entries.alignment);
    }
    header.resize(header.len().next_multiple_of(entries.alignment as usize), 0);
    let start = header.len() as u64;
    starts.iter_mut().for_each(|place| *place += start);
    Ok((header, starts, start + end))
}

impl Content {
    /// Blocks of a type of GGUF; `None` for an unknown name.
    pub fn blocks(name: &str) -> Option<Content> {
        gguf::blocks_of(name)
    }
}
