//! `tcnum report`.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::{integer, is_folder, output_path},
    shared::{Devices, Quiet},
};
use crate::{
    Error, Result,
    base::interrupt,
    document::{self, Fitted, Form, Measured, Results, Subject},
    experiment, format,
    report::{self, Report},
    tables,
};

const HELP: &str = "\
Examples:
  tcnum report reports/h200/verify/all.json reports/h200/chain-all.json --out h200.html
  tcnum report --paper --device ampere --device hopper --out appendix/
  tcnum report --paper --pages 10 --fmt f16,e4m3 --experiment figure-17 --device ampere --device hopper --out paper/
      a paper of ten pages, and the appendix as its supplement
More: docs/devices-and-results.md, docs/paper.md";

/// Makes one document of results: a page, a text or a paper, with tables and figures.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// Results, as --output json wrote them
    #[arg(value_name = "RESULT", required_unless_present = "devices", help_heading = "What")]
    results: Vec<PathBuf>,
    /// Appendix of a paper: published tables and figures, repeated
    #[arg(long, help_heading = "What")]
    paper: bool,
    /// With --paper: a paper of at most N pages; the appendix supplements it
    #[arg(long, value_name = "N", value_parser = integer(6..=100usize), requires = "paper", help_heading = "What")]
    pages: Option<usize>,
    /// With --paper: operand formats of its instructions [default: all]
    #[arg(long = "fmt", value_name = "FORMAT", value_delimiter = ',', requires = "paper", help_heading = "What")]
    formats: Vec<String>,
    /// With --paper: experiments of its chapters [default: the appendix's]
    #[arg(long = "experiment", value_name = "NAME", value_delimiter = ',', requires = "paper", help_heading = "What")]
    experiments: Vec<String>,
    #[command(flatten)]
    devices: Devices,
    /// Document: FILE.html, FILE.md, or FOLDER/ for a LaTeX project
    #[arg(long, value_name = "FILE", value_parser = output_path, required = true, help_heading = "Output")]
    out: PathBuf,
    #[command(flatten)]
    quiet: Quiet,
}

impl Arguments {
    /// The subject of a paper.
    ///
    /// # Errors
    /// Unknown formats or experiments.
    fn subject(&self) -> Result<Subject> {
        let known = |name: &&String| experiment::shipped().any(|shipped| shipped == name.as_str());
        if let Some(name) = self.experiments.iter().find(|name| !known(name)) {
            return Err(Error::request(format!(
                "--experiment {name}: not a shipped experiment; tcnum experiment --list has their names"
            )));
        }
        let formats = self.formats.iter().map(|name| format::find(name)).collect::<Result<_>>();
        Ok(Subject { formats: formats.map_err(|error| error.within("--fmt"))?, experiments: self.experiments.clone() })
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        None
    }
}

/// Makes the document.
///
/// # Errors
/// No result can be read; a device failed; the document cannot be written, or has another ending; an interruption before there is a result.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let form = match arguments.paper {
        true => Form::paper(&arguments.out)?,
        false => Form::of(&arguments.out, is_folder(&arguments.out))?,
    };
    let progress = Progress::quiet_if(*arguments.quiet);
    let declared = tables::declared();
    if let (false, Some(device)) = (arguments.paper, arguments.devices.first()) {
        return Err(Error::request(format!(
            "--device {device} needs --paper; `tcnum survey --device {device} --out FOLDER` measures a device and makes its page"
        )));
    }
    let subject = arguments.subject()?;
    let beside = arguments.pages.is_some() && arguments.devices.len() > 1;
    let commands = document::appendix_work(&arguments.devices, &subject, beside);
    let Measured { mut kept, mut wrong, interrupted, finished } = match &commands[..] {
        [] => Measured::default(),
        commands => document::measured(commands, &declared, &|stage| progress.at(stage))?,
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
    let failed = wrong.iter().filter(|error| matches!(error, Error::Device { .. })).count();
    let failed = (failed > 0).then(|| format!("the device failed in {failed} of {} commands", commands.len()));
    if kept.is_empty() {
        return Err(match failed {
            Some(failed) => Error::device(format!("{failed}, and there is no result, so no document was written")),
            None => Error::request("none of the results can be read, so no document was written"),
        });
    }
    let results = Results::new(kept);
    let mut document = document::compose(&results);
    let mut paper = arguments.pages.map(|pages| document::article(&results, &subject, pages));
    if let Some(by) = interrupted {
        let end = format!(
            "Interrupted by {}: this document covers the work done before it, {finished} of {} commands and part of the \
             next.",
            by.name(),
            commands.len()
        );
        super::warn(&Error::request(end.clone()));
        paper.iter_mut().for_each(|paper| paper.document.begin_with(end.clone()));
        document.begin_with(end);
    }
    if paper.as_ref().is_some_and(|paper| paper.is_longer) {
        super::warn(&Error::request("--pages: the shortest tables do not fit; the paper is longer"));
    }
    let lacks = !wrong.is_empty() || interrupted.is_some();
    let (out, kept) = form.place(&arguments.out, lacks, measured_some);
    if let Some(kept) = kept {
        let instead = out.as_ref().map_or(String::new(), |out| format!("; this document is {}", out.display()));
        super::warn(&Error::request(format!(
            "{} is not replaced, because this document lacks some of the results{instead}",
            kept.display()
        )));
    }
    if let Some(out) = out {
        match &paper {
            Some(Fitted { document: paper, .. }) => document::write_with_supplement(paper, &document, &out)?,
            None => form.write(&document, &out)?,
        }
    }
    report.holds = !lacks;
    report.interrupted = interrupted;
    match failed {
        Some(failed) if interrupted.is_none() => {
            Err(Error::device(format!("{failed}; the document lacks their results")))
        }
        _ => Ok(()),
    }
}
