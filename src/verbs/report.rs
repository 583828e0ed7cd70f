//! `tcnum report`.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::{device_name, is_folder, output_path},
};
use crate::{
    Error, Result,
    base::interrupt,
    device::DeviceName,
    document::{self, Form, Measured, Preset, Results},
    report::{self, Report},
    tables,
};

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
    device: Option<DeviceName>,
    /// How much is run: quick takes seconds, full minutes on a GPU and longer elsewhere.
    #[arg(long, value_name = "PRESET", default_value = "quick", requires = "device", value_parser = Preset::parse)]
    preset: Preset,
    /// The document: FILE.html is a page that needs nothing else, FILE.md Markdown with its tables, FOLDER/ a LaTeX project.
    #[arg(long, value_name = "FILE", value_parser = output_path, required = true)]
    out: PathBuf,
    /// Print nothing but what is wrong: no progress on standard error.
    #[arg(short, long)]
    quiet: bool,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        None
    }
}

/// Makes the document.
///
/// # Errors
/// No result can be read; the document cannot be written, or has another ending; an interruption before there is a result.
pub(super) fn run(arguments: &Arguments, own: &mut Report) -> Result<()> {
    let form = Form::of(&arguments.out, is_folder(&arguments.out))?;
    let progress = Progress::quiet_if(arguments.quiet);
    let declared = tables::declared();
    let commands = arguments.device.as_ref().map_or_else(Vec::new, |device| arguments.preset.of(device));
    let Measured { mut kept, mut wrong, interrupted } = match &arguments.device {
        Some(device) => document::measured(&device.to_string(), &commands, &declared, &|stage| progress.at(stage))?,
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
    let out = match lacks && form.main(&arguments.out).exists() {
        true => {
            let own = measured_some.then(|| form.partial(&arguments.out));
            let kept = form.main(&arguments.out);
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
        form.write(&document, &out)?;
    }
    own.holds = !lacks;
    own.interrupted = interrupted.map(|(by, _)| by);
    Ok(())
}
