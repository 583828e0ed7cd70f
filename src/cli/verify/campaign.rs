//! A device against a model, on operands that are drawn here.

use std::{
    collections::HashSet,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    super::{Bar, Progress, files, invocation, select},
    Arguments,
};
use crate::{
    Error, Result,
    arithmetic::Model,
    base::{atomic, sorting},
    comparison::{Nans, shrink::BUDGET},
    device::{self, Device, Work, cuda},
    inputs::Sequence,
    isa::Instruction,
    report::Report,
    trace::{CONTENTS, TraceKind},
    verify::{
        MOST_LISTED, MOST_MISMATCHES, Part, Run, State, checkpoint::Checkpoint, counterexample_trace, counterexamples,
        drive, drive_all, engine, rule_digest, tables,
    },
};

/// How often a checkpoint is written.
const KEEP_EVERY: Duration = Duration::from_millis(500);
/// Cases, where nothing says how many.
const DEFAULT_CASES: u64 = 1_000_000;
/// The name that means every GPU.
const ALL_GPUS: &str = "cuda:all";

/// Compares.
///
/// # Errors
/// As the command.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let default = arguments.selection.device(&[], arguments.devices.first().map(String::as_str));
    let mut instructions = arguments.selection.instructions(&[], Some(&default))?;
    let mut seen = HashSet::new();
    instructions.retain(|instruction| seen.insert(instruction.name.clone()));
    if let Some(file) = arguments.files.first() {
        return Err(Error::request(format!(
            "{file}: recordings are compared as they are, so --instr, --fmt and --all do not go with them"
        )));
    }
    if instructions.len() > 1 && arguments.counterexamples.as_ref().is_some_and(|file| !file.is_dir()) {
        return Err(Error::request("there are several instructions; give a folder that exists to --counterexamples"));
    }
    if arguments.max_mismatches > MOST_MISMATCHES {
        return Err(Error::request(format!("--max-mismatches: a run lists up to {MOST_MISMATCHES} counterexamples")));
    }
    let chosen = instructions.len() as u64;
    if arguments.max_mismatches * chosen > MOST_LISTED {
        return Err(Error::request(format!(
            "--max-mismatches {}: a command lists up to {MOST_LISTED} counterexamples, {} for each of {chosen} instructions",
            arguments.max_mismatches,
            MOST_LISTED / chosen
        )));
    }
    check_counterexample_files(arguments, &instructions)?;
    let names = devices(&arguments.devices)?;
    let timeout = Duration::from_secs(arguments.timeout);
    let mut device = device::open(Some(names.first().unwrap_or(&default)), timeout)?;
    let (judge, model, undecided) = select::model(arguments.model.as_deref(), device.as_mut(), &instructions)?;
    report.notes.extend(undecided);
    report.seed = arguments.exhaustive.is_none().then_some(arguments.seed.unwrap_or(0));
    let mut parts = Vec::new();
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), Some(&model), &mut report.notes);
    }
    for instruction in &instructions {
        match part(arguments, instruction, device.as_mut(), (&judge, &model)) {
            Err(error) if arguments.available && error.is_unavailable() => report.notes.push(error.to_string()),
            part => parts.push(part?),
        }
    }
    let checkpoint = match &arguments.checkpoint {
        Some(path) => {
            let (checkpoint, kept) = Checkpoint::open(path, parts)?;
            parts = kept;
            Some(checkpoint)
        }
        None => None,
    };
    let mut command = Command {
        arguments,
        judge,
        model,
        names,
        parts,
        keeper: Keeper { checkpoint, last: Instant::now() },
        progress: Progress::new(&arguments.destination),
    };
    command.announce(device.as_mut())?;
    for at in 0..command.parts.len() {
        let compared = command.compare(at, device.as_mut());
        report.until_interrupted(compared)?;
        let reduced = command.reduce(at, device.as_mut(), report.interrupted.is_none());
        if report.until_interrupted(reduced)?.is_none() {
            command.reduce(at, device.as_mut(), false)?;
        }
        if report.interrupted.is_some() {
            break;
        }
    }
    command.note_times(device.as_ref());
    command.report(report, device.as_mut())?;
    Ok(())
}

/// The run of an instruction that the arguments ask for, not yet begun.
fn part(
    arguments: &Arguments,
    instruction: &Instruction,
    device: &mut dyn Device,
    (judge, model): (&str, &Model),
) -> Result<Part> {
    device.has(instruction)?;
    let cases = Some(arguments.cases.unwrap_or(DEFAULT_CASES));
    let mut run = Run::new(instruction, device, model, sequence(arguments), cases, arguments.max_mismatches)?;
    (run.shard, run.shards) = arguments.shard.unwrap_or((1, 1));
    run.any_nan = arguments.any_nan;
    Part::new(run, device.identity(), judge)
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

/// The command under way.
struct Command<'a> {
    arguments: &'a Arguments,
    /// The model as it was asked for.
    judge: String,
    model: Model,
    names: Vec<String>,
    parts: Vec<Part>,
    keeper: Keeper,
    progress: Progress,
}

impl Command<'_> {
    /// Lets the device get ready for what is left of all parts while it is at work on the first ones.
    fn announce(&self, device: &mut dyn Device) -> Result<()> {
        if self.arguments.any_nan {
            return Ok(());
        }
        let left = || self.parts.iter().filter(|part| !part.state.finished);
        let instructions = left().map(|part| part.run.instruction()).collect::<Result<Vec<_>>>()?;
        let work =
            |(part, instruction): (&Part, _)| Work { instruction, sequence: part.run.sequence(), model: &self.model };
        device.announce(&left().zip(&instructions).map(work).collect::<Vec<_>>());
        Ok(())
    }

    /// Says where the time went (with -v).
    fn note_times(&self, device: &dyn Device) {
        let comparing: f64 = self.parts.iter().map(|part| part.state.seconds).sum();
        self.progress.note(&format!("comparing: {comparing:.1} seconds"));
        device.times().iter().for_each(|times| self.progress.note(times));
    }

    /// Runs what is left of the part at `at`.
    fn compare(&mut self, at: usize, device: &mut dyn Device) -> Result<()> {
        let Command { arguments, judge, model, names, parts, keeper, progress } = self;
        if parts[at].state.finished {
            return Ok(());
        }
        let instruction = parts[at].run.instruction()?;
        let number = if parts.len() > 1 { format!(" ({} of {})", at + 1, parts.len()) } else { String::new() };
        let kernels =
            device.kernels().map_or_else(String::new, |(done, all)| format!(", {done} of {all} kernels compiled"));
        progress
            .step(&format!("verifying {instruction}{number} on {} against {judge}{kernels}", device.identity().name));
        parts[at].begin(&device.prepare(&instruction)?);
        let Part { run, mut state, .. } = parts[at].clone();
        let range = run.range(&instruction);
        let (tiles, outputs) = (range.end - range.start, (instruction.m * instruction.n) as u64);
        let bar = Bar::new(progress, &run.instruction, tiles, state.next - range.start, outputs);
        let mut watch = |state: &State| {
            parts[at].state = state.clone();
            bar.show(state.next - range.start, state.differing());
            keeper.keep(parts, state.finished)
        };
        let outcome = if names.len() > 1 {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let timeout = Duration::from_secs(arguments.timeout);
            let open = |name| device::open(Some(name), timeout);
            drive_all(&run, model, &mut state, &names, &open, &mut watch)
        } else {
            let work = Work { instruction: &instruction, sequence: run.sequence(), model };
            drive(&run, &mut state, engine(device, &work, run.nans())?.as_mut(), &mut watch)
        };
        // Where a device fails, all that was done until then is kept.
        outcome.map_err(|error| keeper.keep(parts, true).err().unwrap_or(error))
    }

    /// Lists the counterexamples of the part at `at`: reduced, or as they were found.
    fn reduce(&mut self, at: usize, device: &mut dyn Device, whole: bool) -> Result<()> {
        let part = &self.parts[at];
        if part.counterexamples.is_some() {
            return Ok(());
        }
        if !part.state.spots.is_empty() {
            self.progress.step(&format!("reducing counterexamples of {}", part.run.instruction));
        }
        self.parts[at].counterexamples =
            Some(counterexamples(part, device, &self.model, if whole { BUDGET } else { 0 })?);
        match whole {
            true => self.keeper.keep(&self.parts, true),
            // A run that goes on from the checkpoint reduces them.
            false => Ok(()),
        }
    }

    /// Fills the report, and writes the traces of counterexamples.
    fn report(&self, report: &mut Report, device: &mut dyn Device) -> Result<()> {
        let name = device.identity().name.clone();
        let simulated = device.model().map(|model| (&name[..], model));
        let mut tables = vec![tables::verification(&self.parts), tables::regimes(&self.parts)];
        let (differences, signatures) = tables::differences(&self.parts, Some((&self.judge, &self.model)), simulated)?;
        tables.extend(differences);
        report.notes.extend(signatures);
        for part in &self.parts {
            report.notes.extend(tables::remarks(part)?);
            report.notes.extend(self.keep_counterexamples(part, device)?);
        }
        report.notes.extend(Nans::from(self.arguments.any_nan).note());
        report.notes.extend(self.itself(device));
        report.holds = self.parts.iter().all(|part| part.state.differing() == 0);
        report.device = Some(device.identity().clone());
        report.tables = tables;
        if self.parts.iter().all(|part| part.state.compared() == 0) {
            self.nothing(report, device);
        }
        Ok(())
    }

    /// What is to be said where not one output was compared. (A shard may be empty where there are more of them than units: its
    /// whole run is not.)
    fn nothing(&self, report: &mut Report, device: &dyn Device) {
        match self.parts.is_empty() {
            false if self.arguments.shard.is_some() && self.parts.iter().all(|part| part.state.finished) => {
                report.notes.push("Nothing was compared: this part of the run is empty.".into());
            }
            _ => select::nothing(report, device),
        }
    }

    /// The note on instructions for which device and model are one and the same rule.
    fn itself(&self, device: &dyn Device) -> Option<String> {
        let simulated = device.model()?;
        let same = |part: &&Part| {
            let i = part.run.instruction();
            i.is_ok_and(|i| rule_digest(simulated, &i) == part.run.model_digest)
        };
        let count = self.parts.iter().filter(same).count();
        (count > 0).then(|| {
            format!(
                "{} simulates the same rule as the model for {count} of {} instructions: an arithmetic was compared with itself, \
                 which says nothing about hardware.",
                device.identity().name,
                self.parts.len()
            )
        })
    }

    /// Writes the counterexamples of a part as a trace, and says where.
    fn keep_counterexamples(&self, part: &Part, device: &mut dyn Device) -> Result<Option<String>> {
        let all = part.counterexamples.as_deref().unwrap_or_default();
        if all.is_empty() {
            return Ok(None);
        }
        let instruction = part.run.instruction()?;
        let Some(file) = counterexample_file(self.arguments, &instruction) else {
            return Ok(Some("--counterexamples FILE writes them as a trace, which replays against any model.".into()));
        };
        let metadata = sorting::map([
            ("device".into(), device.identity().name.clone()),
            ("description".into(), device.identity().description.clone()),
            ("source".into(), invocation()),
            ("execution".into(), part.ran.execution.clone()),
            ("tcnum".into(), env!("CARGO_PKG_VERSION").into()),
            (CONTENTS.into(), "counterexamples".into()),
        ]);
        let trace = counterexample_trace(part, all, device, metadata)?;
        match file {
            CounterexampleFile::Named(_) => trace.write(file.path())?,
            CounterexampleFile::Derived(_) => trace.write_derived(file.path(), TraceKind::Counterexamples)?,
        }
        let file = file.path().display();
        let judge = &self.judge;
        Ok(Some(format!(
            "The counterexamples of {instruction} are in {file}: `tcnum verify {file} --model {judge}` replays them."
        )))
    }
}

/// Where the counterexamples of an instruction go.
enum CounterexampleFile {
    /// To the file that the user named.
    Named(PathBuf),
    /// To one whose name follows from the instruction's.
    Derived(PathBuf),
}

impl CounterexampleFile {
    fn path(&self) -> &Path {
        match self {
            CounterexampleFile::Named(path) | CounterexampleFile::Derived(path) => path,
        }
    }
}

/// The file of --counterexamples, or one in its folder, else one beside the result.
fn counterexample_file(arguments: &Arguments, instruction: &Instruction) -> Option<CounterexampleFile> {
    use CounterexampleFile::{Derived, Named};
    match (&arguments.counterexamples, &arguments.destination.out) {
        (Some(folder), _) if folder.is_dir() => Some(Derived(folder.join(format!("{instruction}.safetensors")))),
        (Some(file), _) => Some(Named(file.clone())),
        // Nothing lies beside a folder, a pipe or a device.
        (None, Some(_)) if arguments.destination.folder().is_some() => None,
        (None, Some(out)) if out.metadata().is_ok_and(|about| !about.is_file()) => None,
        (None, Some(out)) => Some(Derived(out.with_extension(format!("{instruction}.safetensors")))),
        (None, None) => None,
    }
}

/// Refuses, before the work, files of counterexamples that would take the place of another file.
fn check_counterexample_files(arguments: &Arguments, instructions: &[Instruction]) -> Result<()> {
    let paths = arguments.checkpoint.iter().chain(&arguments.destination.out).map(|path| path.as_os_str());
    let names = arguments.devices.iter().chain(&arguments.model).map(OsStr::new);
    let used: Vec<&OsStr> = paths.chain(names).collect();
    for instruction in instructions {
        if let Some(CounterexampleFile::Derived(path)) = counterexample_file(arguments, instruction) {
            files::apart(&path, &used)?;
            atomic::derivable(&path, &TraceKind::Counterexamples)?;
        }
    }
    Ok(())
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
