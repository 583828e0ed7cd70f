//! The folder of a survey: results, model files, recordings and a page. A marker names the device.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, VERSION, base::atomic, device::Identity};

/// Name of the marker.
const MARKER: &str = "tcnum-survey.json";
/// Folder of the counterexamples.
const WITNESSES: &str = "witnesses";

/// The marker of a survey.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    /// Version of the program.
    tcnum: String,
    /// The device, as it was named.
    device: String,
    /// Its description.
    description: String,
}

/// The folder of a survey.
#[derive(Debug)]
pub(super) struct SurveyFolder {
    path: PathBuf,
    earlier: Option<Marker>,
}

impl SurveyFolder {
    /// Examines a folder, before any work.
    ///
    /// # Errors
    /// A request error: a file, or a folder with other files than those of a survey.
    pub(super) fn examine(path: &Path) -> Result<SurveyFolder> {
        let path = path.to_path_buf();
        let refused = |why: &str| {
            Err(Error::request(format!(
                "‹out={}›: {why}; name an empty or a new folder, or one that an earlier survey made",
                path.display()
            )))
        };
        let mut entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(SurveyFolder { path, earlier: None }),
            Err(error) if error.kind() == ErrorKind::NotADirectory => return refused("this is a file"),
            Err(error) => return refused(&error.kind().to_string()),
        };
        match std::fs::read(path.join(MARKER)) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(marker) => Ok(SurveyFolder { path, earlier: Some(marker) }),
                Err(_) => refused(&format!("its {MARKER} is not one that tcnum wrote")),
            },
            Err(_) if entries.next().is_none() => Ok(SurveyFolder { path, earlier: None }),
            Err(_) => refused("it is not empty, and no survey made it"),
        }
    }

    /// Makes the folder, with its marker.
    ///
    /// # Errors
    /// A request error: it holds the survey of another device, or cannot be made.
    pub(super) fn claim(&self, device: &Identity) -> Result<()> {
        let name = device.name.to_string();
        if let Some(other) = self.earlier.as_ref().filter(|marker| marker.description != device.description) {
            return Err(Error::request(format!(
                "‹out={}›: it holds the survey of {} ({}), and this one is of {name} ({}); name another folder",
                self.path.display(),
                other.device,
                other.description,
                device.description
            )));
        }
        let folder = self.path.join(WITNESSES);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::request(format!("the folder {} cannot be made: {error}", folder.display())))?;
        let marker = Marker { tcnum: VERSION.into(), device: name, description: device.description.clone() };
        let mut text = serde_json::to_string_pretty(&marker).expect("names are text");
        text.push('\n');
        atomic::write(&self.path.join(MARKER), text.as_bytes())
    }

    /// The path of a file.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path in words.
    pub(super) fn text(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a file; false if its bytes are there already.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let file = self.file(name);
        if std::fs::read(&file).is_ok_and(|before| before == bytes) {
            return Ok(false);
        }
        atomic::write(&file, bytes)?;
        Ok(true)
    }

    /// Removes the results of a step.
    pub(super) fn forget(&self, step: &str) {
        let numbered =
            |name: &str| name.strip_prefix(step).and_then(|rest| rest.strip_suffix(".json")).map(str::to_string);
        let is_of_step =
            |rest: String| rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok());
        for entry in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if numbered(&entry.file_name().to_string_lossy()).is_some_and(is_of_step) {
                // A result that the reader removed is gone already.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}
