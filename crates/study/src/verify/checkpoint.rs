//! Checkpoints: files from which a campaign resumes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::campaign::{Part, Run};
use crate::{
    Error, Result,
    base::{atomic, text},
};

/// Version of the file.
const VERSION: u32 = 2;

/// A file with the state of a campaign.
/// It is replaced whole and is on disk when a write returns: whenever the program is killed, the file holds a state that the
/// campaign was in.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tcnum_checkpoint: u32,
    parts: Vec<Part>,
}

impl Checkpoint {
    /// Opens the checkpoint at `path` and reads its parts, or writes `parts` to a new one.
    ///
    /// # Errors
    /// A request error: a file that is not a checkpoint, or belongs to other runs. The file is left unchanged.
    pub fn open(path: &Path, parts: Vec<Part>) -> Result<(Checkpoint, Vec<Part>)> {
        let checkpoint = Checkpoint { path: path.into() };
        if !path.exists() {
            checkpoint.write(&parts)?;
            return Ok((checkpoint, parts));
        }
        let kept = read(path)?;
        let runs: Vec<&Run> = parts.iter().map(|part| &part.run).collect();
        if let Some(difference) = difference(&kept.iter().map(|part| &part.run).collect::<Vec<_>>(), &runs) {
            return Err(Error::request(format!(
                "the checkpoint {} belongs to another run: {difference}. The file is unchanged; name another file to begin a new run",
                path.display()
            )));
        }
        Ok((checkpoint, kept))
    }

    /// Replaces the content of the file.
    ///
    /// # Errors
    /// A request error that names the file and the cause; the old file is then untouched.
    pub fn write(&self, parts: &[Part]) -> Result<()> {
        let file = File { tcnum_checkpoint: VERSION, parts: parts.to_vec() };
        let mut text = serde_json::to_string_pretty(&file).expect("maps have text keys");
        text.push('\n');
        atomic::write(&self.path, text.as_bytes())
    }
}

/// Reads the parts of a checkpoint.
///
/// # Errors
/// A request error that names the file: unreadable, no checkpoint, or one that contradicts itself.
pub fn read(path: &Path) -> Result<Vec<Part>> {
    parse(&text::read_result(path, "the checkpoint")?, path)
}

/// Parses the text of the checkpoint at `path`.
///
/// # Errors
/// As [`read`].
pub(crate) fn parse(text: &str, path: &Path) -> Result<Vec<Part>> {
    let refused = |what: &dyn std::fmt::Display| {
        Error::request(format!("{} is not a checkpoint of `tcnum verify`: {what}", path.display()))
    };
    let file: File = serde_json::from_str(text).map_err(|error| refused(&error))?;
    if file.tcnum_checkpoint != VERSION {
        let version = file.tcnum_checkpoint;
        return Err(refused(&format!("its version is {version}, and only version {VERSION} can be read")));
    }
    if file.parts.is_empty() {
        return Err(refused(&"it has no part of a run"));
    }
    file.parts.iter().try_for_each(Part::check_whole).map_err(|error| refused(&error))?;
    Ok(file.parts)
}

/// The first difference between two lists of runs.
fn difference(kept: &[&Run], asked: &[&Run]) -> Option<String> {
    if kept.len() != asked.len() {
        return Some(format!("it holds {} instructions, and {} are chosen", kept.len(), asked.len()));
    }
    kept.iter()
        .zip(asked)
        .find_map(|(kept, asked)| kept.difference(asked))
        .map(|(key, there, here)| format!("{key} is {there} in the checkpoint and {here} in this run"))
}
