//! `tcnum coverage`: what a run or a recording exercises.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    OutputDestination, Progress, Verb, invocation,
    options::{Timeout, cases, output_file, safetensors},
    shared::{Cases, ComparedModel, OneDevice, OneInstruction, Seed, with_default},
};
use crate::{
    Error, Result,
    base::atomic,
    coverage::{self, Coverage, CoveredCases, tables},
    device::{self, DEFAULT_MODEL, Generation, selection},
    isa,
    report::Report,
    trace::Trace,
};

/// Cases where no number is given.
const DEFAULT_CASES: u64 = 100_000;
/// Most inputs of a search.
const MOST_SEARCHED: u64 = 1 << 40;

const HELP: &str = "\
Examples:
  tcnum coverage --instr mma.m16n8k16.f32.f16.f16.f32 --device hopper --cases 1e5
      what a run of `tcnum verify` with this seed exercises
  tcnum coverage --device trace:h100.safetensors --lcov coverage.info
      a recording; the file is for tools of continuous integration
  tcnum coverage --instr NAME --model hopper --holes holes.safetensors
      inputs for the holes, which `tcnum verify holes.safetensors --device D` executes
More: docs/coverage.md";

/// Counts the classes of cases that a run or a recording exercises at each step.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("cases", |option| with_default(option, "1e5")))]
pub(super) struct Arguments {
    #[command(flatten)]
    instruction: OneInstruction,
    #[command(flatten)]
    model: ComparedModel,
    #[command(flatten)]
    device: OneDevice,
    #[command(flatten)]
    timeout: Timeout,
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    seed: Seed,
    /// Inputs to try for classes without a case; 0 for no search
    #[arg(long, value_name = "N", default_value = "1e5", value_parser = searched, help_heading = "Limits")]
    search: u64,
    /// List every class with its cases, not the holes alone
    #[arg(long, help_heading = "Output")]
    classes: bool,
    /// Write the coverage as an LCOV tracefile
    #[arg(long, value_name = "FILE", value_parser = output_file, help_heading = "Output")]
    lcov: Option<PathBuf>,
    /// Write inputs that fill holes as a recording of the model
    #[arg(long, value_name = "FILE.safetensors", value_parser = safetensors, help_heading = "Output")]
    holes: Option<PathBuf>,
    #[command(flatten)]
    destination: OutputDestination,
}

/// Reads the number of inputs of a search.
fn searched(text: &str) -> std::result::Result<u64, String> {
    if text == "0" { Ok(0) } else { cases(MOST_SEARCHED)(text) }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Classifies, and searches for the holes.
///
/// # Errors
/// Unknown names; no instruction, or one with a recording; a model that does not cover it; a file that cannot be read or written.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    let recording = arguments.device.as_ref().and_then(|device| device.trace().map(String::from));
    let (mut coverage, covered) = match recording {
        Some(file) => recorded(arguments, &file, report)?,
        None => drawn(arguments, report)?,
    };
    let outcome = coverage.count(&covered, &mut |stage| progress.at(stage));
    let outcome = outcome.and_then(|()| {
        progress.step("searching for inputs of classes without a case");
        coverage.fill(*arguments.seed, arguments.search)
    });
    if coverage.counts.cases == 0 {
        return outcome;
    }
    report.answer = Some(coverage::answer(&coverage)?);
    if coverage.counts.differing > 0 {
        report.notes.push(format!(
            "The model gives other results than {} of {} recorded ones, and the classes follow its computation.",
            coverage.counts.differing, coverage.counts.cases
        ));
    }
    report.tables = vec![tables::summary(&coverage), tables::holes(&coverage)];
    if arguments.classes {
        report.tables.push(tables::classes(&coverage));
    }
    let written = write(arguments, &coverage, report);
    outcome.and(written)
}

/// The cases of a recording.
fn recorded(arguments: &Arguments, file: &str, report: &mut Report) -> Result<(Coverage, CoveredCases)> {
    if let Some(name) = &*arguments.instruction {
        return Err(Error::request(format!(
            "--instr {name}: the recording {file} names its instruction; leave it out"
        )));
    }
    if arguments.cases.is_some() {
        return Err(Error::request(format!("--cases: all cases of the recording {file} are classified; leave it out")));
    }
    let trace = Trace::read(Path::new(file))?;
    let model = match &*arguments.model {
        Some(named) => named.clone(),
        None => {
            let (model, note) = Generation::of_recording(&trace.metadata).model(file)?;
            report.notes.extend(note);
            model
        }
    };
    let coverage = Coverage::new(&model, &trace.instruction)?;
    Ok((coverage, CoveredCases::Recording(Box::new(trace))))
}

/// The cases of a run.
fn drawn(arguments: &Arguments, report: &mut Report) -> Result<(Coverage, CoveredCases)> {
    let Some(name) = &*arguments.instruction else {
        return Err(Error::request(
            "no instruction is named; give --instr NAME, or a recording with --device trace:FILE",
        ));
    };
    let instruction = isa::resolve(name)?;
    let model = match (&*arguments.model, &*arguments.device) {
        (Some(named), _) => named.clone(),
        (None, None) => DEFAULT_MODEL.into(),
        (None, Some(device)) => {
            let mut device = device::open(Some(device), arguments.timeout.duration())?;
            report.device = Some(device.identity().clone());
            let (model, _, note) = selection::model(None, device.as_mut(), std::slice::from_ref(&instruction))?;
            report.notes.extend(note);
            model
        }
    };
    let (seed, cases) = (*arguments.seed, arguments.cases.unwrap_or(DEFAULT_CASES));
    report.seed = Some(seed);
    Ok((Coverage::new(&model, &instruction)?, CoveredCases::Stream { seed, cases }))
}

/// Writes the files that are named.
fn write(arguments: &Arguments, coverage: &Coverage, report: &mut Report) -> Result<()> {
    if let Some(file) = &arguments.lcov {
        atomic::write(file, coverage::lcov(coverage).as_bytes()).map_err(|error| error.within("--lcov"))?;
    }
    if let Some(file) = &arguments.holes {
        match coverage.recording(&invocation())? {
            Some(trace) => trace.write(file).map_err(|error| error.within("--holes"))?,
            None => report.notes.push(format!("{}: not written, since no input fills a hole.", file.display())),
        }
    }
    Ok(())
}
