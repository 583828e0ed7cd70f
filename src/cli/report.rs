//! `tcnum report`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    Progress,
    options::{is_folder, output_path},
};
use crate::{
    Error, Result,
    base::atomic::{self, DerivedKind},
    document::{self, Document, PaperFile, Results},
    report, tables,
};

/// Makes one document of kept results: a page, a text or a paper, with tables and figures.
///
/// Example: tcnum report reports/h200/verify/all.json reports/h200/chain-all.json --out h200.html
///
/// The document says which chip it is about, which instructions are native, what the arithmetic of each is, how that was proven, what
/// cannot be known, how it differs from its neighbours, its errors, and every command, seed and version. A result is what a command
/// wrote with --output json. One that cannot be read is left out: exit status 1. A document that is there is then not replaced.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// A result, as --output json --out FILE wrote it.
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// The document: FILE.html is a page that needs nothing else, FILE.md Markdown with its tables, FOLDER/ a LaTeX project.
    #[arg(long, value_name = "FILE", value_parser = output_path, required = true)]
    out: PathBuf,
    /// Print nothing but what is wrong: no progress on standard error.
    #[arg(short, long)]
    quiet: bool,
}

/// What a document is written as.
#[derive(Clone, Copy)]
enum Form {
    Page,
    Text,
    Paper,
}

impl Form {
    /// What the name of the document says.
    ///
    /// # Errors
    /// A request error: nothing that is known.
    fn of(path: &Path) -> Result<Form> {
        let ends = |ending: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        match () {
            () if is_folder(path) => Ok(Form::Paper),
            () if ends("html") => Ok(Form::Page),
            () if ends("md") => Ok(Form::Text),
            () => Err(Error::request(format!(
                "--out {}: a document is a page (.html), Markdown (.md) or a LaTeX project (a folder, which ends in /)",
                path.display()
            ))),
        }
    }
}

/// A file of a LaTeX project that this program wrote.
struct PaperKind;

impl DerivedKind for PaperKind {
    fn description(&self) -> String {
        "a file of a LaTeX project".into()
    }

    fn is_own(&self, path: &Path) -> bool {
        let begins = |bytes: &[u8]| [&b"% Made by tcnum"[..], b"%PDF-", b"@article"].iter().any(|own| bytes.starts_with(own));
        std::fs::read(path).is_ok_and(|bytes| begins(&bytes))
    }
}

/// Makes the document; the exit status.
///
/// # Errors
/// No result can be read; the document cannot be written, or has another ending.
pub(super) fn run(arguments: &Arguments) -> Result<u8> {
    let form = Form::of(&arguments.out)?;
    let progress = Progress::quiet_if(arguments.quiet);
    let declared = tables::declared();
    let (mut kept, mut wrong) = (Vec::new(), Vec::new());
    for path in &arguments.results {
        progress.step(&format!("reading {}", path.display()));
        match report::result(path, &declared) {
            Ok(result) => kept.push(result),
            Err(error) => wrong.push(error),
        }
    }
    progress.step("composing");
    drop(progress);
    wrong.iter().for_each(super::warn);
    if kept.is_empty() {
        return Err(Error::request("none of the results can be read; no document was written"));
    }
    let main = match form {
        Form::Paper => arguments.out.join("main.tex"),
        Form::Page | Form::Text => arguments.out.clone(),
    };
    if !wrong.is_empty() && main.exists() {
        let main = main.display();
        super::warn(&Error::request(format!("{main} stays as it was: this document would lack some of the results")));
        return Ok(1);
    }
    write(&document::compose(&Results::new(kept)), form, &arguments.out)?;
    Ok(u8::from(!wrong.is_empty()))
}

fn write(document: &Document, form: Form, out: &Path) -> Result<()> {
    match form {
        Form::Page => atomic::write(out, document::html(document).as_bytes()),
        Form::Text => atomic::write(out, document::markdown(document).as_bytes()),
        Form::Paper => paper(&document::paper(document), out),
    }
}

/// Writes the files of a LaTeX project; the main one last, so that it is there when all are.
fn paper(files: &[PaperFile], folder: &Path) -> Result<()> {
    files.iter().try_for_each(|file| atomic::derivable(&folder.join(&file.path), &PaperKind))?;
    for name in ["parts", "figures"] {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::request(format!("the folder {} cannot be made: {error}", folder.display())))?;
    }
    files.iter().try_for_each(|file| atomic::write(&folder.join(&file.path), &file.bytes))
}
