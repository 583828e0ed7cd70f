//! `tcnum report`.

mod measured;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Deserialize;

use super::{
    Progress,
    options::{device_name, is_folder, output_path},
};
use crate::{
    Error, Result,
    base::{
        atomic::{self, DerivedKind},
        interrupt,
    },
    device::cpu,
    document::{self, Document, PaperFile, Results},
    report, tables,
};
use measured::{Measured, measured};

/// Makes one document of kept results: a page, a text or a paper, with tables and figures.
///
/// Example: tcnum report --device model:hopper --preset quick --out hopper.html
///
/// Example: tcnum report reports/h200/verify/all.json reports/h200/chain-all.json --out h200.html
///
/// The document says which chip it is about, which instructions are native, what the arithmetic of each is, how that was proven, what
/// cannot be known, how it differs from its neighbours, its errors, and every command, seed and version. A result is what a command
/// wrote with --output json. One that cannot be read is left out: exit status 1. A document that is there is then not replaced.
/// A signal and --time-limit stop the command that runs on the device; the document covers the work done before, and says so.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// A result, as --output json --out FILE wrote it.
    #[arg(value_name = "RESULT", required_unless_present = "device")]
    results: Vec<PathBuf>,
    /// Run what a document needs on this device, beside the results that are named.
    #[arg(long, value_name = "DEVICE", value_parser = device_name)]
    device: Option<String>,
    /// How much is run: quick takes seconds, full minutes on a GPU and longer elsewhere.
    #[arg(long, value_name = "PRESET", default_value = "quick", requires = "device", value_parser = preset)]
    preset: Preset,
    /// The document: FILE.html is a page that needs nothing else, FILE.md Markdown with its tables, FOLDER/ a LaTeX project.
    #[arg(long, value_name = "FILE", value_parser = output_path, required = true)]
    out: PathBuf,
    /// Print nothing but what is wrong: no progress on standard error.
    #[arg(short, long)]
    quiet: bool,
}

/// The presets, as a TOML table.
const PRESETS: &str = include_str!("presets.toml");

/// What is run for a document.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    /// Commands without their device and output.
    commands: Vec<String>,
    /// Those for devices that have a cost: GPUs and this processor.
    #[serde(default)]
    timed: Vec<String>,
}

impl Preset {
    /// The commands for `device`.
    fn of(&self, device: &str) -> Vec<&str> {
        let timed = device == cpu::NAME || device.starts_with("cuda:");
        self.commands.iter().chain(self.timed.iter().filter(|_| timed)).map(String::as_str).collect()
    }
}

/// The preset of this name.
fn preset(name: &str) -> std::result::Result<Preset, String> {
    let mut all: BTreeMap<String, Preset> = toml::from_str(PRESETS).expect("the table is TOML");
    all.remove(name).ok_or_else(|| format!("the presets are {}", all.into_keys().collect::<Vec<_>>().join(" and ")))
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
        let begins =
            |bytes: &[u8]| [&b"% Made by tcnum"[..], b"%PDF-", b"@article"].iter().any(|own| bytes.starts_with(own));
        std::fs::read(path).is_ok_and(|bytes| begins(&bytes))
    }
}

/// Makes the document; the exit status.
///
/// # Errors
/// No result can be read; the document cannot be written, or has another ending; an interruption before there is a result.
pub(super) fn run(arguments: &Arguments) -> Result<u8> {
    let form = Form::of(&arguments.out)?;
    let progress = Progress::quiet_if(arguments.quiet);
    let declared = tables::declared();
    let commands = arguments.device.as_deref().map_or_else(Vec::new, |device| arguments.preset.of(device));
    let Measured { mut kept, mut wrong, interrupted } = match &arguments.device {
        Some(device) => measured(device, &commands, &declared, &progress)?,
        None => Measured::default(),
    };
    let measured_some = !kept.is_empty();
    match interrupted {
        // The document is made of what there is.
        Some(_) if measured_some => interrupt::answered(),
        _ => interrupt::check()?,
    }
    for path in &arguments.results {
        progress.step(&format!("reading {}", path.display()));
        match report::result(path, &declared) {
            Ok(result) => kept.push(result),
            Err(error) => wrong.push(error),
        }
        interrupt::check().or_else(|error| if measured_some { Ok(()) } else { Err(error) })?;
    }
    progress.step("composing");
    drop(progress);
    wrong.iter().for_each(super::warn);
    if kept.is_empty() {
        return Err(Error::request("none of the results can be read; no document was written"));
    }
    let mut document = document::compose(&Results::new(kept));
    if let Some((by, done)) = interrupted {
        document.begin_with(format!(
            "Interrupted by {}: this document covers the work done before it, {done} of {} commands and part of the next.",
            by.name(),
            commands.len()
        ));
    }
    let lacks = !wrong.is_empty() || interrupted.is_some();
    let main = |out: &Path| match form {
        Form::Paper => out.join("main.tex"),
        Form::Page | Form::Text => out.to_path_buf(),
    };
    let out = match lacks && main(&arguments.out).exists() {
        true => {
            let own = measured_some.then(|| partial(&arguments.out, &main));
            let kept = main(&arguments.out);
            let instead = own.as_ref().map_or(String::new(), |own| format!("; it is {}", own.display()));
            super::warn(&Error::request(format!(
                "{} stays as it was: this document would lack some of the results{instead}",
                kept.display()
            )));
            own
        }
        false => Some(arguments.out.clone()),
    };
    if let Some(out) = out {
        write(&document, form, &out)?;
    }
    Ok(interrupted.map_or(u8::from(lacks), |(by, _)| by.exit_status()))
}

/// Where a document that lacks results goes, in place of the one that is there: `FILE.partial.html`, or another that is free.
fn partial(out: &Path, main: &dyn Fn(&Path) -> PathBuf) -> PathBuf {
    let name = out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = out.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
    let numbered = |number: usize| match number {
        1 => format!("{name}.partial{ending}"),
        number => format!("{name}.partial-{number}{ending}"),
    };
    let mut paths = (1..).map(|number| out.with_file_name(numbered(number)));
    paths.find(|path| !main(path).exists()).expect("there is always another number")
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
