//! Reading a small text file whole.

use std::{fs::File, io::Read, path::Path};

use crate::{Error, Result};

/// The longest file that is read, in bytes: models, experiments and published tables have some thousand.
const LONGEST: u64 = 16 << 20;

/// The text of the file at `path`, which `what` describes in messages: `the model file`.
///
/// # Errors
/// A request error that names the file and the cause; files of more than 16 MiB (or without end) are refused.
pub(crate) fn read(path: &Path, what: &str) -> Result<String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(Error::request(format!("{what} {} cannot be read: {error}", path.display()))),
        Ok(length) if length as u64 > LONGEST => {
            Err(Error::request(format!("{what} {} has more than {} MiB", path.display(), LONGEST >> 20)))
        }
        Ok(_) => Ok(text),
    }
}
