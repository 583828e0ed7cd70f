//! Reading whole files that users give: regular files only, up to the size that their kind may have.

use std::{fs::File, io::Read, path::Path};

use crate::{Error, Result};

/// The longest model, experiment, format or table, in bytes: those that are shipped have some thousand.
const LONGEST: u64 = 16 << 20;
/// The longest report or checkpoint that is read, in bytes. Those that are written are shorter: a command lists up to
/// `MOST_LISTED` counterexamples (`verify`).
pub const LONGEST_RESULT: u64 = 1 << 30;

/// Opens a regular file, and says how many bytes it has: opening a pipe would wait for a writer, and a device has no end.
///
/// # Errors
/// What is wrong, without the name of the file.
pub fn open(path: &Path) -> std::result::Result<(File, u64), String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // Asked before it is opened.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("is not a regular file".into());
    }
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    Ok((file, length))
}

/// The bytes of a regular file, of which there may be `most`.
///
/// # Errors
/// What is wrong, without the name of the file.
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
    // Some files (under /proc) say that they have no bytes.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    match bytes.len() as u64 > most {
        true => too_long(),
        false => Ok(bytes),
    }
}

/// The text of the small file at `path`, which `what` describes in messages: `the model file`.
///
/// # Errors
/// A request error that names the file and the cause; files of more than 16 MiB, and anything but regular files, are refused.
pub fn read(path: &Path, what: &str) -> Result<String> {
    read_most(path, what, LONGEST)
}

/// The text of a report or a checkpoint, as [`read`].
///
/// # Errors
/// As [`read`], of more than [`LONGEST_RESULT`] bytes.
pub fn read_result(path: &Path, what: &str) -> Result<String> {
    read_most(path, what, LONGEST_RESULT)
}

fn read_most(path: &Path, what: &str, most: u64) -> Result<String> {
    let text = bytes(path, most)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "cannot be read: it is not text (UTF-8)".to_string()));
    text.map_err(|cause| Error::request(format!("{what} {} {cause}", path.display())))
}
