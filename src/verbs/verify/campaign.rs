//! A device against a model, on operands that are drawn here.

use std::{
    collections::{BTreeMap, HashSet},
    ffi::OsStr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    super::{Bar, Progress, files, invocation, select},
    Arguments,
};
use crate::{
    Error, Interruption, Result,
    arithmetic::Model,
    base::{atomic, interrupt, pace::UNASKED},
    comparison::{
        Nans,
        shrink::{BUDGET, Budget},
    },
    device::{self, CampaignWork, Device, DeviceName, ExecutionKind, cuda},
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
/// How long a device may be asked for more after an interruption.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(1);

/// Compares.
///
/// # Errors
/// As the command.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let default = arguments.selection.device(&[], arguments.devices.first());
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
        begun: Instant::now(),
        reducing: None,
        ended: Vec::new(),
    };
    let outcome = command.compare_all(device.as_mut());
    command.note_times(device.as_mut());
    let interrupted = matches!(outcome, Err(Error::Interrupted { .. }));
    if interrupted {
        interrupt::answered();
        command.list_found(device.as_mut());
    }
    command.report(report, device.as_ref(), outcome.is_err())?;
    let kept = match outcome.is_ok() || interrupted {
        true => command.keep_counterexamples(device.as_mut(), interrupted, &mut report.notes),
        // Nothing more is asked of a device that has failed.
        false => Ok(()),
    };
    outcome.and(kept)
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
fn devices(named: &[DeviceName]) -> Result<Vec<DeviceName>> {
    let mut names = Vec::new();
    for name in named {
        match name {
            DeviceName::AllGpus => match cuda::count() {
                0 => return Err(Error::device(format!("{name}: there is no NVIDIA GPU here"))),
                count => names.extend((0..count).map(DeviceName::Cuda)),
            },
            DeviceName::Trace(_) => {
                return Err(Error::request(format!(
                    "{name} replays recorded tiles only; to compare them leave out --instr, --fmt and --all"
                )));
            }
            _ => names.push(name.clone()),
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
    names: Vec<DeviceName>,
    parts: Vec<Part>,
    keeper: Keeper,
    progress: Progress,
    begun: Instant,
    /// Until when differences are reduced, once there are some.
    reducing: Option<Instant>,
    /// What is to be said of runs that ended early.
    ended: Vec<String>,
}

impl Command<'_> {
    /// Lets the device get ready for what is left of all parts while it is at work on the first ones.
    fn announce(&self, device: &mut dyn Device) -> Result<()> {
        let Some(campaigns) = device.campaigns().filter(|_| !self.arguments.any_nan) else { return Ok(()) };
        let left = || self.parts.iter().filter(|part| !part.state.finished);
        let instructions = left().map(|part| part.run.instruction()).collect::<Result<Vec<_>>>()?;
        let work = |(part, instruction): (&Part, _)| CampaignWork {
            instruction,
            sequence: part.run.sequence(),
            model: &self.model,
        };
        campaigns.announce(&left().zip(&instructions).map(work).collect::<Vec<_>>());
        Ok(())
    }

    /// Says where the time went (with -v).
    fn note_times(&self, device: &mut dyn Device) {
        let comparing: f64 = self.parts.iter().map(|part| part.state.seconds).sum();
        self.progress.note(&format!("comparing: {comparing:.1} seconds"));
        device.preparation().iter().for_each(|own| self.progress.note(&own.times()));
    }

    /// Compares what is left of all parts, and reduces what differs.
    fn compare_all(&mut self, device: &mut dyn Device) -> Result<()> {
        self.announce(device)?;
        for at in 0..self.parts.len() {
            self.compare(at, device)?;
            self.reduce(at, device)?;
        }
        Ok(())
    }

    /// Runs what is left of the part at `at`.
    fn compare(&mut self, at: usize, device: &mut dyn Device) -> Result<()> {
        let (share, left) = (self.share(), (self.parts.len() - at) as u32);
        let Command { arguments, judge, model, names, parts, keeper, progress, ended, .. } = self;
        if parts[at].state.finished {
            return Ok(());
        }
        let instruction = parts[at].run.instruction()?;
        let number = if parts.len() > 1 { format!(" ({} of {})", at + 1, parts.len()) } else { String::new() };
        let kernels = device.preparation().and_then(|own| own.kernels());
        let kernels = kernels.map_or_else(String::new, |(done, all)| format!(", {done} of {all} kernels compiled"));
        progress
            .step(&format!("verifying {instruction}{number} on {} against {judge}{kernels}", device.identity().name));
        let execution = device.prepare(&instruction)?;
        let share = share.filter(|_| execution.kind == ExecutionKind::External).map(|time| time / left);
        parts[at].begin(&execution);
        let Part { run, mut state, .. } = parts[at].clone();
        let range = run.range(&instruction);
        let (tiles, outputs) = (range.end - range.start, (instruction.m * instruction.n) as u64);
        let bar = Bar::new(progress, &run.instruction, tiles, state.next - range.start, outputs);
        let (begun, mut enough) = (Instant::now(), false);
        let mut watch = |state: &State| {
            parts[at].state = state.clone();
            bar.show(state.next - range.start, state.differing());
            keeper.keep(parts, state.finished)?;
            enough = !state.finished && share.is_some_and(|share| begun.elapsed() >= share);
            if enough { Err(Error::Interrupted { by: Interruption::TimeLimit }) } else { Ok(()) }
        };
        let outcome = if names.len() > 1 {
            let timeout = Duration::from_secs(arguments.timeout);
            let open = |name| device::open(Some(name), timeout);
            drive_all(&run, model, &mut state, names, &open, &mut watch)
        } else {
            let work = CampaignWork { instruction: &instruction, sequence: run.sequence(), model };
            drive(&run, &mut state, engine(device, &work, run.nans())?.as_mut(), &mut watch)
        };
        if enough {
            parts[at].end_here()?;
            ended.push(format!(
                "{instruction}: {} of the {DEFAULT_CASES} cases of a run by default fit into a minute; --cases N compares N.",
                parts[at].run.cases
            ));
            return Ok(());
        }
        // Whatever ends it, all that was done until then is kept.
        outcome.map_err(|error| keeper.keep(parts, true).err().unwrap_or(error))
    }

    /// What is left of the time that an external program is asked for cases that nobody has asked for; `None` where somebody has.
    fn share(&self) -> Option<Duration> {
        let Arguments { cases, exhaustive, shard, checkpoint, .. } = self.arguments;
        let asked = cases.is_some() || exhaustive.is_some() || shard.is_some() || checkpoint.is_some();
        (!asked).then(|| UNASKED.saturating_sub(self.begun.elapsed()))
    }

    /// Lists the counterexamples of the part at `at`, reduced.
    fn reduce(&mut self, at: usize, device: &mut dyn Device) -> Result<()> {
        if self.parts[at].counterexamples.is_some() {
            return Ok(());
        }
        if !self.parts[at].state.spots.is_empty() {
            self.progress.step(&format!("reducing counterexamples of {}", self.parts[at].run.instruction));
        }
        let external = self.parts[at].ran.execution == ExecutionKind::External.name();
        let until = external.then(|| *self.reducing.get_or_insert_with(|| Instant::now() + UNASKED));
        let budget = Budget { cases: BUDGET, until };
        let mut all = Vec::new();
        let outcome = counterexamples(&self.parts[at], device, &self.model, budget, &mut all);
        self.parts[at].counterexamples = Some(all);
        outcome?;
        self.keeper.keep(&self.parts, true)
    }

    /// After an interruption, lists the counterexamples that are not listed yet as they were found: as many as the device answers at once.
    fn list_found(&mut self, device: &mut dyn Device) {
        let budget = Budget { cases: 0, until: Some(Instant::now() + AFTER_INTERRUPTION) };
        for part in &mut self.parts {
            let mut all = part.counterexamples.take().unwrap_or_default();
            // A device that is interrupted as well lists no more.
            let _ = counterexamples(part, device, &self.model, budget, &mut all);
            part.counterexamples = Some(all);
        }
    }

    /// Fills the report. Where the work was stopped it has the parts that were begun, and the counterexamples that are listed.
    fn report(&mut self, report: &mut Report, device: &dyn Device, stopped: bool) -> Result<()> {
        if stopped {
            self.parts.retain(|part| part.state.finished || part.state.compared() > 0);
            self.parts.iter_mut().for_each(Part::as_listed);
        }
        let name = device.identity().name.to_string();
        let simulated = device.model().map(|model| (&name[..], model));
        let mut tables = vec![tables::verification(&self.parts), tables::regimes(&self.parts)];
        let (differences, signatures) = tables::differences(&self.parts, Some((&self.judge, &self.model)), simulated)?;
        tables.extend(differences);
        report.notes.append(&mut self.ended);
        report.notes.extend(signatures);
        for part in &self.parts {
            report.notes.extend(tables::remarks(part)?);
        }
        report.notes.extend(Nans::from(self.arguments.any_nan).note());
        report.notes.extend(self.itself(device));
        report.answer = tables::answer(&self.parts);
        report.holds = self.parts.iter().all(|part| part.state.differing() == 0);
        report.device = Some(device.identity().clone());
        report.tables = tables;
        if self.parts.iter().all(|part| part.state.compared() == 0) && !stopped {
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

    /// Writes the counterexamples of each part as a trace, and says where; after an interruption those that the device answers at once.
    fn keep_counterexamples(&self, device: &mut dyn Device, interrupted: bool, notes: &mut Vec<String>) -> Result<()> {
        let until = interrupted.then(|| Instant::now() + AFTER_INTERRUPTION);
        for part in &self.parts {
            let all = part.counterexamples.as_deref().unwrap_or_default();
            if all.is_empty() {
                continue;
            }
            let instruction = part.run.instruction()?;
            let Some(file) = counterexample_file(self.arguments, &instruction) else {
                notes.push(
                    "--counterexamples FILE keeps them; `tcnum verify FILE --device DEVICE` executes them again."
                        .into(),
                );
                break;
            };
            let metadata = BTreeMap::from([
                ("device".into(), device.identity().name.to_string()),
                ("description".into(), device.identity().description.clone()),
                ("source".into(), invocation()),
                ("execution".into(), part.ran.execution.clone()),
                ("tcnum".into(), env!("CARGO_PKG_VERSION").into()),
                (CONTENTS.into(), "counterexamples".into()),
            ]);
            let trace = counterexample_trace(part, all, device, metadata, until)?;
            match file {
                CounterexampleFile::Named(_) => trace.write(file.path())?,
                CounterexampleFile::Derived(_) => trace.write_derived(file.path(), TraceKind::Counterexamples)?,
            }
            let file = file.path().display();
            let judge = &self.judge;
            notes.push(format!(
                "The counterexamples of {instruction} are in {file}: `tcnum verify {file} --device DEVICE --model {judge}` executes \
                 them again."
            ));
        }
        Ok(())
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
    let names: Vec<String> = arguments.devices.iter().map(DeviceName::to_string).collect();
    let used: Vec<&OsStr> = paths.chain(names.iter().chain(&arguments.model).map(OsStr::new)).collect();
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
