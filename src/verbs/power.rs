//! `tcnum power`: what recordings, or a run, decide of a model.

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::recording_file,
    select::Selection,
    shared::{ArithmeticModel, Cases, SeedIfGiven, with_default},
};
use crate::{
    Error, Result,
    arithmetic::Model,
    device::DeviceName,
    power,
    report::Report,
    rule::{self, RefutingData},
};

/// Cases where no number is given.
const DEFAULT_CASES: u64 = 1_000_000;

const HELP: &str = "\
Examples:
  tcnum power --model hopper --instr mma.m16n8k16.f32.bf16.bf16.f32 --cases 1e5
      what a campaign decides
  tcnum power --model volta v100_f16_f16.safetensors
      what a recording decides
More: docs/power.md";

/// Finds the one-step changes of a model that recordings, or N cases, refute.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("cases", |option| with_default(option, "1e6").conflicts_with("files")))]
#[command(mut_arg("seed", |option| option.conflicts_with("files")))]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    model: ArithmeticModel,
    /// Recordings that decide, in place of drawn cases
    #[arg(value_name = "TRACE", conflicts_with_all = ["instructions", "formats", "all"], help_heading = "Inputs")]
    files: Vec<String>,
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    seed: SeedIfGiven,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Runs the command.
///
/// # Errors
/// Unknown names, a file that is not a recording, a model that does not cover an instruction.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let model = Model::load(&arguments.model)?;
    let progress = Progress::new(&arguments.destination);
    let sources = sources(arguments, &progress)?;
    progress.step(&format!("changing the rules of {}", model.name));
    let mut tested = Vec::new();
    let outcome = rule::refute(&model, &sources, &mut tested, &mut |stage| progress.at(stage));
    report.seed = arguments.files.is_empty().then_some(arguments.seed.unwrap_or(0));
    power::tables::report(&model, &tested, &sources, report);
    outcome
}

/// The data: the recordings that are named, or the stream of each instruction.
fn sources(arguments: &Arguments, progress: &Progress) -> Result<Vec<RefutingData>> {
    if !arguments.files.is_empty() {
        let files: Vec<String> = arguments.files.iter().map(|file| recording_file(file)).collect();
        return RefutingData::read(&files, &mut |stage| progress.at(stage));
    }
    if arguments.selection.is_empty() {
        return Err(Error::request("no data are named; give recordings, or instructions with --instr, --fmt or --all"));
    }
    let model = DeviceName::Model(arguments.model.to_string());
    let (seed, cases) = (arguments.seed.unwrap_or(0), arguments.cases.unwrap_or(DEFAULT_CASES));
    let chosen = arguments.selection.instructions(&[], Some(&model))?;
    Ok(chosen.iter().map(|instruction| RefutingData::stream(instruction, seed, cases)).collect())
}
