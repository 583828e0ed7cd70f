//! Scripts run by Node.js.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tcnum::atlas::calculator::EVALUATOR;

use crate::machine::{Need, has_tool};

/// Folder of a test, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("atlas").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Result of scripts after the evaluator, in this order, or `None` and a printed line without Node.js.
/// The last one prints the result.
///
/// # Panics
/// If a script fails.
pub(crate) fn run(name: &str, scripts: &[(&str, &str)]) -> Option<String> {
    if !has_tool("node", Need::Node) {
        return None;
    }
    let folder = folder(name);
    let mut files = Vec::new();
    for (file, text) in [("evaluator.js", EVALUATOR)].iter().chain(scripts) {
        files.push(folder.join(file));
        fs::write(folder.join(file), text).unwrap();
    }
    let run = Command::new("node")
        .args(["--max-old-space-size=4096", "-e", "for (const file of process.argv.slice(1)) require(file)"])
        .args(files)
        .output()
        .unwrap();
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap().trim().to_string())
}
