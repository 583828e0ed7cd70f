//! Finding data files, and writing tables of them, for the build scripts of `tcnum`.
//!
//! In the repository, folders of data (`models/`, `kernels/`) are at its root, where readers look for them. In a package they are
//! inside of it: `tools/package` puts them there. Nothing is promised to others.

use std::{env, fs, path::PathBuf};

/// A data file.
pub struct File {
    /// Path from the root of the package, for messages: `models/hopper.toml`.
    pub path: String,
    /// Name in the program: the file's name without its extension.
    pub name: String,
    /// The text.
    pub text: String,
}

impl File {
    /// Reads one file of data.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &str) -> Result<File, String> {
        let place = within(path);
        watch([&place[..]]);
        Ok(File { path: path.into(), name: path.into(), text: read(&place)? })
    }

    /// Error `what` at the byte `at` of the file: `models/hopper.toml:12: what`.
    pub fn error(&self, at: usize, what: &str) -> String {
        self.error_in(1 + self.text[..at.min(self.text.len())].matches('\n').count(), what)
    }

    /// Error `what` in a line of the file.
    pub fn error_in(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// Rust expression of the file's text.
    /// It names no folder of this machine, so that a package moved together with its build finds its files.
    pub fn included(&self) -> String {
        let path = format!("/{}", within(&self.path));
        format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))")
    }

    /// Error of a file that its reader refuses.
    pub fn refused(&self, error: &toml::de::Error) -> String {
        self.error(error.span().map_or(0, |span| span.start), &error.message().replace('\n', " "))
    }
}

/// Files of a folder with one of the extensions, by name; none if the folder does not exist.
pub fn files(folder: &str, extensions: &[&str]) -> Result<Vec<File>, String> {
    let place = within(folder);
    if !root().join(&place).is_dir() {
        return Ok(Vec::new());
    }
    watch([&place[..]]);
    let failed = |error: std::io::Error| format!("{folder}: {error}");
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(&place)).map_err(failed)? {
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
            files.push(File { path: format!("{folder}/{file}"), name, text });
        }
    }
    files.sort_by(|x, y| x.name.cmp(&y.name));
    Ok(files)
}

/// Rust expression of the names and texts of files, in their order.
pub fn table(files: &[File]) -> String {
    let row = |file: &File| format!("    ({:?}, {}),\n", file.name, file.included());
    format!("&[\n{}]\n", files.iter().map(row).collect::<String>())
}

/// Writes a table to the place from which the program includes it.
pub fn write(name: &str, text: &str) -> Result<(), String> {
    let path = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?).join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Text of a file of the package.
pub fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Rebuilds when one of these files or folders changes.
pub fn watch<'a>(paths: impl IntoIterator<Item = &'a str>) {
    paths.into_iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
}

/// Path of a file or folder of data from the package's root: inside of the package, or in the repository that the package is in.
fn within(path: &str) -> String {
    let inside = root().join(path).exists() || !root().join("../../Cargo.toml").exists();
    if inside { path.into() } else { format!("../../{path}") }
}

/// Current root of the package: a compiled build script is reused after the package moves.
fn root() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}
