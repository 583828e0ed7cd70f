//! `tcnum verify`: a device, or recordings, against a model.

use std::{borrow::Cow, ffi::OsStr, path::PathBuf};

use clap::{Args, ValueEnum};

use super::{
    Bar, OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    files,
    gates::Gates,
    invocation,
    named::named,
    options::{Timeout, file_or_folder, integer, output_file, recording_file, shard},
    select::{self, Selection},
    shared::{AnyNan, Available, Cases, ComparedModel, Devices, SeedIfGiven, with_default},
};
use crate::{
    Error, Result,
    base::atomic,
    classes::ClassFamily,
    comparison::Nans,
    device::{self, DeviceName},
    inputs::Sequence,
    isa::Instruction,
    report::Report,
    trace::TraceKind,
    verify::{
        Campaign, CampaignProgress, CampaignRequest, CounterexampleFiles, campaign,
        chosen::{self, ChosenRequest},
        condition::Condition,
        random,
        recordings::{self, RecordingsRequest, VerifiedRecordings},
        tables,
    },
};

/// Options of whole campaigns, which do not go with chosen cases.
const CHOSEN_WITHOUT: [&str; 4] = ["exhaustive", "shard", "checkpoint", "counterexamples"];

/// Chosen cases where no number is given.
const CHOSEN_CASES: u64 = 10_000;

const HELP: &str = "\
Examples:
  tcnum verify --instr mma.m16n8k16.f32.f16.f16.f32 --device hopper --model ampere --cases 1e5
      a campaign: drawn operands, executed and compared
  tcnum verify --device trace:h100.safetensors --model hopper
      recorded outputs against a model
  tcnum verify counterexamples.safetensors --device exec:./unit --model hopper
      recorded operands, executed again: a regression suite
  tcnum verify --instr NAME --device cuda:0 --cases 1e12 --shard 1/4 --checkpoint s1 --out p1.json
      a quarter of a run; the same command resumes it, `tcnum merge p*.json` joins the parts
More: docs/verification.md";

/// Compares a device, or recordings, with an arithmetic model, in every bit.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("cases", |option| with_default(option, "1e6").conflicts_with("exhaustive")))]
#[command(mut_arg("seed", |option| option.conflicts_with("exhaustive")))]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    model: ComparedModel,
    #[command(flatten)]
    any_nan: AnyNan,
    #[command(flatten)]
    available: Available,
    #[command(flatten)]
    devices: Devices,
    #[command(flatten)]
    timeout: Timeout,
    /// Recordings to compare with the model; with --device, to execute again
    #[arg(value_name = "FILE|FOLDER", help_heading = "Inputs")]
    files: Vec<String>,
    #[command(flatten)]
    cases: Cases,
    /// All operands of an operation: multiply takes all pairs of codes
    #[arg(long, value_name = "OPERATION", help_heading = "Inputs")]
    exhaustive: Option<Exhaustive>,
    /// Position along k of exhaustive multiplications
    #[arg(long, value_name = "K", default_value_t = 0, requires = "exhaustive", help_heading = "Inputs")]
    position: usize,
    /// Classes of `tcnum coverage`, one of which every case has
    #[arg(long, value_name = "FAMILY,...", value_delimiter = ',', value_parser = named::<ClassFamily>())]
    #[arg(conflicts_with_all = CHOSEN_WITHOUT, help_heading = "Inputs")]
    regime: Vec<ClassFamily>,
    /// Condition that holds for every case: "exponent(a[0]) > 10"
    #[arg(long = "where", value_name = "CONDITION", conflicts_with_all = CHOSEN_WITHOUT, help_heading = "Inputs")]
    condition: Option<String>,
    #[command(flatten)]
    seed: SeedIfGiven,
    /// Random bits that the unit draws itself [default: those of the model]
    #[arg(long, value_name = "BITS", value_parser = integer(1..=32u32), conflicts_with_all = ["exhaustive", "shard", "checkpoint", "counterexamples"], help_heading = "Inputs")]
    random_bits: Option<u32>,
    /// Part I of N of the run; `tcnum merge` merges the parts
    #[arg(long, value_name = "I/N", value_parser = shard, help_heading = "Inputs")]
    shard: Option<(u64, u64)>,
    /// File that keeps the state of the run, to resume from
    #[arg(long, value_name = "FILE", value_parser = output_file, help_heading = "Output")]
    checkpoint: Option<PathBuf>,
    /// File or folder for counterexamples, as traces [default: next to --out]
    #[arg(long, value_name = "FILE", value_parser = file_or_folder, help_heading = "Output")]
    counterexamples: Option<PathBuf>,
    #[command(flatten)]
    gates: Gates,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
    /// Causes of mismatches to list for each result
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = integer(0..=1_000_000u64), help_heading = "Limits")]
    max_mismatches: u64,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Exhaustive {
    Multiply,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("rates of campaigns (--instr, --fmt, --all)", !self.selection.is_empty())))
    }

    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        Some((&self.gates, None))
    }
}

/// Runs the command.
///
/// # Errors
/// Unknown names, a device or a model that lacks an instruction, a device that fails, a file that is not what it should be.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if !arguments.selection.is_empty() {
        return run_campaign(arguments, report);
    }
    let given = [
        ("--cases", arguments.cases.is_some()),
        ("--exhaustive", arguments.exhaustive.is_some()),
        ("--seed", arguments.seed.is_some()),
        ("--shard", arguments.shard.is_some()),
        ("--checkpoint", arguments.checkpoint.is_some()),
        ("--random-bits", arguments.random_bits.is_some()),
        ("--regime", !arguments.regime.is_empty()),
        ("--where", arguments.condition.is_some()),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Error::request(format!("{flag} needs an instruction; give --instr, --fmt or --all")));
    }
    let device = executing(arguments)?;
    let recorded = arguments.devices.iter().filter_map(|device| device.trace().map(String::from));
    let files = arguments.files.iter().map(|file| recording_file(file));
    let request = RecordingsRequest {
        files: recordings::files(recorded.chain(files))?,
        model: (*arguments.model).clone(),
        keep: arguments.max_mismatches as usize,
        nans: Nans::from(*arguments.any_nan),
        timeout: arguments.timeout.duration(),
    };
    let progress = Progress::new(&arguments.destination);
    let mut device = device.map(|name| device::open(Some(name), request.timeout)).transpose()?;
    let mut verified = VerifiedRecordings::default();
    let outcome = match &mut device {
        None => verified.compare(&request, &mut |stage| progress.at(stage)),
        Some(device) => verified.execute(&request, device.as_mut(), &mut |stage| progress.at(stage)),
    };
    verified.report(&request, device.as_deref(), report);
    outcome
}

/// The device that executes recorded operands again, if one is named.
fn executing(arguments: &Arguments) -> Result<Option<&DeviceName>> {
    let mut devices = arguments.devices.iter().filter(|device| device.trace().is_none());
    let Some(name) = devices.next() else { return Ok(None) };
    if arguments.files.is_empty() && arguments.devices.len() == 1 {
        return Err(Error::request(format!(
            "'{name}': no instruction is named; give --instr INSTRUCTION --cases N, or files of recordings to execute again"
        )));
    }
    match devices.next() {
        Some(other) => Err(Error::request(format!(
            "{name} and {other} are named, and one device executes recordings again; name one"
        ))),
        None => Ok(Some(name)),
    }
}

fn run_campaign(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let default = arguments.selection.device(&[], arguments.devices.first());
    let instructions = arguments.selection.instructions(&[], Some(&default))?;
    if let Some(file) = arguments.files.first() {
        return Err(Error::request(format!(
            "{file}: --instr, --fmt and --all do not go with recordings; leave them out, or the file"
        )));
    }
    let seed = arguments.seed.unwrap_or(0);
    if !arguments.regime.is_empty() || arguments.condition.is_some() {
        return run_chosen(arguments, &instructions, &default, report);
    }
    let sequence = match arguments.exhaustive {
        Some(Exhaustive::Multiply) => Sequence::Multiply { position: arguments.position },
        None => Sequence::Random { seed },
    };
    let mut request = CampaignRequest {
        instructions,
        devices: Vec::new(),
        sequence,
        timeout: arguments.timeout.duration(),
        model: (*arguments.model).clone(),
        cases: *arguments.cases,
        max_mismatches: arguments.max_mismatches,
        shard: arguments.shard,
        any_nan: *arguments.any_nan,
        available: *arguments.available,
        checkpoint: arguments.checkpoint.clone(),
    };
    request.check()?;
    if request.instructions.len() > 1 && arguments.counterexamples.as_ref().is_some_and(|file| !file.is_dir()) {
        return Err(Error::request(
            "--counterexamples: several instructions are chosen, and a file holds one; give a folder that exists",
        ));
    }
    let files = counterexample_files(arguments);
    check_counterexample_files(arguments, &files, &request)?;
    request.devices = campaign::devices(&arguments.devices)?;
    let mut device = device::open(Some(request.devices.first().unwrap_or(&default)), request.timeout)?;
    report.seed = arguments.exhaustive.is_none().then_some(seed);
    random::verify_all(&mut request, arguments.random_bits, device.as_mut(), report)?;
    if request.instructions.is_empty() {
        return Ok(());
    }
    let mut campaign = Campaign::new(request, device.as_mut())?;
    let progress = Progress::new(&arguments.destination);
    let mut bar = None;
    let outcome = campaign.run(device.as_mut(), &mut |now| match now {
        CampaignProgress::Stage(what) => progress.step(what),
        CampaignProgress::Estimate(what) => progress.announce(what),
        CampaignProgress::Begun { instruction, tiles, done, outputs } => {
            bar = Some(Bar::new(&progress, instruction, tiles, done, outputs));
        }
        CampaignProgress::Compared { done, differing } => bar.iter().for_each(|bar| bar.show(done, differing)),
    });
    let comparing: f64 = campaign.parts.iter().map(|part| part.state.seconds).sum();
    progress.note(&format!("comparing: {comparing:.1} seconds"));
    device.preparation().iter().for_each(|preparation| progress.note(&preparation.times()));
    tables::campaign(report, &campaign, device.as_ref())?;
    if outcome.is_ok() && campaign.parts.iter().all(|part| part.state.compared() == 0) {
        match campaign.is_empty_shard() {
            true => report.notes.push("Nothing was compared: this part of the run is empty.".into()),
            false => select::nothing(report, device.as_ref()),
        }
    }
    outcome.and(campaign.write_counterexamples(device.as_mut(), &files, &invocation(), &mut report.notes))
}

/// Compares chosen cases of one instruction.
fn run_chosen(
    arguments: &Arguments,
    instructions: &[Instruction],
    default: &DeviceName,
    report: &mut Report,
) -> Result<()> {
    let [instruction] = instructions else {
        return Err(Error::request("--regime and --where choose cases of one instruction; name one with --instr"));
    };
    let names = campaign::devices(&arguments.devices)?;
    if names.len() > 1 {
        return Err(Error::request("--regime and --where: one device executes chosen cases; name one"));
    }
    let read = |text: &String| Condition::read(text, instruction);
    let request = ChosenRequest {
        instruction: instruction.clone(),
        families: arguments.regime.clone(),
        condition: arguments.condition.as_ref().map(read).transpose()?,
        cases: arguments.cases.unwrap_or(CHOSEN_CASES),
        seed: arguments.seed.unwrap_or(0),
        model: (*arguments.model).clone(),
        keep: arguments.max_mismatches as usize,
        nans: Nans::from(*arguments.any_nan),
    };
    let mut device = device::open(Some(names.first().unwrap_or(default)), arguments.timeout.duration())?;
    let progress = Progress::new(&arguments.destination);
    chosen::verify(&request, device.as_mut(), report, &mut |stage| progress.at(stage))
}

/// Where counterexamples go: --counterexamples, else next to the result.
fn counterexample_files(arguments: &Arguments) -> CounterexampleFiles {
    match (&arguments.counterexamples, &arguments.destination.out) {
        (Some(folder), _) if folder.is_dir() => CounterexampleFiles::Folder(folder.clone()),
        (Some(file), _) => CounterexampleFiles::Named(file.clone()),
        // Nothing lies next to a folder, a pipe or a device.
        (None, Some(_)) if arguments.destination.folder().is_some() => CounterexampleFiles::Nowhere,
        (None, Some(out)) if out.metadata().is_ok_and(|about| !about.is_file()) => CounterexampleFiles::Nowhere,
        (None, Some(out)) => CounterexampleFiles::NextTo(out.clone()),
        (None, None) => CounterexampleFiles::Nowhere,
    }
}

/// Refuses, before the work, files of counterexamples that would take the place of another file.
fn check_counterexample_files(
    arguments: &Arguments,
    counterexamples: &CounterexampleFiles,
    request: &CampaignRequest,
) -> Result<()> {
    if matches!(counterexamples, CounterexampleFiles::Named(_)) {
        return Ok(());
    }
    let paths = arguments.checkpoint.iter().chain(&arguments.destination.out).map(|path| path.as_os_str());
    let names: Vec<String> = arguments.devices.iter().map(DeviceName::to_string).collect();
    let used: Vec<&OsStr> = paths.chain(names.iter().chain(&*arguments.model).map(OsStr::new)).collect();
    for path in request.instructions.iter().filter_map(|instruction| counterexamples.of(instruction)) {
        files::apart(&path, &used)?;
        atomic::derivable(&path, &TraceKind::Counterexamples)?;
    }
    Ok(())
}
