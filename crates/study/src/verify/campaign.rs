//! Campaigns: a device against a model on drawn operands, instruction by instruction.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::checkpoint::Checkpoint;
use crate::campaign::{
    MOST_LISTED, MOST_MISMATCHES, Part, Run, State, counterexample_trace, counterexamples, drive, drive_all, engine,
    rule_digest,
};
use crate::{
    Error, Interruption, Result,
    arithmetic::Model,
    base::{interrupt, work::UNASKED},
    comparison::shrink::{BUDGET, Budget},
    device::{self, CampaignWork, Device, DeviceName, Engine, ExecutionKind, cuda, selection},
    inputs::Sequence,
    isa::Instruction,
    report::grouped,
    trace::{CONTENTS, TraceKind},
};

/// Time between two writes of a checkpoint.
const KEEP_EVERY: Duration = Duration::from_millis(500);
/// Cases of an instruction, where nobody says how many.
const DEFAULT_CASES: u64 = 1_000_000;
/// How long a device may be asked for more after an interruption.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(1);

/// Request of a campaign: its device, model, instructions and cases.
#[derive(Debug, Clone)]
pub struct CampaignRequest {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// Devices that share the work; empty where only the opened one works.
    pub devices: Vec<DeviceName>,
    /// How long an external program may take for one answer.
    pub timeout: Duration,
    /// The model's name or file; `None`: the model of the device's generation.
    pub model: Option<String>,
    /// The operands.
    pub sequence: Sequence,
    /// Dot-product-adds of each instruction; `None`: as many as fit, up to a million.
    pub cases: Option<u64>,
    /// Causes of mismatches that are listed for each instruction, at most; 0: none is listed or written.
    pub max_mismatches: u64,
    /// The part of the run, from 1, and the number of parts.
    pub shard: Option<(u64, u64)>,
    /// True if any NaN code counts as equal to any other.
    pub any_nan: bool,
    /// True if instructions that cannot be compared are left out.
    pub available: bool,
    /// The file that keeps how far the campaign is.
    pub checkpoint: Option<PathBuf>,
}

impl CampaignRequest {
    /// Drops repeated instructions, and refuses more counterexamples than a report can list.
    ///
    /// # Errors
    /// A request error with the limit.
    pub fn check(&mut self) -> Result<()> {
        let mut seen = HashSet::new();
        self.instructions.retain(|instruction| seen.insert(instruction.name.clone()));
        if self.max_mismatches > MOST_MISMATCHES {
            return Err(Error::request(format!(
                "‹max_mismatches={}›: a run lists up to {MOST_MISMATCHES} counterexamples",
                self.max_mismatches
            )));
        }
        let chosen = self.instructions.len() as u64;
        if self.max_mismatches * chosen > MOST_LISTED {
            return Err(Error::request(format!(
                "‹max_mismatches={}›: a command lists up to {MOST_LISTED} counterexamples, {} for each of {chosen} instructions",
                self.max_mismatches,
                MOST_LISTED / chosen
            )));
        }
        Ok(())
    }

    /// True if somebody asked for these cases, so that all are compared however long it takes.
    fn is_asked(&self) -> bool {
        let exhaustive = matches!(self.sequence, Sequence::Multiply { .. });
        self.cases.is_some() || exhaustive || self.shard.is_some() || self.checkpoint.is_some()
    }

    /// The run of an instruction, not yet begun.
    fn part(&self, instruction: &Instruction, device: &mut dyn Device, judge: &str, model: &Model) -> Result<Part> {
        device.has(instruction)?;
        let cases = Some(self.cases.unwrap_or(DEFAULT_CASES));
        let mut run = Run::new(instruction, device, model, self.sequence, cases, self.max_mismatches)?;
        (run.shard, run.shards) = self.shard.unwrap_or((1, 1));
        run.any_nan = self.any_nan;
        Part::new(run, device.identity(), judge)
    }
}

/// The named devices, with every GPU in place of `cuda:all`.
///
/// # Errors
/// No GPU; a recording, which replays its own tiles only.
pub fn devices(named: &[DeviceName]) -> Result<Vec<DeviceName>> {
    let mut names = Vec::new();
    for name in named {
        match name {
            DeviceName::AllGpus => match cuda::count() {
                0 => return Err(Error::device(format!("{name}: there is no NVIDIA GPU here"))),
                count => names.extend((0..count).map(DeviceName::Cuda)),
            },
            DeviceName::Trace(_) => {
                return Err(Error::request(format!(
                    "{name} replays recorded tiles only; to compare them leave out ‹instr›, ‹fmt› and ‹all›"
                )));
            }
            _ => names.push(name.clone()),
        }
    }
    Ok(names)
}

/// Time of a trial from which the time of a run is estimated.
const TRIAL: Duration = Duration::from_millis(200);

/// Seconds that the tiles of a range take, estimated from its first ones.
fn estimated(engine: &mut dyn Engine, range: Range<u64>) -> Result<f64> {
    let all = range.end - range.start;
    let mut tiles = 1;
    loop {
        let start = Instant::now();
        engine.run(range.start..range.start + tiles.min(all))?;
        if start.elapsed() >= TRIAL || tiles >= all {
            return Ok(start.elapsed().as_secs_f64() * all as f64 / tiles.min(all) as f64);
        }
        interrupt::check()?;
        tiles *= 4;
    }
}

/// A time in words.
fn time(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{} s", seconds.ceil()),
        ..5400.0 => format!("{} min", (seconds / 60.0).ceil()),
        _ => format!("{} h", (seconds / 3600.0).ceil()),
    }
}

/// How far a campaign is, for whoever watches it.
#[derive(Debug, Clone, Copy)]
pub enum CampaignProgress<'a> {
    /// A stage of the work begins.
    Stage(&'a str),
    /// Time that an exhaustive run takes, in words, before it begins.
    Estimate(&'a str),
    /// The tiles of an instruction's run are compared next.
    Begun {
        /// The instruction's name.
        instruction: &'a str,
        /// Tiles of the run.
        tiles: u64,
        /// Tiles that were compared before.
        done: u64,
        /// Outputs of a tile.
        outputs: u64,
    },
    /// Some tiles of the run are compared.
    Compared {
        /// Tiles so far.
        done: u64,
        /// Outputs that differ so far.
        differing: u64,
    },
}

/// A campaign: how far it is, and what it found.
#[derive(Debug)]
pub struct Campaign {
    /// The request.
    pub request: CampaignRequest,
    /// The model, as it was asked for.
    pub judge: String,
    /// The model.
    pub model: Model,
    /// The runs, one for each instruction; once the campaign is stopped only those that were begun.
    pub parts: Vec<Part>,
    /// Notes on the choice of the model and on instructions that were left out.
    pub notes: Vec<String>,
    /// Notes on runs that ended before all their cases were compared.
    pub ended: Vec<String>,
    /// The error or interruption that stopped the campaign.
    pub stopped: Option<Error>,
    keeper: Keeper,
    start: Instant,
    /// The end of the time for reducing what an external program differs in, once it has begun.
    reducing: Option<Instant>,
}

impl Campaign {
    /// The campaign that `request` asks for on `device`, or the one that its checkpoint holds.
    ///
    /// # Errors
    /// A device or a model that lacks an instruction; a checkpoint of other runs.
    pub fn new(request: CampaignRequest, device: &mut dyn Device) -> Result<Campaign> {
        let mut instructions = request.instructions.clone();
        let (judge, model, note) = selection::model(request.model.as_deref(), device, &instructions)?;
        let mut notes: Vec<String> = note.into_iter().collect();
        if request.available {
            selection::available(&mut instructions, device, Some(&model), &mut notes);
        }
        let mut parts = Vec::new();
        for instruction in &instructions {
            match request.part(instruction, device, &judge, &model) {
                Err(error) if request.available && error.is_unavailable() => notes.push(error.to_string()),
                part => parts.push(part?),
            }
        }
        let mut checkpoint = None;
        if let Some(path) = &request.checkpoint {
            let (opened, kept) = Checkpoint::open(path, parts)?;
            (checkpoint, parts) = (Some(opened), kept);
        }
        let (ended, stopped, start, reducing) = (Vec::new(), None, Instant::now(), None);
        let keeper = Keeper { checkpoint, last: start };
        Ok(Campaign { request, judge, model, parts, notes, ended, stopped, keeper, start, reducing })
    }

    /// Compares all runs that are not finished, and reduces what differs.
    ///
    /// # Errors
    /// A device fails; an interruption; a checkpoint that cannot be written. The campaign has what was found until then.
    pub fn run(&mut self, device: &mut dyn Device, watch: &mut dyn FnMut(CampaignProgress)) -> Result<()> {
        let outcome = self.compare_all(device, watch);
        if matches!(outcome, Err(Error::Interrupted { .. })) {
            interrupt::answered();
        }
        if outcome.is_err() {
            self.parts.retain(|part| part.state.finished || part.state.compared() > 0);
            self.parts.iter_mut().for_each(Part::list_found);
        }
        self.stopped = outcome.clone().err();
        outcome
    }

    /// True if this is a shard whose runs are all finished; without outputs it is empty.
    pub fn is_empty_shard(&self) -> bool {
        self.request.shard.is_some() && !self.parts.is_empty() && self.parts.iter().all(|part| part.state.finished)
    }

    /// How many instructions a simulated device computes by the very rule of the model.
    pub fn compared_with_itself(&self, device: &dyn Device) -> usize {
        let Some(simulated) = device.model() else { return 0 };
        let same = |part: &&Part| {
            let i = part.run.instruction();
            i.is_ok_and(|i| rule_digest(simulated, &i) == part.run.model_digest)
        };
        self.parts.iter().filter(same).count()
    }

    fn compare_all(&mut self, device: &mut dyn Device, watch: &mut dyn FnMut(CampaignProgress)) -> Result<()> {
        self.announce(device)?;
        for at in 0..self.parts.len() {
            self.compare(at, device, watch)?;
            self.reduce(at, device, watch)?;
        }
        Ok(())
    }

    /// Lets the device prepare all unfinished runs while it works on the first ones.
    fn announce(&self, device: &mut dyn Device) -> Result<()> {
        let Some(campaigns) = device.campaigns().filter(|_| !self.request.any_nan) else { return Ok(()) };
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

    /// Runs the rest of the part at `at`.
    fn compare(&mut self, at: usize, device: &mut dyn Device, watch: &mut dyn FnMut(CampaignProgress)) -> Result<()> {
        let (share, left) = (self.share(), (self.parts.len() - at) as u32);
        let Campaign { request, judge, model, parts, keeper, ended, .. } = self;
        if parts[at].state.finished {
            return Ok(());
        }
        let instruction = parts[at].run.instruction()?;
        let number = if parts.len() > 1 { format!(" ({} of {})", at + 1, parts.len()) } else { String::new() };
        let kernels = device.preparation().and_then(|preparation| preparation.kernels());
        let kernels = kernels.map_or_else(String::new, |(done, all)| format!(", {done} of {all} kernels compiled"));
        let name = &device.identity().name;
        watch(CampaignProgress::Stage(&format!("verifying {instruction}{number} on {name} against {judge}{kernels}")));
        let execution = device.prepare(&instruction)?;
        let share = share.filter(|_| execution.kind == ExecutionKind::External).map(|time| time / left);
        parts[at].begin(&execution);
        let Part { run, mut state, .. } = parts[at].clone();
        let range = run.range(&instruction);
        watch(CampaignProgress::Begun {
            instruction: &run.instruction,
            tiles: range.end - range.start,
            done: state.next - range.start,
            outputs: (instruction.m * instruction.n) as u64,
        });
        if matches!(run.sequence(), Sequence::Multiply { .. }) && request.devices.len() <= 1 && !state.finished {
            let work = CampaignWork { instruction: &instruction, sequence: run.sequence(), model };
            let seconds = estimated(engine(device, &work, run.nans())?.as_mut(), state.next..range.end)?;
            let pairs = grouped(((range.end - state.next) * (instruction.m * instruction.n) as u64) as i64);
            watch(CampaignProgress::Estimate(&format!(
                "{instruction}: {pairs} pairs of codes take about {}",
                time(seconds)
            )));
        }
        let (start, mut enough) = (Instant::now(), false);
        let CampaignRequest { devices, timeout, .. } = request;
        let mut step = |state: &State| {
            parts[at].state = state.clone();
            watch(CampaignProgress::Compared { done: state.next - range.start, differing: state.differing() });
            keeper.keep(parts, state.finished)?;
            enough = !state.finished && share.is_some_and(|share| start.elapsed() >= share);
            if enough { Err(Error::Interrupted { by: Interruption::TimeLimit }) } else { Ok(()) }
        };
        let outcome = if devices.len() > 1 {
            drive_all(&run, model, &mut state, devices, &|name| device::open(Some(name), *timeout), &mut step)
        } else {
            let work = CampaignWork { instruction: &instruction, sequence: run.sequence(), model };
            drive(&run, &mut state, engine(device, &work, run.nans())?.as_mut(), &mut step)
        };
        if enough {
            parts[at].end_here()?;
            ended.push(format!(
                "{instruction}: {} of the {DEFAULT_CASES} default cases fit into a minute; ‹cases=N› compares N.",
                parts[at].run.cases
            ));
            return Ok(());
        }
        outcome.map_err(|error| keeper.keep(parts, true).err().unwrap_or(error))
    }

    /// Time left for cases of an external program that nobody asked for; `None` where somebody did.
    fn share(&self) -> Option<Duration> {
        (!self.request.is_asked()).then(|| UNASKED.saturating_sub(self.start.elapsed()))
    }

    /// Lists the counterexamples of the part at `at`, reduced.
    fn reduce(&mut self, at: usize, device: &mut dyn Device, watch: &mut dyn FnMut(CampaignProgress)) -> Result<()> {
        let part = &mut self.parts[at];
        if part.counterexamples.is_some() {
            return Ok(());
        }
        if part.state.differing() > 0 && part.run.max_mismatches > 0 {
            watch(CampaignProgress::Stage(&format!("reducing counterexamples of {}", part.run.instruction)));
        }
        let external = part.ran.execution == ExecutionKind::External.name();
        let until = external.then(|| *self.reducing.get_or_insert_with(|| Instant::now() + UNASKED));
        let mut all = Vec::new();
        let outcome = counterexamples(part, device, &self.model, Budget { cases: BUDGET, until }, &mut all);
        part.counterexamples = Some(all);
        outcome?;
        self.keeper.keep(&self.parts, true)
    }

    /// Writes the counterexamples of each instruction as a trace, and notes where.
    /// `source` is the command line. After an interruption those that the device answers at once; none of a device that failed.
    ///
    /// # Errors
    /// The device fails; a file that cannot be written.
    pub fn write_counterexamples(
        &self,
        device: &mut dyn Device,
        files: &CounterexampleFiles,
        source: &str,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let until = match &self.stopped {
            None => None,
            Some(Error::Interrupted { .. }) => Some(Instant::now() + AFTER_INTERRUPTION),
            Some(_) => return Ok(()),
        };
        for part in &self.parts {
            let all = part.counterexamples.as_deref().unwrap_or_default();
            if all.is_empty() {
                continue;
            }
            let instruction = part.run.instruction()?;
            let Some(file) = files.of(&instruction) else {
                notes.push(
                    "‹counterexamples=FILE› keeps them; `tcnum verify FILE --device DEVICE` executes them again."
                        .into(),
                );
                break;
            };
            let metadata = BTreeMap::from([
                ("device".into(), device.identity().name.to_string()),
                ("description".into(), device.identity().description.clone()),
                ("source".into(), source.into()),
                ("execution".into(), part.ran.execution.clone()),
                ("tcnum".into(), env!("CARGO_PKG_VERSION").into()),
                (CONTENTS.into(), "counterexamples".into()),
            ]);
            let trace = counterexample_trace(part, all, device, metadata, until)?;
            match files {
                CounterexampleFiles::Named(_) => trace.write(&file)?,
                _ => trace.write_derived(&file, TraceKind::Counterexamples)?,
            }
            let (file, judge) = (file.display(), &self.judge);
            notes.push(format!(
                "The counterexamples of {instruction} are in {file}: `tcnum verify {file} --device DEVICE --model {judge}` executes \
                 them again."
            ));
        }
        Ok(())
    }
}

/// Where the counterexamples of an instruction go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CounterexampleFiles {
    /// Nowhere.
    Nowhere,
    /// To this file, which is replaced.
    Named(PathBuf),
    /// To `INSTRUCTION.safetensors` in this folder.
    Folder(PathBuf),
    /// To `RESULT.INSTRUCTION.safetensors` next to this file.
    NextTo(PathBuf),
}

impl CounterexampleFiles {
    /// The file of an instruction.
    pub fn of(&self, instruction: &Instruction) -> Option<PathBuf> {
        match self {
            CounterexampleFiles::Nowhere => None,
            CounterexampleFiles::Named(file) => Some(file.clone()),
            CounterexampleFiles::Folder(folder) => Some(folder.join(format!("{instruction}.safetensors"))),
            CounterexampleFiles::NextTo(result) => Some(result.with_extension(format!("{instruction}.safetensors"))),
        }
    }
}

/// Writes the checkpoint from time to time.
#[derive(Debug)]
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
