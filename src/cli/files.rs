//! The files of a command line: none that is written may be one that is read, or written twice.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command};

use super::options::is_folder;
use crate::{
    Error, Result,
    base::atomic::{self, DerivedKind},
    gemm::ArrayFile,
    report::{self, TableFile},
    tables,
};

/// The arguments that name a file to write.
const OUTPUTS: [&str; 12] = [
    "out",
    "also",
    "plot",
    "checkpoint",
    "counterexamples",
    "digests",
    "dot",
    "model_out",
    "schedule_out",
    "apart",
    "junit",
    "sarif",
];
/// The prefixes of a file's name in an argument that names a device.
const KINDS: [&str; 2] = ["model:", "trace:"];

/// Refuses a command that would write a file over one that it reads, or over another that it writes; `given` are the values
/// of its arguments.
///
/// # Errors
/// A request error that names the argument, the file and its other use.
pub(super) fn distinct(command: &Command, given: &ArgMatches) -> Result<()> {
    let ids = command.get_arguments().map(|argument| argument.get_id().as_str());
    let named: Vec<(&str, &OsStr)> = ids
        .filter_map(|id| Some((id, given.try_get_raw(id).ok()??)))
        .flat_map(|(id, values)| values.map(move |value| (id, value)))
        .collect();
    let values: Vec<&OsStr> = named.iter().map(|(_, value)| *value).collect();
    if let Some((_, folder)) = named.iter().find(|(id, path)| *id == "out" && is_folder(Path::new(path))) {
        for (path, kind) in table_files(Path::new(folder)) {
            apart(&path, &values)?;
            atomic::derivable(&path, &kind as &dyn DerivedKind)?;
        }
    }
    for (at, (output, path)) in named.iter().enumerate().filter(|(_, (id, _))| OUTPUTS.contains(id)) {
        let Some(file) = resolved(Path::new(path)) else { continue };
        let same = |(other, (_, value)): &(usize, &(&str, &OsStr))| {
            *other != at && resolved(&path_in(value)).as_ref() == Some(&file)
        };
        if let Some((_, (other, _))) = named.iter().enumerate().find(same) {
            let what = if OUTPUTS.contains(other) { "another file that is written" } else { "a file that is read" };
            return Err(Error::request(format!(
                "--{} {} names {what}, which would be lost; give it another name",
                output.replace('_', "-"),
                Path::new(path).display()
            )));
        }
    }
    Ok(())
}

/// The files that the tables of a report may be written to, in a folder.
fn table_files(folder: &Path) -> impl Iterator<Item = (PathBuf, TableFile)> {
    tables::declared()
        .into_iter()
        .map(|table| (folder.join(report::csv_name(table.key)), TableFile::new(&table.columns)))
}

/// Refuses to write to a path that the user did not name if that would overwrite a file that one of the arguments
/// names.
///
/// # Errors
/// A request error that names both.
pub(super) fn apart(path: &Path, used: &[&OsStr]) -> Result<()> {
    let Some(file) = resolved(path) else { return Ok(()) };
    match used.iter().find(|value| resolved(&path_in(value)).as_ref() == Some(&file)) {
        Some(other) => Err(Error::request(format!(
            "{} would be written too, and would be lost or take the place of {}; give that another name",
            path.display(),
            other.to_string_lossy()
        ))),
        None => Ok(()),
    }
}

/// The path in the value of an argument.
fn path_in(value: &OsStr) -> PathBuf {
    let text = value.to_string_lossy();
    match KINDS.iter().find_map(|kind| text.strip_prefix(kind)) {
        Some(path) => path.into(),
        // An array of a file.
        None => ArrayFile::parse(&text).path,
    }
}

/// The file that a path leads to, whether it exists or not; `None` for anything but a regular file, which nothing overwrites.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = &atomic::target(path).ok()?;
    match path.metadata() {
        Ok(about) => about.is_file().then(|| path.canonicalize().ok())?,
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        }
    }
}
