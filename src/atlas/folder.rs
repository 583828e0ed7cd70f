//! The folder of a site: a marker names the files that an atlas wrote, which the next one may replace.

use std::{
    collections::BTreeSet,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{COMMIT, Error, Result, VERSION, base::atomic};

/// Name of the marker.
const MARKER: &str = "tcnum-atlas.json";
/// Folders of a site.
const FOLDERS: [&str; 4] = ["generation", "format", "instruction", "claim"];

/// The marker of a site.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    /// Version and commit of the program.
    tcnum: String,
    commit: String,
    /// False for a site that is being written, or was interrupted.
    complete: bool,
    /// The files of the site.
    files: BTreeSet<String>,
}

/// A folder that may hold a site.
#[derive(Debug)]
pub(crate) struct SiteFolder {
    path: PathBuf,
    /// Files of the site that is there.
    earlier: BTreeSet<String>,
}

impl SiteFolder {
    /// Examines a folder, before any work.
    ///
    /// # Errors
    /// A request error: no folder, or one that holds other files than an earlier site.
    pub(crate) fn open(path: &Path) -> Result<SiteFolder> {
        let refused = |why: &str| {
            Err(Error::request(format!(
                "‹out={}›: {why}; name an empty or a new folder, or one that an earlier atlas made",
                path.display()
            )))
        };
        let mut entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(SiteFolder { path: path.into(), earlier: BTreeSet::new() });
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => return refused("this is a file"),
            Err(error) => return refused(&error.kind().to_string()),
        };
        match std::fs::read(path.join(MARKER)) {
            Ok(bytes) => match serde_json::from_slice::<Marker>(&bytes) {
                Ok(marker) if marker.files.iter().all(|file| is_plain(file)) => {
                    Ok(SiteFolder { path: path.into(), earlier: marker.files })
                }
                _ => refused(&format!("its {MARKER} is not one that tcnum wrote")),
            },
            Err(_) if entries.next().is_none() => Ok(SiteFolder { path: path.into(), earlier: BTreeSet::new() }),
            Err(_) => refused("it is not empty, and no atlas made it"),
        }
    }

    /// Writes a site: each file whole, its marker first and last.
    ///
    /// # Errors
    /// A request error: another file has the name of a page, or a file cannot be written.
    pub(crate) fn write(&self, files: &[(String, Vec<u8>)], complete: bool) -> Result<()> {
        let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
        if let Some(other) = names.iter().find(|name| !self.earlier.contains(*name) && self.path.join(name).exists()) {
            return Err(Error::request(format!(
                "{} is not a file that an atlas wrote, and would be lost; move it, or give ‹out› another folder",
                self.path.join(other).display()
            )));
        }
        let folders = FOLDERS.iter().filter(|folder| names.iter().any(|name| name.starts_with(*folder)));
        for folder in std::iter::once(self.path.clone()).chain(folders.map(|folder| self.path.join(folder))) {
            std::fs::create_dir_all(&folder)
                .map_err(|error| Error::request(format!("the folder {} cannot be made: {error}", folder.display())))?;
        }
        // Until all is written, the marker names the files of both sites.
        self.mark(&names.union(&self.earlier).cloned().collect(), false)?;
        files.iter().try_for_each(|(name, bytes)| atomic::write(&self.path.join(name), bytes))?;
        for gone in self.earlier.difference(&names) {
            // A page that the reader removed is gone already.
            let _ = std::fs::remove_file(self.path.join(gone));
        }
        self.mark(&names, complete)
    }

    fn mark(&self, files: &BTreeSet<String>, complete: bool) -> Result<()> {
        let marker = Marker { tcnum: VERSION.into(), commit: COMMIT.into(), complete, files: files.clone() };
        let mut text = serde_json::to_string_pretty(&marker).expect("names are text");
        text.push('\n');
        atomic::write(&self.path.join(MARKER), text.as_bytes())
    }
}

/// True if a name stays in the folder of a site.
fn is_plain(file: &str) -> bool {
    let parts: Vec<Component> = Path::new(file).components().collect();
    (1..=2).contains(&parts.len()) && parts.iter().all(|part| matches!(part, Component::Normal(_)))
}
