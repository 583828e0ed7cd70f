//! Array files written piece by piece, whole or not at all: one, or shards with their index.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Container, Content, GgufEntries, gguf_writer, npy, safetensors, shards, wrong};
use crate::{
    Error, Result,
    base::atomic::{self, ReplacingFile},
};

/// Name of the file in a folder that holds all arrays.
const ONE_FILE: &str = "model.safetensors";

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

/// Files that a writer makes, besides their arrays.
#[derive(Debug, Clone, Default)]
pub struct FileHeading {
    /// Metadata.
    pub metadata: BTreeMap<String, String>,
    /// Metadata of a GGUF file.
    pub entries: Option<GgufEntries>,
    /// Most bytes of the arrays of a file, in a folder; a larger array has a file of its own.
    pub shard_bytes: Option<u64>,
}

/// A file of arrays under construction, or several, by any number of threads.
///
/// They appear when they are finished.
#[derive(Debug)]
pub struct ArrayWriter {
    files: Vec<ReplacingFile>,
    /// File of each array, and the first byte of its data.
    places: Vec<(usize, u64)>,
    /// Path and text of the index of several files.
    index: Option<(PathBuf, Vec<u8>)>,
}

impl ArrayWriter {
    /// Begins a file, or the files of a folder; the same arrays and metadata give the same bytes.
    ///
    /// # Errors
    /// A path that cannot be written; for `.npy`, not exactly one array, or more than 64 dimensions; names and metadata
    /// too long to be read again; a folder with other arrays.
    pub fn begin(path: &Path, arrays: &[NewArray], heading: &FileHeading) -> Result<ArrayWriter> {
        if path.is_dir() || path.extension().is_none() && path.to_string_lossy().ends_with('/') {
            return ArrayWriter::in_folder(path, arrays, heading);
        }
        let mut writer = ArrayWriter { files: Vec::new(), places: Vec::new(), index: None };
        writer.add(path, arrays, heading)?;
        Ok(writer)
    }

    fn in_folder(folder: &Path, arrays: &[NewArray], heading: &FileHeading) -> Result<ArrayWriter> {
        let limit = heading.shard_bytes.unwrap_or(u64::MAX);
        let (mut parts, mut bytes) = (Vec::from_iter(std::iter::once(0..0)), 0u64);
        for (at, array) in arrays.iter().enumerate() {
            bytes = bytes.saturating_add(array.bytes);
            match parts.last_mut() {
                Some(part) if bytes <= limit || part.start == part.end => part.end = at + 1,
                _ => {
                    parts.push(at..at + 1);
                    bytes = array.bytes;
                }
            }
        }
        let count = parts.len();
        let name = |number: usize| match count {
            1 => ONE_FILE.to_string(),
            _ => format!("model-{:05}-of-{count:05}.safetensors", number + 1),
        };
        let names: Vec<String> = (0..count).map(name).collect();
        fs::create_dir_all(folder).map_err(|error| wrong(folder, &format!("cannot be made: {error}")))?;
        let strange = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let strange = strange.filter_map(|name| name.into_string().ok()).find(|name| {
            let arrays = name.ends_with(".safetensors") && !names.contains(name);
            arrays || count == 1 && name == shards::INDEX
        });
        if let Some(name) = strange {
            return Err(wrong(
                folder,
                &format!("the folder holds '{name}', which would belong to the result; name another"),
            ));
        }
        let mut writer = ArrayWriter { files: Vec::new(), places: Vec::new(), index: None };
        for (part, name) in parts.iter().zip(&names) {
            writer.add(&folder.join(name), &arrays[part.clone()], heading)?;
        }
        if count > 1 {
            let of_array = parts.iter().zip(&names).flat_map(|(part, name)| part.clone().map(move |at| (at, name)));
            let map: BTreeMap<&str, &String> = of_array.map(|(at, name)| (arrays[at].name.as_str(), name)).collect();
            let total: u64 = arrays.iter().map(|array| array.bytes).sum();
            let index = json!({"metadata": {"total_size": total}, "weight_map": map});
            writer.index = Some((folder.join(shards::INDEX), format!("{index:#}\n").into_bytes()));
        }
        Ok(writer)
    }

    /// Begins one file more.
    fn add(&mut self, path: &Path, arrays: &[NewArray], heading: &FileHeading) -> Result<()> {
        let packed = |header: Vec<u8>, starts: Vec<u64>| {
            let length = header.len() as u64 + arrays.iter().map(|array| array.bytes).sum::<u64>();
            (header, starts, length)
        };
        let layout = match (Container::of(path)?, arrays) {
            (Container::Safetensors, _) => {
                safetensors::layout(arrays, &heading.metadata).map(|(header, starts)| packed(header, starts))
            }
            (Container::Gguf, _) => match &heading.entries {
                Some(entries) => gguf_writer::layout(arrays, entries),
                None => gguf_writer::layout(arrays, &GgufEntries::of_architecture("unknown")),
            },
            (Container::Npy, [array]) => npy::header(array).map(|header| {
                let start = header.len() as u64;
                packed(header, vec![start])
            }),
            (Container::Npy, arrays) => {
                Err(format!("an .npy file holds one array, and there are {}; write a .safetensors file", arrays.len()))
            }
        };
        let (header, starts, length) = layout.map_err(|cause| wrong(path, &cause))?;
        let file = ReplacingFile::begin(path, length)?;
        file.write(0, &header)?;
        // GGUF readers want the bytes after the last data, too.
        if Container::of(path)? == Container::Gguf && !arrays.is_empty() {
            file.write(length - 1, &[0])?;
        }
        self.places.extend(starts.into_iter().map(|start| (self.files.len(), start)));
        self.files.push(file);
        Ok(())
    }

    /// Writes bytes of array number `array` from its byte `first` on.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, array: usize, first: u64, bytes: &[u8]) -> Result<()> {
        let (file, start) = self.places[array];
        self.files[file].write(start + first, bytes)
    }

    /// Puts the completely written files in their places, the index last.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(self) -> Result<()> {
        self.files.into_iter().try_for_each(ReplacingFile::finish)?;
        match self.index {
            Some((path, text)) => atomic::write(&path, &text),
            None => Ok::<(), Error>(()),
        }
    }
}
