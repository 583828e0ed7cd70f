//! Documents as files and folders.

use std::path::{Path, PathBuf};

use super::{Document, PaperFile, html, markdown, paper, paper_with_supplement};
use crate::{
    Error, Result,
    base::atomic::{self, DerivedKind},
};

/// The form of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A page of HTML.
    Page,
    /// Markdown.
    Text,
    /// A folder with a LaTeX project.
    Paper,
}

impl Form {
    /// The form by the ending of a name.
    ///
    /// # Errors
    /// A request error: no form has such a name.
    pub(crate) fn of(path: &Path, is_folder: bool) -> Result<Form> {
        let ends = |ending: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending));
        match () {
            () if is_folder => Ok(Form::Paper),
            () if ends("html") => Ok(Form::Page),
            () if ends("md") => Ok(Form::Text),
            () => Err(Error::request(format!(
                "‹out={}›: a document is a page (.html), Markdown (.md) or a LaTeX project (a folder, which ends in /)",
                path.display()
            ))),
        }
    }

    /// The form of an appendix, which is a folder.
    ///
    /// # Errors
    /// A request error: the name belongs to a file.
    pub(crate) fn paper(path: &Path) -> Result<Form> {
        match path.extension().filter(|_| !path.is_dir() && !path.to_string_lossy().ends_with('/')) {
            Some(_) => Err(Error::request(format!(
                "‹out={}›: ‹paper› makes a LaTeX project, which is a folder: ‹out=FOLDER/›",
                path.display()
            ))),
            None => Ok(Form::Paper),
        }
    }

    /// The main file of the document at a path.
    fn main(self, out: &Path) -> PathBuf {
        match self {
            Form::Paper => out.join("main.tex"),
            Form::Page | Form::Text => out.to_path_buf(),
        }
    }

    /// A free path next to `out`: `FILE.partial.html`, `FILE.partial-2.html`.
    fn partial(self, out: &Path) -> PathBuf {
        let name = out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let ending = out.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
        let numbered = |number: usize| match number {
            1 => format!("{name}.partial{ending}"),
            number => format!("{name}.partial-{number}{ending}"),
        };
        let mut paths = (1..).map(|number| out.with_file_name(numbered(number)));
        paths.find(|path| !self.main(path).exists()).expect("there is always another number")
    }

    /// The path for a document, and the file at `out` that a document that lacks results must not replace.
    pub(crate) fn place(self, out: &Path, lacks: bool, keep: bool) -> (Option<PathBuf>, Option<PathBuf>) {
        match self.main(out) {
            kept if lacks && kept.exists() => (keep.then(|| self.partial(out)), Some(kept)),
            _ => (Some(out.into()), None),
        }
    }

    /// Writes a document.
    ///
    /// # Errors
    /// A file or a folder cannot be written, or is somebody else's.
    pub(crate) fn write(self, document: &Document, out: &Path) -> Result<()> {
        match self {
            Form::Page => atomic::write(out, html(document).as_bytes()),
            Form::Text => atomic::write(out, markdown(document).as_bytes()),
            Form::Paper => write_paper(&paper(document), out),
        }
    }
}

/// Writes a paper and its supplement as one LaTeX project.
///
/// # Errors
/// As [`Form::write`].
pub(crate) fn write_with_supplement(paper: &Document, supplement: &Document, folder: &Path) -> Result<()> {
    write_paper(&paper_with_supplement(paper, supplement), folder)
}

/// A file of a LaTeX project that this program wrote.
struct PaperKind;

impl DerivedKind for PaperKind {
    fn description(&self) -> String {
        "a file of a LaTeX project".into()
    }

    fn is_of_kind(&self, path: &Path) -> bool {
        let marks = [&b"% Made by tcnum"[..], b"# Made by tcnum", b"<!-- Made by tcnum", b"%PDF-", b"@article"];
        let begins = |bytes: &[u8]| marks.iter().any(|mark| bytes.starts_with(mark));
        std::fs::read(path).is_ok_and(|bytes| begins(&bytes))
    }
}

/// Writes the files of a LaTeX project; the main file last, so that it exists once all do.
fn write_paper(files: &[PaperFile], folder: &Path) -> Result<()> {
    files.iter().try_for_each(|file| atomic::derivable(&folder.join(&file.path), &PaperKind))?;
    for name in ["parts", "figures"] {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::request(format!("the folder {} cannot be made: {error}", folder.display())))?;
    }
    files.iter().try_for_each(|file| atomic::write(&folder.join(&file.path), &file.bytes))
}
