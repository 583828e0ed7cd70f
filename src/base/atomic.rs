//! Writing a file whole or not at all: one that the user named, or one whose name follows from another.

use std::{
    io::{Error as IoError, ErrorKind, Write},
    path::{Path, PathBuf},
};

use crate::{Error, Result};

/// The most links that are followed one after the other, as on Linux.
const MOST_LINKS: usize = 40;

/// Writes `bytes` to `path`, which the user named as this output, by way of a temporary file in the same folder: afterwards
/// there is either the old file or the whole new one, and nothing else. A symbolic link stays, and the file it leads to is
/// made, or replaced, keeping its permissions; anything but a regular file (a device, a pipe) is written to directly, since it cannot be replaced.
///
/// # Errors
/// A request error that names the path and the cause.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    // The kind alone: the full text would name the temporary file.
    replace(path, bytes)
        .map_err(|error| Error::request(format!("{} cannot be written: {}", path.display(), error.kind())))
}

/// A kind of file whose names follow from others (counterexamples beside a report, tables in a folder): such a file takes the
/// place of nothing but a file of the same kind.
pub(crate) trait DerivedKind {
    /// What such a file is: `a file of counterexamples`.
    fn description(&self) -> String;

    /// Whether the regular file at `path` is one that this program wrote.
    fn is_own(&self, path: &Path) -> bool;
}

/// Writes `bytes` to `path`, whose name the user did not give, as [`write`].
///
/// # Errors
/// As [`write`] and [`derivable`].
pub(crate) fn write_derived(path: &Path, kind: &dyn DerivedKind, bytes: &[u8]) -> Result<()> {
    derivable(path, kind)?;
    write(path, bytes)
}

/// Refuses a path at which there is something else than a file of this kind: asked before the work, too.
///
/// # Errors
/// A request error that names the path and says what would be lost.
pub(crate) fn derivable(path: &Path, kind: &dyn DerivedKind) -> Result<()> {
    let own = match target(path).and_then(|target| target.metadata()) {
        Ok(about) => about.is_file() && kind.is_own(path),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    match own {
        true => Ok(()),
        false => Err(Error::request(format!(
            "{} is not {} that tcnum wrote, and would be lost; move it, or give the output another name",
            path.display(),
            kind.description()
        ))),
    }
}

/// The path that a path leads to: links are followed, also those to files that do not exist.
///
/// # Errors
/// Links that lead nowhere, or that cannot be read.
pub(crate) fn target(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..=MOST_LINKS {
        match path.symlink_metadata() {
            Ok(about) if about.is_symlink() => {
                let link = path.read_link()?;
                path.pop();
                path.push(link);
            }
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(IoError::other("too many symbolic links"))
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let target = target(path)?;
    let old = match target.metadata() {
        Ok(about) => Some(about),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_dir()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    // Beyond the limit the system would end the program, and leave the temporary file behind.
    if bytes.len() as u64 > most_bytes() {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}

/// The most bytes that the system lets a file of this process have (`ulimit -f`).
fn most_bytes() -> u64 {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    #[cfg(not(unix))]
    let limit = None;
    limit.unwrap_or(u64::MAX)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        os::unix::fs::{FileTypeExt, PermissionsExt, symlink},
        process::Command,
    };

    use super::*;

    #[test]
    fn a_link_stays_and_its_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_that_leads_to_nothing_stays_and_its_file_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link, first) = (folder.path().join("file"), folder.path().join("link"), folder.path().join("first"));
        symlink("file", &link).unwrap();
        symlink(&link, &first).unwrap();
        write(&first, b"new").unwrap();
        assert!([&link, &first].iter().all(|link| fs::symlink_metadata(link).unwrap().is_symlink()));
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        // In a folder that is not there, and in a circle.
        symlink("nowhere/file", folder.path().join("beyond")).unwrap();
        symlink("circle", folder.path().join("circle")).unwrap();
        for name in ["beyond", "circle"] {
            write(&folder.path().join(name), b"new").unwrap_err();
            assert!(fs::symlink_metadata(folder.path().join(name)).unwrap().is_symlink());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_pipe_is_written_to_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write(&pipe, b"text").unwrap();
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), "text");
    }
}
