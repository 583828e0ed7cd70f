//! Checkpoints of several files: a folder of safetensors files, or an index of tensors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::wrong;
use crate::{Result, base::text};

/// Name of the index in a folder, as the Hugging Face libraries write it.
pub(super) const INDEX: &str = "model.safetensors.index.json";
/// Size limit of an index, in bytes; one of a million tensors has about 100 MB.
const LONGEST_INDEX: u64 = 1 << 28;
/// Files of a checkpoint, at most: every one stays open.
const MOST_FILES: usize = 512;

/// The files of a checkpoint.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Shards {
    /// The files, by name.
    pub(super) files: Vec<PathBuf>,
    /// The file of each tensor that an index names.
    pub(super) named_in: BTreeMap<String, PathBuf>,
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The files of the folder or index at `path`; `None` if it is a file of arrays itself.
///
/// # Errors
/// A folder or index that cannot be read or names no files; names of files that lead out of its folder.
pub(super) fn of(path: &Path) -> Result<Option<Shards>> {
    if path.is_dir() {
        return match path.join(INDEX) {
            index if index.is_file() => indexed(&index).map(Some),
            _ => folder(path).map(Some),
        };
    }
    match path.extension().is_some_and(|end| end == "json") {
        true => indexed(path).map(Some),
        false => Ok(None),
    }
}

fn folder(path: &Path) -> Result<Shards> {
    let unreadable = |error: std::io::Error| wrong(path, &format!("cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let visible = file.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
        if visible && file.extension().is_some_and(|end| end == "safetensors") {
            files.push(file);
        }
    }
    files.sort();
    match files.len() {
        0 => Err(wrong(path, "the folder has no .safetensors file; name a file of it")),
        count if count > MOST_FILES => Err(wrong(
            path,
            &format!("the folder has {count} .safetensors files, more than {MOST_FILES}; name one of them"),
        )),
        _ => Ok(Shards { files, named_in: BTreeMap::new() }),
    }
}

fn indexed(path: &Path) -> Result<Shards> {
    let bytes = text::bytes(path, LONGEST_INDEX).map_err(|cause| wrong(path, &cause))?;
    let index: Index = serde_json::from_slice(&bytes).map_err(|error| {
        wrong(path, &format!("not an index of safetensors files (an object with the key weight_map): {error}"))
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut named_in = BTreeMap::new();
    for (tensor, file) in index.weight_map {
        if Path::new(&file).file_name().is_none_or(|name| name != file.as_str()) || !file.ends_with(".safetensors") {
            return Err(wrong(
                path,
                &format!(
                    "weight_map puts '{tensor}' into '{file}', which is not the name of a .safetensors file of its folder"
                ),
            ));
        }
        named_in.insert(tensor, folder.join(file));
    }
    let files: BTreeSet<PathBuf> = named_in.values().cloned().collect();
    match files.len() {
        0 => Err(wrong(path, "weight_map names no tensor")),
        count if count > MOST_FILES => {
            Err(wrong(path, &format!("weight_map names {count} files, more than {MOST_FILES}; name one of them")))
        }
        _ => Ok(Shards { files: files.into_iter().collect(), named_in }),
    }
}

/// Refuses tensors that two files have, and an index that names tensors which its files lack.
/// `tensors` has each tensor with the number of its file.
///
/// # Errors
/// The first such tensor, with its file.
pub(super) fn check<'a>(
    path: &Path,
    named_in: &BTreeMap<String, PathBuf>,
    files: &[PathBuf],
    tensors: impl Iterator<Item = (&'a str, usize)>,
) -> Result<()> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |file: &Path| file.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    for (tensor, file) in tensors {
        if let Some(other) = seen.insert(tensor, file) {
            let both = (name(&files[other]), name(&files[file]));
            return Err(wrong(
                path,
                &format!("tensor '{tensor}' is in {} and in {}; name one of the files", both.0, both.1),
            ));
        }
    }
    match named_in.iter().find(|(tensor, _)| !seen.contains_key(tensor.as_str())) {
        Some((tensor, file)) => {
            Err(wrong(path, &format!("weight_map puts '{tensor}' into {}, which has no such tensor", name(file))))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, ArrayFile, Arrays};
    use crate::format::find;

    fn write(path: &Path, names: &[&str]) {
        let array =
            |name: &&str| Array::of_codes(*name, vec![2], find("f32").unwrap(), vec![0, 0, 128, 63, 0, 0, 0, 64]);
        Arrays { arrays: names.iter().map(array).collect(), metadata: BTreeMap::new() }.write(path).unwrap();
    }

    fn names(path: &Path) -> Result<Vec<String>> {
        ArrayFile::open(path).map(|file| file.arrays.iter().map(|array| array.name.clone()).collect())
    }

    #[test]
    fn a_folder_and_its_index_are_one_file_of_tensors() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("2.safetensors"), &["c"]);
        write(&at("1.safetensors"), &["a", "b"]);
        assert_eq!(names(folder.path()).unwrap(), ["a", "b", "c"]);
        let index = r#"{"metadata": {"total_size": 24}, "weight_map": {"a": "1.safetensors", "c": "2.safetensors"}}"#;
        fs::write(at(INDEX), index).unwrap();
        assert_eq!(names(folder.path()).unwrap(), ["a", "b", "c"]);
        let file = ArrayFile::open(&at(INDEX)).unwrap();
        assert_eq!(file.array(&file.arrays[2]).unwrap().bytes[..], [0, 0, 128, 63, 0, 0, 0, 64]);
        assert!(file.path(&file.arrays[2]).ends_with("2.safetensors"));
    }

    #[test]
    fn a_tensor_of_two_files_is_the_one_that_the_index_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("1.safetensors"), &["a"]);
        write(&at("2.safetensors"), &["a", "b"]);
        let error = names(folder.path()).unwrap_err().to_string();
        assert!(error.contains("'a' is in 1.safetensors and in 2.safetensors"), "{error}");
        fs::write(at(INDEX), r#"{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}"#).unwrap();
        assert_eq!(names(folder.path()).unwrap(), ["a", "b"]);
    }

    #[test]
    fn what_is_no_checkpoint_of_several_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let refused = |path: &Path, part: &str| {
            let error = names(path).unwrap_err();
            assert_eq!(error.exit_status(), 2);
            assert!(error.to_string().contains(part), "{error}");
        };
        refused(folder.path(), "has no .safetensors file");
        write(&at("1.safetensors"), &["a"]);
        for (index, part) in [
            (r#"{"weight_map": {"b": "1.safetensors"}}"#, "which has no such tensor"),
            (r#"{"weight_map": {"a": "../1.safetensors"}}"#, "not the name of a .safetensors file"),
            (r#"{"weight_map": {"a": "/etc/passwd"}}"#, "not the name of a .safetensors file"),
            (r#"{"weight_map": {"a": "2.safetensors"}}"#, "cannot be read"),
            (r#"{"weight_map": {}}"#, "names no tensor"),
            (r#"{"weights": {}}"#, "weight_map"),
            ("[[[[", "not an index"),
        ] {
            fs::write(at("own.json"), index).unwrap();
            refused(&at("own.json"), part);
        }
    }
}
