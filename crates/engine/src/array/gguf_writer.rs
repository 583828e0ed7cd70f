//! GGUF files that are written: version 3, with the metadata of their input.
//!
//! Files that come from others have the least metadata that readers ask for.

use std::{collections::BTreeMap, fs::File, path::Path};

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
const REAL: u32 = 6;
const TEXT: u32 = 8;
/// Entry with the version of the blocks' layouts, and the version.
const QUANTIZATION: (&str, u32) = ("general.quantization_version", 2);

/// Types of tensors, each with the number of a file that is mostly of it, as `gguf` 0.19.0 has them.
const FILE_TYPES: [(&str, u32); 7] =
    [("F32", 0), ("F16", 1), ("Q4_0", 2), ("Q4_1", 3), ("Q8_0", 7), ("BF16", 32), ("MXFP4", 38)];

/// Entries of the metadata of a GGUF file, as their bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct GgufEntries {
    count: u64,
    bytes: Vec<u8>,
    alignment: u64,
    /// Place of the number of the file's type.
    file_type: Option<usize>,
}

fn with_length(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

impl GgufEntries {
    /// The entries of a model of this architecture, and no others.
    pub fn of_architecture(name: &str) -> GgufEntries {
        let mut entries = GgufEntries { count: 0, bytes: Vec::new(), alignment: gguf::ALIGNMENT, file_type: None };
        entries.push("general.architecture", TEXT, &with_length(name));
        entries.push_word(QUANTIZATION.0, QUANTIZATION.1);
        entries
    }

    fn push(&mut self, key: &str, kind: u32, value: &[u8]) {
        self.count += 1;
        self.bytes.extend([&with_length(key), &kind.to_le_bytes()[..], value].concat());
    }

    /// Adds a number without a sign.
    pub fn push_word(&mut self, key: &str, value: u32) {
        self.push(key, WORD, &value.to_le_bytes());
    }

    /// Adds a real number.
    pub fn push_real(&mut self, key: &str, value: f32) {
        self.push(key, REAL, &value.to_le_bytes());
    }

    /// Names the type that most values of the arrays have as the type of the file.
    ///
    /// Nothing changes if this is a type that is not written.
    pub fn set_file_type(&mut self, arrays: &[NewArray]) {
        let mut values: BTreeMap<String, usize> = BTreeMap::new();
        for array in arrays {
            *values.entry(array.kind.type_name()).or_default() += array.shape.iter().product::<usize>();
        }
        let most = values.into_iter().max_by_key(|(_, count)| *count);
        let Some((_, number)) = most.and_then(|(name, _)| FILE_TYPES.iter().find(|(known, _)| *known == name)) else {
            return;
        };
        match self.file_type {
            Some(place) => self.bytes[place..place + 4].copy_from_slice(&number.to_le_bytes()),
            None => self.push_word(gguf::FILE_TYPE, *number),
        }
    }

    /// All entries of the GGUF file at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or is malformed.
    pub fn read(path: &Path) -> Result<GgufEntries> {
        let (file, length): (File, u64) = text::open(path).map_err(|cause| wrong(path, &cause))?;
        let read = gguf::entries(std::io::BufReader::new(&file), length);
        let gguf::Entries { count, end, alignment, file_type } = read.map_err(|cause| wrong(path, &cause))?;
        let start = (gguf::MAGIC.len() + 4 + 8 + 8) as u64;
        let mut bytes = vec![0; (end - start) as usize];
        places::read_at(&file, start, &mut bytes).map_err(|error| wrong(path, &format!("cannot be read: {error}")))?;
        Ok(GgufEntries { count, bytes, alignment, file_type: file_type.map(|place| (place - start) as usize) })
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
