//! A device against a model, on operands that are drawn here.

use std::time::{Duration, Instant};

use super::{
    super::{Bar, Progress, invocation},
    Arguments,
};
use crate::{
    Error, Result,
    arithmetic::Model,
    device::{self, Device, Work, cuda},
    inputs::Sequence,
    report::Report,
    verify::{Part, Run, State, checkpoint::Checkpoint, drive, drive_all, engine, tables},
};

/// How often a checkpoint is written.
const KEEP_EVERY: Duration = Duration::from_secs(1);
/// Cases, where nothing says how many.
const DEFAULT_CASES: u64 = 1_000_000;
/// The name that stands for every GPU.
const ALL_GPUS: &str = "cuda:all";

/// Compares.
///
/// # Errors
/// As the command.
pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let instructions = arguments.selection.instructions(&[], arguments.devices.first().map(String::as_str))?;
    if let Some(file) = arguments.files.first() {
        return Err(Error::request(format!(
            "{file}: recordings are compared as they are, so --instr, --fmt and --all do not go with them"
        )));
    }
    let model = Model::load(&arguments.model)?;
    let names = devices(&arguments.devices)?;
    let timeout = Duration::from_secs(arguments.timeout);
    let mut device = device::open(names.first().map(String::as_str), timeout)?;
    let mut report = Report::new("verify", invocation());
    report.seed = arguments.exhaustive.is_none().then_some(arguments.seed.unwrap_or(0));
    let mut parts = Vec::new();
    for instruction in &instructions {
        let execution = match device.prepare(instruction) {
            Err(error) if arguments.available && error.exit_status() == 2 => {
                report.notes.push(error.to_string());
                continue;
            }
            outcome => outcome?,
        };
        let cases = Some(arguments.cases.unwrap_or(DEFAULT_CASES));
        let mismatches = arguments.max_mismatches;
        let mut run = Run::new(instruction, device.as_ref(), &model, sequence(arguments), cases, mismatches)?;
        (run.shard, run.shards) = arguments.shard.unwrap_or((1, 1));
        parts.push(Part::new(run, device.identity(), &execution)?);
    }
    let checkpoint = match &arguments.checkpoint {
        Some(path) => {
            let (checkpoint, kept) = Checkpoint::open(path, parts)?;
            parts = kept;
            Some(checkpoint)
        }
        None => None,
    };
    let mut keeper = Keeper { checkpoint, last: Instant::now() };
    let progress = Progress::new(&arguments.destination);
    for at in 0..parts.len() {
        let name = &device.identity().name;
        progress.step(&format!("verifying {} on {name} against {}", parts[at].run.instruction, arguments.model));
        compare(&mut parts, at, device.as_mut(), &names, timeout, &model, &mut keeper, &progress)?;
    }
    report.holds = parts.iter().all(|part| part.state.differing() == 0);
    report.device = Some(device.identity().clone());
    report.tables = vec![tables::verification(&parts), tables::regimes(&parts)];
    Ok(report)
}

/// The devices by name, of which there are none for the default device.
fn devices(named: &[String]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in named {
        if name == ALL_GPUS {
            match cuda::count() {
                0 => return Err(Error::device(format!("{ALL_GPUS}: there is no NVIDIA GPU here"))),
                count => names.extend((0..count).map(|ordinal| format!("cuda:{ordinal}"))),
            }
        } else if name.starts_with("trace:") {
            return Err(Error::request(format!(
                "{name} replays recorded tiles only; to compare them leave out --instr, --fmt and --all"
            )));
        } else {
            names.push(name.clone());
        }
    }
    Ok(names)
}

fn sequence(arguments: &Arguments) -> Sequence {
    match arguments.exhaustive {
        Some(super::Exhaustive::Multiply) => Sequence::Multiply { position: arguments.position },
        None => Sequence::Random { seed: arguments.seed.unwrap_or(0) },
    }
}

/// Runs what is left of the part at `at`.
#[allow(clippy::too_many_arguments)]
fn compare(
    parts: &mut [Part],
    at: usize,
    device: &mut dyn Device,
    names: &[String],
    timeout: Duration,
    model: &Model,
    keeper: &mut Keeper,
    progress: &Progress,
) -> Result<()> {
    let run = parts[at].run.clone();
    let instruction = run.instruction()?;
    let mut state = parts[at].state.clone();
    if state.finished {
        return Ok(());
    }
    let range = run.range(&instruction);
    let mut bar = Bar::new(progress, &run.instruction, (range.end - range.start) as f64);
    let mut watch = |state: &State| {
        parts[at].state = state.clone();
        bar.show((state.next - range.start) as f64, (instruction.m * instruction.n) as f64);
        keeper.keep(parts, state.finished)
    };
    if names.len() > 1 {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let open = |name| device::open(Some(name), timeout);
        drive_all(&run, model, &mut state, &names, &open, &mut watch)
    } else {
        let work = Work { instruction: &instruction, sequence: run.sequence(), model };
        drive(&run, &mut state, engine(device, &work)?.as_mut(), &mut watch)
    }
}

/// Writes the checkpoint from time to time.
struct Keeper {
    checkpoint: Option<Checkpoint>,
    last: Instant,
}

impl Keeper {
    fn keep(&mut self, parts: &[Part], now: bool) -> Result<()> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        if now || self.last.elapsed() >= KEEP_EVERY {
            checkpoint.write(parts)?;
            self.last = Instant::now();
        }
        Ok(())
    }
}
