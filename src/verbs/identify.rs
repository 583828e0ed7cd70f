//! `tcnum identify`.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    thread::available_parallelism,
    time::{Duration, Instant},
};

use clap::Args;

use super::{
    Bar, Common, Progress,
    options::{cases, integer, output_file},
    select::{self, Selection},
};
use crate::{
    Error, Result, Stage,
    arithmetic::{Evidence, EvidenceSource},
    base::{atomic, interrupt, pace::UNASKED},
    comparison::{Difference, Nans, OneNan, with_one_nan},
    device::{self, Device, Identity, Work},
    document::chip,
    features::{self, Features},
    identify::{
        Confirmation, Fingerprint, HeldOut, Identification, KEPT, Likeness, Plan, Refuting, WORK, ask_reduced, confirm,
        evidence, evidence_of, fingerprint, identify, identify_recording, likeness, model_file, quick, reduced,
        tables::{self, IdentifiedRow, Outcome},
    },
    inputs::Sequence,
    isa::{Case, Instruction},
    power::Tested,
    report::{Report, Table, Verdict, grouped},
    trace::Trace,
    verify::{MOST_CASES, Part, State, tables as verification},
};

/// Tiles that a search may ask for where no number is given.
const DEFAULT_BUDGET: u64 = 20_000;
/// Held-out cases where no number is given: of a GPU, and of any other device.
const GPU_CASES: u64 = 10_000_000_000;
const OTHER_CASES: u64 = 10_000_000;
/// How often the search begins again with what the held-out run found different, and the cases that it takes along.
const MOST_SEARCHES: usize = 4;
const MOST_ADDED: usize = 64;

/// Works out the arithmetic of an instruction from its answers, and writes it as a model file.
///
/// Example: tcnum identify --instr mma.m16n8k16.f32.bf16.bf16.f32 --model-out found.toml
///
/// Example: tcnum identify --device trace:recorded.safetensors
///
/// Example: tcnum identify --quick --fmt f16
///
/// Example: tcnum identify --features --fmt f16 --device model:ampere
///
/// The device is asked corners and adversarial tiles; candidates from the whole model language are changed until they agree with every answer,
/// and told apart by tiles on which they differ. Then it is compared with what was found on cases that took no part in that. Of a
/// recording nothing can be asked: what it leaves open is said. Exit status 1 if no arithmetic was found that agrees with
/// everything: the nearest one is given, with its agreement and the smallest counterexamples. Exit status 3 if the device fails, or is
/// not a function of its operands, which two tiles show; what was learned until then is written out.
///
/// --quick only says which of the known arithmetics it is, and --features prints the table of features that the literature lists
/// (docs/identify.md).
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Tiles that the device may execute, the held-out run included. [default: 20000 or as many as it answers in a minute, and the
    /// held-out run]
    #[arg(long, value_name = "N", value_parser = integer(1..=u64::MAX))]
    budget: Option<u64>,
    /// Cases that are compared with what was found. [default: 1e10 on a GPU, 1e7 elsewhere, or as many as fit into a minute]
    #[arg(long, value_name = "N", value_parser = cases(MOST_CASES))]
    cases: Option<u64>,
    /// Begin from nothing: not with the arithmetics of shipped models.
    #[arg(long)]
    from_nothing: bool,
    /// Only ask the test kit of the instruction, which tells all known arithmetics apart: at most 64 tiles. Exit status 1 if it is
    /// none of them.
    #[arg(long, conflicts_with_all = ["features", "budget", "cases", "from_nothing", "model_out"])]
    quick: bool,
    /// Only measure the features that the literature lists: subnormal numbers, order, alignment, extra bits, roundings, special values,
    /// and others; JSON and CSV have an input that shows each.
    #[arg(long, conflicts_with_all = ["budget", "cases", "from_nothing", "model_out"])]
    features: bool,
    /// Count any NaN code as equal to any other NaN code: what the device's NaN is, is then not measured.
    #[arg(long)]
    any_nan: bool,
    /// Write what was found to this model file.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    model_out: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// Runs the command.
///
/// # Errors
/// Unknown names; a device that lacks an instruction, fails, or is not a function of its operands; an interruption; a file that cannot
/// be written.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.common.destination);
    report.seed = Some(arguments.common.seed);
    if arguments.quick {
        return fingerprints(arguments, &progress, report);
    }
    if arguments.features {
        return measured(arguments, &progress, report);
    }
    let mut known = Vec::new();
    let outcome = match arguments.common.device.as_deref().and_then(|name| name.strip_prefix("trace:")) {
        Some(file) => {
            report.notes.extend(one_nan(arguments));
            recorded(arguments, Path::new(file), &mut known)
        }
        None => asked(arguments, &progress, report, &mut known),
    };
    if known.is_empty() {
        return outcome;
    }
    let outcome = report.until_interrupted(outcome);
    // What cannot be reported keeps nothing back that can.
    let shown = show(arguments, &known, report);
    outcome.and(shown)
}

/// Puts what is known into the report, and writes the model file.
///
/// # Errors
/// The model file cannot be written.
fn show(arguments: &Arguments, known: &[Known], report: &mut Report) -> Result<()> {
    let rows: Vec<IdentifiedRow> = known.iter().map(|known| tables::row(&known.outcome())).collect();
    report.answer = tables::answer(&rows, known.first().map_or("", |known| &known.device));
    report.tables = vec![Table::of("Arithmetics that were worked out", rows)];
    let lines = known.iter().filter_map(|known| Some((&known.found, known.tested.as_ref()?, &known.evidence[..])));
    report.tables.extend(tables::lines(lines).filled());
    let parts: Vec<Part> = known.iter().filter_map(|known| known.held_out.clone()).collect();
    if !parts.is_empty() {
        report.tables.push(verification::regimes(&parts));
    }
    let (differences, signatures) =
        tables::differences(known.iter().map(|known| (&known.found, &known.missed[..], known.held_out.as_ref())))?;
    report.tables.extend(differences);
    report.notes.extend(signatures);
    report.holds = !known.is_empty() && known.iter().all(|known| known.outcome().agrees());
    report.verdict = Verdict::Unidentified;
    report.notes.extend(known.iter().flat_map(Known::remarks));
    let found: Vec<&Known> = known.iter().filter(|known| !known.found.rule.is_empty()).collect();
    if found.is_empty() {
        return Ok(());
    }
    let text = model_file(found.iter().map(|known| (&known.found, known.evidence())));
    match &arguments.model_out {
        Some(path) => {
            atomic::write(path, text.as_bytes()).map_err(|error| error.within("--model-out"))?;
            report.notes.push(format!("What was found is in {}.", path.display()));
        }
        None => report.notes.push(format!("The model file (--model-out writes it):\n{text}")),
    }
    Ok(())
}

/// The device and the instructions that are asked of it; a recording is refused.
fn chosen(arguments: &Arguments, report: &mut Report) -> Result<(Box<dyn Device>, Vec<Instruction>)> {
    let named = arguments.common.device.as_deref();
    if let Some(name) = named.filter(|name| name.starts_with("trace:")) {
        let flag = if arguments.quick { "--quick" } else { "--features" };
        return Err(Error::request(format!(
            "{name} is a recording, which has no outputs but its own: {flag} asks a device that computes; without it the recording is \
             searched"
        )));
    }
    let name = arguments.selection.device(&["bf16"], named);
    let mut instructions = arguments.selection.instructions(&["bf16"], Some(&name))?;
    let device = device::open(Some(&name), Duration::from_secs(arguments.common.timeout))?;
    if arguments.selection.all {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    report.notes.extend(one_nan(arguments));
    Ok((if arguments.any_nan { Box::new(OneNan(device)) } else { device }, instructions))
}

/// Which known arithmetic each instruction has.
fn fingerprints(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<()> {
    let (mut device, instructions) = chosen(arguments, report)?;
    device.announce_instructions(&instructions);
    let mut found: Vec<Fingerprint> = Vec::new();
    let mut ask = || {
        instructions.iter().try_for_each(|instruction| {
            progress.step(&format!("asking {instruction} on {}", device.identity().name));
            match quick(device.as_mut(), instruction, arguments.common.seed, arguments.any_nan.into()) {
                Err(error) if arguments.selection.all && error.exit_status() == 2 => {
                    report.notes.push(error.to_string())
                }
                outcome => found.push(outcome?),
            }
            Ok(())
        })
    };
    let outcome = ask();
    report.device = Some(device.identity().clone());
    report.holds = !found.is_empty() && found.iter().all(|found| !found.matching.is_empty());
    report.verdict = Verdict::Unidentified;
    report.answer = tables::known(&found, &chip(device.identity()));
    report.tables = vec![Table::of("Known arithmetics", found.iter().map(fingerprint))];
    outcome
}

/// The features of each instruction.
fn measured(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<()> {
    let (mut device, instructions) = chosen(arguments, report)?;
    let mut found: Vec<Features> = Vec::new();
    let (mut done, total) = (0, instructions.len() as u64);
    let what = format!("asking {}", device.identity().name);
    progress.at(Stage { what: &what, done, total });
    let outcome = features::measure_all(device.as_mut(), &instructions, &mut |_, features| {
        match features {
            Err(error) if arguments.selection.all && error.exit_status() == 2 => report.notes.push(error.to_string()),
            outcome => found.push(outcome?),
        }
        done += 1;
        progress.at(Stage { what: &what, done, total });
        Ok(())
    });
    report.device = Some(device.identity().clone());
    report.holds = !found.is_empty() && found.iter().all(|features| features.uniform.is_none());
    report.answer = features::tables::answer(&found, &chip(device.identity()));
    if let [one] = &found[..] {
        report.notes.extend(features::tables::reasons(one));
    }
    report.tables = vec![features::tables::features(&found)];
    outcome
}

/// What is known of one instruction.
struct Known {
    found: Identification,
    like: Option<Likeness>,
    /// What decided the lines of a rule that agrees with everything, the inputs that did, and these reduced.
    tested: Option<Tested>,
    evidence: Vec<Refuting>,
    reduced: Vec<Refuting>,
    /// The simplest of the asked outputs that the rule misses.
    missed: Vec<Difference>,
    held_out: Option<Part>,
    /// What ended it before its end.
    stopped: Option<Error>,
    seconds: f64,
    /// The device in short, and the source that its answers are.
    device: String,
    source: EvidenceSource,
}

impl Known {
    /// What a search found that took so long.
    fn new(found: Identification, seconds: f64, device: String, source: EvidenceSource) -> Known {
        let stopped = found.failure.as_ref();
        let stopped = stopped.map(|failed| interrupt::check().err().unwrap_or_else(|| Error::device(failed.clone())));
        Known {
            like: None,
            tested: None,
            evidence: Vec::new(),
            reduced: Vec::new(),
            missed: Vec::new(),
            held_out: None,
            stopped,
            seconds,
            device,
            source,
            found,
        }
    }

    /// Works out what the answers decide, and what the rule is like: of what was ended early only what is known at once.
    fn judge(&mut self) -> Result<()> {
        self.like = likeness(&self.found);
        if self.stopped.is_some() {
            return Ok(());
        }
        if !self.outcome().agrees() {
            if self.held_out.is_none() {
                self.missed = self.found.missed()?;
            }
            return Ok(());
        }
        let tested = tables::tested(&self.found)?;
        if let Some(tested) = &tested {
            self.evidence = evidence(&self.found, tested);
            if self.found.executions > 0 {
                self.reduced = reduced(&self.found, tested, &self.evidence);
            }
        }
        self.tested = tested;
        Ok(())
    }

    /// Asks the device for the reduced inputs, at most so many tiles.
    fn asked_again(&mut self, device: &mut dyn Device, most: u64) {
        if self.stopped.is_some() || self.reduced.is_empty() {
            return;
        }
        let reduced = std::mem::take(&mut self.reduced);
        self.stopped = ask_reduced(device, &mut self.found, &mut self.evidence, reduced, most).err();
        if self.found.misses > 0 {
            self.tested = None;
            self.missed = self.found.missed().unwrap_or_default();
        }
    }

    fn outcome(&self) -> Outcome<'_> {
        let Known { found, like, held_out, stopped, seconds, .. } = self;
        let (like, held_out, stopped) = (like.as_ref(), held_out.as_ref(), stopped.is_some());
        Outcome { found, like, held_out, stopped, seconds: *seconds }
    }

    /// The evidence of the rule.
    fn evidence(&self) -> Evidence {
        let held_out = self.held_out.as_ref().map(|part| (part.state.compared(), part.state.differing()));
        evidence_of(&self.found, &self.source, held_out, self.tested.as_ref())
    }

    /// What the reader of the tables must know.
    fn remarks(&self) -> Vec<String> {
        let name = &self.found.instruction;
        let mut notes = Vec::new();
        if self.found.spent {
            notes.push(format!(
                "{name}: asking ended after {} tiles, before everything was asked; --budget N asks for N tiles.",
                grouped(self.found.executions as i64)
            ));
        }
        match &self.stopped {
            Some(Error::Interrupted { .. }) | None => {}
            Some(error) => notes.push(format!("{name}: this is what was learned until the device failed: {error}")),
        }
        if let (0, Some(tested)) = (self.found.executions, &self.tested) {
            let known = self.found.agreeing();
            let also = match known.len() {
                0 | 1 => String::new(),
                count => format!(" {count} known arithmetics give all of its outputs: those of {}.", known.join(", ")),
            };
            notes.push(format!(
                "{name}: what the outputs of the recording say: {}.{also}",
                tables::decisions(&self.found, tested)
            ));
        }
        if let Some(part) = self.held_out.as_ref().filter(|part| self.stopped.is_none() && !part.state.finished) {
            notes.push(format!(
                "{name}: the held-out run ended after {} seconds with {} cases; --cases N asks for N cases.",
                UNASKED.as_secs(),
                grouped(part.state.compared() as i64)
            ));
        }
        notes
    }
}

/// What is to be said of a device of which every NaN is one.
fn one_nan(arguments: &Arguments) -> Option<String> {
    let canonical =
        "The canonical NaN of D's format stands for each of them, and what the rule says of NaN was not measured.";
    Some(format!("{} {canonical}", Nans::from(arguments.any_nan).note()?))
}

/// What a recording leaves.
fn recorded(arguments: &Arguments, file: &Path, known: &mut Vec<Known>) -> Result<()> {
    let Selection { instructions, formats, all } = &arguments.selection;
    if !instructions.is_empty() || !formats.is_empty() || *all {
        return Err(Error::request("a recording is of one instruction: leave out --instr, --fmt and --all"));
    }
    if arguments.budget.is_some() || arguments.cases.is_some() {
        return Err(Error::request("a recording answers nothing else than it holds: leave out --budget and --cases"));
    }
    let mut trace = Trace::read(file)?;
    if arguments.any_nan {
        trace.d = with_one_nan(trace.instruction.d, trace.d);
    }
    let start = Instant::now();
    let found = identify_recording(&trace, !arguments.from_nothing)?;
    let found = Identification { nans: arguments.any_nan.into(), ..found };
    let source = EvidenceSource::Recorded {
        by: file.display().to_string(),
        device: trace.metadata.get("device").cloned(),
        files: None,
    };
    let name = format!("the recording {}", file.display());
    let mut own = Known::new(found, start.elapsed().as_secs_f64(), name, source);
    let judged = own.judge();
    let outcome = own.stopped.clone().map_or(judged, Err);
    known.push(own);
    outcome
}

/// What devices answer.
fn asked(arguments: &Arguments, progress: &Progress, report: &mut Report, all: &mut Vec<Known>) -> Result<()> {
    let (mut device, instructions) = chosen(arguments, report)?;
    device.announce_instructions(&instructions);
    let outcome = ask(arguments, progress, (device.as_mut(), &instructions), &mut report.notes, all);
    report.device = Some(device.identity().clone());
    outcome
}

/// Asks a device about each instruction.
fn ask(
    arguments: &Arguments,
    progress: &Progress,
    (device, instructions): (&mut dyn Device, &[Instruction]),
    notes: &mut Vec<String>,
    all: &mut Vec<Known>,
) -> Result<()> {
    // While the kernels of one held-out run are compiled, the next instructions are searched.
    let ahead = if is_gpu(device) { available_parallelism().map_or(1, usize::from) } else { 0 };
    let mut waiting: VecDeque<Known> = VecDeque::new();
    let (mut lacking, mut begun) = (Vec::new(), Vec::new());
    let mut left = instructions.iter();
    let mut work = || {
        loop {
            let next = left.next();
            if let Some(instruction) = next {
                progress.step(&format!("identifying {instruction} on {}", device.identity().name));
                match search(arguments, instruction, device, &begun, Vec::new()) {
                    Err(error) if arguments.selection.all && error.is_unavailable() => lacking.push(error.to_string()),
                    outcome => {
                        let known = outcome?;
                        begun.extend(Some(&known.found.rule).filter(|_| known.found.misses == 0).cloned());
                        announce(arguments, device, &known.found);
                        let stopped = known.stopped.clone();
                        waiting.push_back(known);
                        stopped.map_or(Ok(()), Err)?;
                    }
                }
            }
            if next.is_none() || waiting.len() > ahead {
                match waiting.pop_front() {
                    Some(known) => all.push(confirmed(arguments, known, device, &begun, progress)),
                    None if next.is_none() => return Ok(()),
                    None => continue,
                }
                if let Some(Err(error)) = all.last().map(|known| known.stopped.clone().map_or(Ok(()), Err)) {
                    return Err(error);
                }
            }
        }
    };
    let outcome = work();
    // What could not be confirmed any more.
    all.extend(waiting.into_iter().map(|known| Known { stopped: known.stopped.or(outcome.clone().err()), ..known }));
    for known in all.iter_mut().filter(|known| known.like.is_none()) {
        known.like = likeness(&known.found);
    }
    notes.extend(match &lacking[..] {
        [] => None,
        [one] => Some(one.clone()),
        [first, ..] => Some(format!(
            "Left out: {} instructions that the device lacks; of the first it says: {first}",
            lacking.len()
        )),
    });
    outcome
}

fn is_gpu(device: &dyn Device) -> bool {
    device.identity().name.starts_with("cuda:")
}

/// Lets the device get ready for the held-out run of what was found.
fn announce(arguments: &Arguments, device: &mut dyn Device, found: &Identification) {
    if let Some(model) = found.model() {
        let sequence = Sequence::Random { seed: held_out_seed(arguments) };
        device.announce(&[Work { instruction: &found.instruction, sequence, model: &model }]);
    }
}

fn held_out_seed(arguments: &Arguments) -> u64 {
    arguments.common.seed.wrapping_add(1)
}

/// The search for the arithmetic of one instruction.
fn search(
    arguments: &Arguments,
    instruction: &Instruction,
    device: &mut dyn Device,
    begun: &[toml::Table],
    also: Vec<Case>,
) -> Result<Known> {
    let Common { seed, .. } = arguments.common;
    // A part is left for the held-out run.
    let budget = arguments.budget.map_or(DEFAULT_BUDGET, |budget| budget - budget / 4);
    let start = Instant::now();
    let time = if arguments.budget.is_some() { Duration::MAX } else { UNASKED };
    let (catalogue, begun) = (!arguments.from_nothing, begun.to_vec());
    let found = identify(device, instruction, Plan { seed, budget, time, catalogue, also, begun, work: WORK })?;
    let found = Identification { nans: arguments.any_nan.into(), ..found };
    let Identity { name, description, .. } = device.identity();
    let notes = &arguments.common.destination.annotations;
    let source = match device.model() {
        Some(_) => EvidenceSource::Assumed { why: format!("as {name} computes it") },
        None => EvidenceSource::Measured {
            device: format!("{name} ({description})"),
            // What the caller says with --note date=2026-11-21: no result depends on the clock.
            date: notes.iter().find(|(key, _)| key == "date").map(|(_, date)| date.clone()),
            cases: None,
            files: None,
        },
    };
    Ok(Known::new(found, start.elapsed().as_secs_f64(), chip(device.identity()), source))
}

/// Holds what was found against the device, where what differs leads the search on, and works out what decided its lines.
fn confirmed(
    arguments: &Arguments,
    known: Known,
    device: &mut dyn Device,
    begun: &[toml::Table],
    progress: &Progress,
) -> Known {
    let mut known = known;
    let outcome = compared(arguments, &mut known, device, begun, progress).and_then(|()| known.judge());
    known.stopped = known.stopped.or(outcome.err());
    // What is left of a number of tiles after a held-out run that found nothing.
    let left = |budget: u64| budget.saturating_sub(known.found.executions) / KEPT;
    known.asked_again(device, arguments.budget.map_or(u64::MAX, left));
    known
}

/// Compares what was found with the device; what differs leads the search on.
///
/// # Errors
/// The device fails; an interruption.
fn compared(
    arguments: &Arguments,
    known: &mut Known,
    device: &mut dyn Device,
    begun: &[toml::Table],
    progress: &Progress,
) -> Result<()> {
    let mut also = Vec::new();
    for _ in 0..MOST_SEARCHES {
        hold_against(arguments, known, device, progress);
        let differing = known.held_out.iter().flat_map(|part| part.counterexamples.iter().flatten());
        let cases: Vec<Case> = differing.map(|counterexample| counterexample.found.case.clone()).collect();
        // Of a number of tiles that was given there is one search.
        let goes_on = known.stopped.is_none() && known.found.misses == 0 && arguments.budget.is_none();
        if !goes_on || cases.is_empty() || also.len() >= MOST_ADDED {
            return Ok(());
        }
        also.extend(cases);
        let next = search(arguments, &known.found.instruction, device, begun, also.clone())?;
        let (spent, seconds) = (known.found.executions, known.seconds);
        *known = next;
        known.found.executions += spent;
        known.seconds += seconds;
    }
    hold_against(arguments, known, device, progress);
    Ok(())
}

/// The held-out run.
fn hold_against(arguments: &Arguments, known: &mut Known, device: &mut dyn Device, progress: &Progress) {
    let instruction = &known.found.instruction;
    let each = (instruction.m * instruction.n) as u64;
    let cases = arguments.cases.unwrap_or(if is_gpu(device) { GPU_CASES } else { OTHER_CASES });
    let left = arguments.budget.map(|budget| budget.saturating_sub(known.found.executions));
    if known.stopped.is_some() || known.found.rule.is_empty() || left.is_some_and(|left| left < 2) {
        return;
    }
    let bar = Bar::new(progress, &instruction.name, cases.div_ceil(each), 0, each);
    let mut watch = |state: &State| {
        bar.show(state.next, state.differing());
        Ok(())
    };
    let time = if arguments.cases.is_some() || left.is_some() { None } else { Some(UNASKED) };
    let held_out = HeldOut { seed: held_out_seed(arguments), cases, budget: left, time };
    match confirm(device, &known.found, held_out, &mut watch) {
        Ok(Confirmation { part, missed, stopped }) => {
            (known.held_out, known.missed, known.stopped) = (Some(part), missed, stopped);
        }
        Err(error) => known.stopped = Some(error),
    }
}
