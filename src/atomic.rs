//! Writing a file whole or not at all.

use std::{io::Write, path::Path};

use crate::{Error, Result};

/// Writes `bytes` to `path` by way of a temporary file in the same folder: afterwards there is either the old
/// file or the whole new one, and nothing else.
///
/// # Errors
/// A request error that names the path and the cause.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let whole = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    // The kind alone: the full text would name the temporary file.
    whole().map_err(|error| Error::request(format!("{} cannot be written: {}", path.display(), error.kind())))
}
