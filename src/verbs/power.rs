//! `tcnum power`: what recordings, or a run, decide of a model.

use std::path::Path;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::{cases, integer, model_name, recording_file},
    select::Selection,
};
use crate::{
    Error, Result,
    arithmetic::Model,
    device::DeviceName,
    power::{self, RefutingData},
    report::{Report, Verdict},
    trace::Trace,
    verify::MOST_CASES,
};

/// Cases where no number is given.
const DEFAULT_CASES: u64 = 1_000_000;

/// Tells which one-step changes of a model's rules are refuted by recordings, or by a run of N cases, and which survive.
///
/// Example: tcnum power --model volta v100_f16_f16.safetensors
///
/// Example: tcnum power --model hopper --instr mma.m16n8k16.f32.bf16.bf16.f32 --cases 1e6
///
/// A change gives one key of a rule another value: a bit more or less, another rounding, another group. It is refuted by the
/// first output that it contradicts; one that survives is not decided by the data; one that cannot be observed makes no difference for any
/// operands. Exit status 1 if an output contradicts the model as it is.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Recordings: their outputs decide.
    #[arg(value_name = "TRACE", conflicts_with_all = ["instructions", "formats", "all"])]
    files: Vec<String>,
    /// The model: a shipped name or a file.
    #[arg(long, value_name = "MODEL", value_parser = model_name, default_value = "hopper")]
    model: String,
    /// Cases of the verification stream for each instruction, rounded up to whole tiles. [default: 1e6]
    #[arg(long, value_name = "N", value_parser = cases(MOST_CASES), conflicts_with = "files")]
    cases: Option<u64>,
    /// Seed of the stream. [default: 0]
    #[arg(long, value_name = "N", value_parser = integer(0..=u64::MAX), conflicts_with = "files")]
    seed: Option<u64>,
    /// Output flags.
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
    let outcome = power::power(&model, &sources, &mut tested, &mut |stage| progress.at(stage));
    report.seed = arguments.files.is_empty().then_some(arguments.seed.unwrap_or(0));
    report.answer = power::answer(&model, &tested);
    for rule in &tested {
        report.notes.extend(rule.refuted.map(|place| {
            format!(
                "Rule {} is refuted as it is, by {} at tile {}, row {}, column {}: nothing follows for its changes.",
                rule.rule.index + 1,
                sources[place.source].name,
                place.tile,
                place.row,
                place.column
            )
        }));
    }
    report.holds = tested.iter().all(|rule| rule.refuted.is_none());
    report.verdict = Verdict::Refuted;
    use power::tables::{changes, decisions, rules};
    let all = rules(&tested, &sources);
    let standing: Vec<_> = tested.into_iter().filter(|rule| rule.refuted.is_none()).collect();
    report.tables = vec![all, decisions(&standing), changes(&standing, &sources)];
    outcome
}

/// The data: the recordings that are named, or the stream of each instruction.
fn sources(arguments: &Arguments, progress: &Progress) -> Result<Vec<RefutingData>> {
    if !arguments.files.is_empty() {
        let read = |file: &String| {
            progress.step(&format!("reading {file}"));
            let file = &recording_file(file);
            Ok(RefutingData::recorded(file, Trace::read(Path::new(file))?))
        };
        return arguments.files.iter().map(read).collect();
    }
    let Selection { instructions, formats, all } = &arguments.selection;
    if instructions.is_empty() && formats.is_empty() && !all {
        return Err(Error::request(
            "nothing can decide: name recordings, or instructions with --instr, --fmt or --all",
        ));
    }
    let model = DeviceName::Model(arguments.model.clone());
    let (seed, cases) = (arguments.seed.unwrap_or(0), arguments.cases.unwrap_or(DEFAULT_CASES));
    let chosen = arguments.selection.instructions(&[], Some(&model))?;
    Ok(chosen.iter().map(|instruction| RefutingData::stream(instruction, seed, cases)).collect())
}
