//! Output files written whole or not at all, at paths that the user named or that follow from others.

use std::{
    fs::{File, Permissions},
    io::{Error as IoError, ErrorKind, Seek, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::{early_sync::EarlySync, interrupt, places, special::Special};
use crate::{Error, Result};

/// Links followed in a row, at most, as on Linux.
const MOST_LINKS: usize = 40;

/// Writes `bytes` to `path`, which the user named, by a temporary file in the same folder.
/// Afterwards there is either the old file or the whole new one. A symbolic link stays; the file behind it is made, or
/// replaced with its permissions kept. Devices and pipes cannot be replaced and are written directly.
///
/// # Errors
/// A request error that names the path and the cause.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|error| unwritable(path, &error))
}

/// A kind of derived file (counterexamples, tables in a folder), which replaces only its own kind.
pub trait DerivedKind {
    /// Describes such a file: `a file of counterexamples`.
    fn description(&self) -> String;

    /// Returns true if this program wrote the regular file at `path`.
    fn is_of_kind(&self, path: &Path) -> bool;
}

/// Writes `bytes` to `path`, which the user did not name, as [`write()`] does.
///
/// # Errors
/// As [`write()`] and [`derivable`].
pub fn write_derived(path: &Path, kind: &dyn DerivedKind, bytes: &[u8]) -> Result<()> {
    derivable(path, kind)?;
    write(path, bytes)
}

/// Refuses a path with another kind of file. It is also called before the work.
///
/// # Errors
/// A request error that names the path and what would be lost.
pub fn derivable(path: &Path, kind: &dyn DerivedKind) -> Result<()> {
    let replaceable = match target(path).and_then(|target| target.metadata()) {
        Ok(about) => about.is_file() && kind.is_of_kind(path),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    match replaceable {
        true => Ok(()),
        false => Err(Error::request(format!(
            "{} is not {} that tcnum wrote, and would be lost; move it, or give the output another name",
            path.display(),
            kind.description()
        ))),
    }
}

/// Follows the links of a path, also to files that do not exist.
///
/// # Errors
/// Links without a target, or unreadable ones.
pub fn target(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..=MOST_LINKS {
        match path.symlink_metadata() {
            // A system link to an open pipe (/dev/stdout) has no name behind it.
            Ok(about) if about.is_symlink() && path.metadata().is_ok_and(|end| !end.is_file() && !end.is_dir()) => {
                return Ok(path);
            }
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
    if is_special(&target(path)?)? {
        return Special::open(path)?.write_all(bytes);
    }
    let file = NewFile::begin(path, bytes.len() as u64)?;
    file.write(0, bytes)?;
    file.finish()
}

/// Returns true for a device or a pipe, which cannot be replaced.
fn is_special(target: &Path) -> std::io::Result<bool> {
    match target.metadata() {
        Ok(about) => Ok(!about.is_file() && !about.is_dir()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file written piece by piece, by several threads, that replaces the old one at the end.
/// Until then it is invisible, and dropping it leaves nothing.
#[derive(Debug)]
pub(crate) struct ReplacingFile {
    path: PathBuf,
    file: NewFile,
}

impl ReplacingFile {
    /// Begins a file of `length` bytes at a path that the user named.
    ///
    /// # Errors
    /// A request error that names the path and the cause.
    pub(crate) fn begin(path: &Path, length: u64) -> Result<ReplacingFile> {
        let file = NewFile::begin(path, length).map_err(|error| unwritable(path, &error))?;
        Ok(ReplacingFile { path: path.to_path_buf(), file })
    }

    /// Writes bytes at a position of the file.
    ///
    /// # Errors
    /// As [`ReplacingFile::begin`].
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file.write(at, bytes).map_err(|error| unwritable(&self.path, &error))
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// As [`ReplacingFile::begin`].
    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish().map_err(|error| unwritable(&self.path, &error))
    }
}

/// Shows only the kind of error, whose full text names the temporary file.
/// Only an interruption ends a wait.
fn unwritable(path: &Path, error: &IoError) -> Error {
    match (error.kind(), interrupt::pending()) {
        (ErrorKind::WouldBlock, Some(by)) => return Error::Interrupted { by },
        (ErrorKind::WouldBlock, None) => {
            return Error::request(format!("{} cannot be written: nobody reads this pipe", path.display()));
        }
        _ => (),
    }
    Error::request(format!("{} cannot be written: {}", path.display(), error.kind()))
}

/// The temporary file and its destination.
#[derive(Debug)]
enum NewFile {
    Beside {
        file: NamedTempFile,
        target: PathBuf,
        permissions: Option<Permissions>,
        sync: Option<EarlySync>,
    },
    /// Copied to a device or a pipe at the end.
    Copied {
        file: File,
        path: PathBuf,
    },
}

impl NewFile {
    fn begin(path: &Path, length: u64) -> std::io::Result<NewFile> {
        let target = target(path)?;
        if is_special(&target)? {
            return Ok(NewFile::Copied { file: tempfile::tempfile()?, path: path.to_path_buf() });
        }
        // Beyond the limit, the system would end the program and leave the temporary file.
        if length > most_bytes() {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let permissions = target.metadata().ok().map(|old| old.permissions());
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder)?;
        let sync = EarlySync::of(file.as_file(), length);
        Ok(NewFile::Beside { file, target, permissions, sync })
    }

    fn write(&self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            NewFile::Beside { file, sync, .. } => {
                places::write_at(file.as_file(), at, bytes)?;
                sync.iter().for_each(|sync| sync.wrote(bytes.len() as u64));
                Ok(())
            }
            NewFile::Copied { file, .. } => places::write_at(file, at, bytes),
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            NewFile::Beside { file, target, permissions, sync } => {
                sync.map_or(Ok(()), EarlySync::finish)?;
                if let Some(permissions) = permissions {
                    file.as_file().set_permissions(permissions)?;
                }
                file.as_file().sync_all()?;
                file.persist(target)?;
                Ok(())
            }
            NewFile::Copied { mut file, path } => {
                file.rewind()?;
                std::io::copy(&mut file, &mut Special::open(&path)?).map(drop)
            }
        }
    }
}

/// Size limit of this process's files (`ulimit -f`), in bytes.
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
        // Also in a missing folder, and in a circle of links.
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
