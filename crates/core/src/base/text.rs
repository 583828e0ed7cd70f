//! Reading of whole files that users name: regular files only, up to the size that their kind may have.

use std::{fs::File, io::Read, path::Path};

use crate::{Error, Result};

/// Size limit of a model, experiment, format or table, in bytes; shipped ones have a few thousand.
const LONGEST: u64 = 16 << 20;
/// Size limit of a report or checkpoint, in bytes.
/// Reports list at most `MOST_LISTED` counterexamples (`verify`) and stay below it.
pub const LONGEST_RESULT: u64 = 1 << 30;

/// Opens a regular file and returns its size in bytes; a pipe would block, and a device has no end.
///
/// # Errors
/// The cause, without the name of the file.
pub fn open(path: &Path) -> std::result::Result<(File, u64), String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // Tested before opening: opening a pipe waits for a writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("is not a regular file".into());
    }
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    Ok((file, length))
}

/// Bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// The cause, without the name of the file.
pub fn bytes(path: &Path, most: u64) -> std::result::Result<Vec<u8>, String> {
    let (file, length) = open(path)?;
    let too_long = || Err(format!("has more than {} MiB", most >> 20));
    if length > most {
        return too_long();
    }
    let mut bytes = Vec::new();
    let reserved = usize::try_from(length).ok().map(|length| bytes.try_reserve_exact(length));
    if !matches!(reserved, Some(Ok(()))) {
        return Err(format!("does not fit into memory ({length} bytes)"));
    }
    // Some files (under /proc) report a size of zero.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    match bytes.len() as u64 > most {
        true => too_long(),
        false => Ok(bytes),
    }
}

/// Text of the small file at `path`; `what` describes it in messages: `the model file`.
///
/// # Errors
/// A request error with the file and the cause: more than 16 MiB, or not a regular file.
pub fn read(path: &Path, what: &str) -> Result<String> {
    read_most(path, what, LONGEST)
}

/// Text of a report or a checkpoint, of at most [`LONGEST_RESULT`] bytes.
///
/// # Errors
/// Like [`read`].
pub fn read_result(path: &Path, what: &str) -> Result<String> {
    read_most(path, what, LONGEST_RESULT)
}

fn read_most(path: &Path, what: &str, most: u64) -> Result<String> {
    let text = bytes(path, most)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "cannot be read: it is not text (UTF-8)".to_string()));
    text.map_err(|cause| Error::request(format!("{what} {} {cause}", path.display())))
}
