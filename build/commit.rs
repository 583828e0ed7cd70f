//! The commit that the program is built from.

use std::{path::Path, process::Command};

/// What is part of the program: a change elsewhere leaves it as the commit has it.
const SOURCES: &[&str] = &[
    "build",
    "build.rs",
    "crates",
    "src",
    "blocks",
    "experiments",
    "kernels",
    "layouts",
    "literature",
    "models",
    "schedules",
    "schemes",
    "targets",
    "Cargo.toml",
    "Cargo.lock",
];

/// The commit in hexadecimal, with `-dirty` behind it where the sources differ from it; `unknown` where they are in no
/// repository (those of a package).
pub(crate) fn name() -> String {
    // A package can lie inside the repository of something else.
    let commit = git(&["ls-files", "--error-unmatch", "build.rs"]).and_then(|_| git(&["rev-parse", "HEAD"]));
    let Some(commit) = commit else { return "unknown".into() };
    watch();
    let status = git(&[&["status", "--porcelain", "--"], SOURCES].concat());
    let clean = status.is_some_and(|changes| changes.is_empty());
    if clean { commit } else { format!("{commit}-dirty") }
}

/// Builds again when another commit is checked out, or made.
fn watch() {
    // What the commit says is whether the sources are as it has them.
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let reference = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(reference.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name]);
        // Cargo takes a file that is missing for one that has changed.
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What git prints, without the last line feed; `None` if it is missing or refuses.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_string())
}
