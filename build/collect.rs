//! Finding data files, and writing tables of them.

use std::{env, fs, path::PathBuf};

/// A data file.
pub(crate) struct File {
    /// Path from the root of the package, for messages: `models/hopper.toml`.
    pub path: String,
    /// Name in the program: the file's name without its extension.
    pub name: String,
    pub text: String,
}

impl File {
    /// Error `what` at the byte `at` of the file: `models/hopper.toml:12: what`.
    pub(crate) fn error(&self, at: usize, what: &str) -> String {
        self.error_in(1 + self.text[..at.min(self.text.len())].matches('\n').count(), what)
    }

    /// Error `what` in a line of the file.
    pub(crate) fn error_in(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// Rust expression of the file's text.
    /// It names no folder of this machine, so that a package moved together with its build finds its files.
    pub(crate) fn included(&self) -> String {
        format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))", format!("/{}", self.path))
    }

    /// Error of a file that its reader refuses.
    pub(crate) fn refused(&self, error: &toml::de::Error) -> String {
        self.error(error.span().map_or(0, |span| span.start), &error.message().replace('\n', " "))
    }
}

/// Files of a folder with one of the extensions, by name; none if the folder does not exist.
pub(crate) fn files(folder: &str, extensions: &[&str]) -> Result<Vec<File>, String> {
    if !root().join(folder).is_dir() {
        return Ok(Vec::new());
    }
    watch([folder]);
    let failed = |error: std::io::Error| format!("{folder}: {error}");
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let part = |part: Option<&std::ffi::OsStr>| part.map(|name| name.to_string_lossy().into_owned());
        let (Some(file), Some(stem), Some(extension)) =
            (part(path.file_name()), part(path.file_stem()), part(path.extension()))
        else {
            continue;
        };
        // Hidden files are backups and locks of editors.
        if extensions.contains(&extension.as_str()) && !file.starts_with('.') {
            let text = fs::read_to_string(&path).map_err(|error| format!("{folder}/{file}: {error}"))?;
            let name = if extension == "toml" { stem } else { file.clone() };
            found.push(File { path: format!("{folder}/{file}"), name, text });
        }
    }
    found.sort_by(|x, y| x.name.cmp(&y.name));
    Ok(found)
}

/// Writes a table to the place from which the program includes it.
pub(crate) fn write(name: &str, text: &str) -> Result<(), String> {
    let path = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?).join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Text of a file of the package.
pub(crate) fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Rebuilds when one of these files or folders changes.
pub(crate) fn watch<'a>(paths: impl IntoIterator<Item = &'a str>) {
    paths.into_iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
}

/// Current root of the package: a compiled build script is reused after the package moves.
fn root() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}
