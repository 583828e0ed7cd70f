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
    arithmetic::{Evidence, EvidenceSource},
    Error, Result,
    base::{atomic, interrupt, parallel},
    comparison::Difference,
    device::{self, Device, Identity, Work},
    features::{self, Features},
    identify::{
        Confirmation, Fingerprint, HeldOut, Identification, KEPT, Likeness, Plan, Refuting, WORK, ask_reduced, confirm,
        evidence, evidence_of, fingerprint, identify, identify_recording, likeness, model_file, quick, reduced,
        tables::{self, Outcome},
    },
    inputs::Sequence,
    isa::{Case, Instruction},
    power::{Tested, sentences, summaries},
    report::{Report, Table},
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
    /// Tiles that the device may execute, the held-out run included. [default: 20000, and the held-out run]
    #[arg(long, value_name = "N", value_parser = integer(1..=u64::MAX))]
    budget: Option<u64>,
    /// Cases that are compared with what was found. [default: 1e10 on a GPU, 1e7 elsewhere]
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
    /// Write what was found to this model file.
    #[arg(long, value_name = "FILE", value_parser = output_file)]
    model_out: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// Runs the command; with what ended it early, where there is still something to report.
///
/// # Errors
/// Unknown names; a device that lacks an instruction, fails before it answers, or is not a function of its operands.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.common.destination);
    report.seed = Some(arguments.common.seed);
    if arguments.quick || arguments.features {
        let failure = short(arguments, &progress, report)?;
        return failure.map_or(Ok(()), Err);
    }
    let (known, failure) = match arguments.common.device.as_deref().and_then(|name| name.strip_prefix("trace:")) {
        Some(file) => (vec![recorded(arguments, Path::new(file))?.judged()?], None),
        None => asked(arguments, &progress, report)?,
    };
    let failure = match failure {
        Some(error) => report.until_interrupted::<()>(Err(error)).err(),
        None => None,
    };
    let lines = known.iter().filter_map(|known| Some((&known.found, known.tested.as_ref()?, &known.evidence[..])));
    report.tables = vec![tables::identified(known.iter().map(Known::outcome))];
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
    for known in &known {
        report.notes.extend(known.remarks());
    }
    let text = model_file(known.iter().map(|known| (&known.found, known.evidence())));
    if let Some(path) = &arguments.model_out {
        atomic::write(path, text.as_bytes()).map_err(|error| error.within("--model-out"))?;
        report.notes.push(format!("What was found is in {}.", path.display()));
    } else {
        report.notes.push(format!("The model file (--model-out writes it):\n{text}"));
    }
    failure.map_or(Ok(()), Err)
}

/// The short answers: a fingerprint, or the features, of each instruction.
fn short(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<Option<Error>> {
    let named = arguments.common.device.as_deref();
    if let Some(name) = named.filter(|name| name.starts_with("trace:")) {
        let flag = if arguments.quick { "--quick" } else { "--features" };
        return Err(Error::request(format!(
            "{name} is a recording, which has no outputs but its own: {flag} asks a device that computes; without it the recording is \
             searched"
        )));
    }
    let (mut fingerprints, mut measured): (Vec<Fingerprint>, Vec<Features>) = (Vec::new(), Vec::new());
    let failure = each(arguments, progress, report, &mut |instruction, device| {
        match arguments.quick {
            true => fingerprints.push(quick(device, instruction, arguments.common.seed)?),
            false => measured.push(features::measure(device, instruction)?),
        }
        Ok(())
    })?;
    let none = fingerprints.iter().filter(|found| found.matching.is_empty());
    let none: Vec<&str> = none.map(|found| &found.instruction.name[..]).collect();
    if !none.is_empty() {
        let names = none.join(", ");
        report.notes.push(format!(
            "None of the known arithmetics gives all answers of {names}; without --quick it is worked out."
        ));
    }
    if let [one] = &measured[..] {
        report.notes.extend(features::tables::reasons(one));
    }
    let done = fingerprints.len() + measured.len();
    report.holds = none.is_empty() && done > 0;
    let rows: Vec<_> = fingerprints.iter().map(fingerprint).collect();
    let tables = [Table::of("Known arithmetics", rows), features::tables::features(&measured)];
    report.tables = tables.into_iter().filter_map(Table::filled).collect();
    Ok(failure)
}

/// Does something for each chosen instruction of the device; with what ended it after the first.
fn each(
    arguments: &Arguments,
    progress: &Progress,
    report: &mut Report,
    ask: &mut dyn FnMut(&Instruction, &mut dyn Device) -> Result<()>,
) -> Result<Option<Error>> {
    let default = arguments.selection.device(&["bf16"], arguments.common.device.as_deref());
    let mut instructions = arguments.selection.instructions(&["bf16"], Some(&default))?;
    let mut device = device::open(Some(&default), Duration::from_secs(arguments.common.timeout))?;
    if arguments.selection.all {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    let mut failure = None;
    for (at, instruction) in instructions.iter().enumerate() {
        progress.step(&format!("asking {instruction} on {}", device.identity().name));
        match ask(instruction, device.as_mut()) {
            Ok(()) => {}
            Err(error) if arguments.selection.all && error.exit_status() == 2 => report.notes.push(error.to_string()),
            Err(error) if at > 0 => {
                report.until_interrupted::<()>(Err(error)).map_or_else(|error| failure = Some(error), |_| ());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    report.device = Some(device.identity().clone());
    Ok(failure)
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
    source: EvidenceSource,
}

impl Known {
    /// What a search found that took so long.
    fn new(found: Identification, seconds: f64, source: EvidenceSource) -> Known {
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
            source,
            found,
        }
    }

    /// Works out what the answers decide, and what the rule is like.
    fn judged(mut self) -> Result<Known> {
        self.like = likeness(&self.found);
        if self.outcome().agrees() {
            self.tested = tables::tested(&self.found)?;
            if let Some(tested) = &self.tested {
                self.evidence = evidence(&self.found, tested);
                if self.found.executions > 0 {
                    self.reduced = reduced(&self.found, tested, &self.evidence);
                }
            }
        } else if self.held_out.is_none() {
            self.missed = self.found.missed()?;
        }
        Ok(self)
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

    /// What is to be said beside the tables.
    fn remarks(&self) -> Vec<String> {
        let name = &self.found.instruction;
        let mut notes = Vec::new();
        if self.found.spent {
            notes.push(format!("{name}: the tiles that may be executed were used up before everything was asked."));
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
                sentences(&summaries(tested))
            ));
        }
        let (asked, misses) = (self.found.asked.d.len() as u64, self.found.misses as u64);
        let held_out = self.held_out.as_ref().map(|part| (part.state.compared(), part.state.differing()));
        if self.found.rule.is_empty() {
            notes.push(format!("{name}: no arithmetic was found that could be compared with the answers."));
        } else if misses > 0 || held_out.is_some_and(|(_, differing)| differing > 0) {
            let percent = |of: u64, misses: u64| format!("{:.4} %", 100.0 * (of - misses) as f64 / of.max(1) as f64);
            let asked = format!("{} of the {asked} asked outputs", percent(asked, misses));
            let compared = held_out.filter(|(compared, _)| *compared > 0);
            let others =
                compared.map(|(of, differing)| format!(", and {} of {of} held-out cases", percent(of, differing)));
            notes.push(format!(
                "{name}: no arithmetic of the model language was found that gives all answers; the nearest one that was gives {asked}{}.",
                others.unwrap_or_default()
            ));
        }
        notes
    }
}

/// What a recording leaves.
fn recorded(arguments: &Arguments, file: &Path) -> Result<Known> {
    let Selection { instructions, formats, all } = &arguments.selection;
    if !instructions.is_empty() || !formats.is_empty() || *all {
        return Err(Error::request("a recording is of one instruction: leave out --instr, --fmt and --all"));
    }
    if arguments.budget.is_some() || arguments.cases.is_some() {
        return Err(Error::request("a recording answers nothing else than it holds: leave out --budget and --cases"));
    }
    let trace = Trace::read(file)?;
    let start = Instant::now();
    let found = identify_recording(&trace, !arguments.from_nothing)?;
    let source = EvidenceSource::Recorded {
        by: file.display().to_string(),
        device: trace.metadata.get("device").cloned(),
        files: None,
    };
    Ok(Known::new(found, start.elapsed().as_secs_f64(), source))
}

/// What devices answer.
fn asked(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<(Vec<Known>, Option<Error>)> {
    let named = arguments.common.device.as_deref();
    let default = arguments.selection.device(&["bf16"], named);
    let mut instructions = arguments.selection.instructions(&["bf16"], Some(&default))?;
    let mut device = device::open(Some(&default), Duration::from_secs(arguments.common.timeout))?;
    if arguments.selection.all {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    device.announce_instructions(&instructions);
    // While the kernels of one held-out run are compiled, the next instructions are searched.
    let ahead = if is_gpu(device.as_ref()) { available_parallelism().map_or(1, usize::from) } else { 0 };
    let (mut all, mut waiting): (Vec<Known>, VecDeque<Known>) = (Vec::new(), VecDeque::new());
    let (mut failure, mut lacking) = (None, Vec::new());
    let mut begun = Vec::new();
    let mut left = instructions.iter();
    while failure.is_none() {
        let next = left.next();
        if let Some(instruction) = next {
            progress.step(&format!("identifying {instruction} on {}", device.identity().name));
            match search(arguments, instruction, device.as_mut(), &begun, Vec::new()) {
                Ok(known) => {
                    failure = known.stopped.clone();
                    begun.extend(Some(&known.found.rule).filter(|_| known.found.misses == 0).cloned());
                    announce(arguments, device.as_mut(), &known.found);
                    waiting.push_back(known);
                }
                Err(error) if arguments.selection.all && error.is_unavailable() => lacking.push(error.to_string()),
                Err(error) if !(all.is_empty() && waiting.is_empty()) => {
                    report.until_interrupted::<()>(Err(error)).map_or_else(|error| failure = Some(error), |_| ());
                    left = [].iter();
                }
                Err(error) => return Err(error),
            }
        }
        if failure.is_none() && (next.is_none() || waiting.len() > ahead) {
            let Some(known) = waiting.pop_front() else {
                if next.is_none() {
                    break;
                }
                continue;
            };
            let (known, failed) = confirmed(arguments, known, device.as_mut(), &begun, progress);
            all.push(known);
            failure = failed;
        }
    }
    // What could not be confirmed any more.
    all.extend(waiting.into_iter().map(|known| Known { stopped: known.stopped.clone().or(failure.clone()), ..known }));
    report.notes.extend(match &lacking[..] {
        [] => None,
        [one] => Some(one.clone()),
        [first, ..] => Some(format!(
            "Left out: {} instructions that the device lacks; of the first it says: {first}",
            lacking.len()
        )),
    });
    progress.step("working out what decided each line");
    all = parallel::try_map(all, Known::judged)?;
    for known in &mut all {
        if failure.is_some() {
            break;
        }
        // What is left of a number of tiles after a held-out run that found nothing.
        let left = |budget: u64| budget.saturating_sub(known.found.executions) / KEPT;
        known.asked_again(device.as_mut(), arguments.budget.map_or(u64::MAX, left));
        failure = known.stopped.clone();
    }
    report.device = Some(device.identity().clone());
    Ok((all, failure))
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
    let plan = Plan { seed, budget, catalogue: !arguments.from_nothing, also, begun: begun.to_vec(), work: WORK };
    let found = identify(device, instruction, plan)?;
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
    Ok(Known::new(found, start.elapsed().as_secs_f64(), source))
}

/// Holds what was found against the device. What that finds different leads the search on.
fn confirmed(
    arguments: &Arguments,
    mut known: Known,
    device: &mut dyn Device,
    begun: &[toml::Table],
    progress: &Progress,
) -> (Known, Option<Error>) {
    let mut also = Vec::new();
    for _ in 0..MOST_SEARCHES {
        hold_against(arguments, &mut known, device, progress);
        let differing = known.held_out.iter().flat_map(|part| part.counterexamples.iter().flatten());
        let cases: Vec<Case> = differing.map(|counterexample| counterexample.found.case.clone()).collect();
        // Of a number of tiles that was given there is one search.
        let goes_on = known.stopped.is_none() && known.found.misses == 0 && arguments.budget.is_none();
        if !goes_on || cases.is_empty() || also.len() >= MOST_ADDED {
            let stopped = known.stopped.clone();
            return (known, stopped);
        }
        also.extend(cases);
        match search(arguments, &known.found.instruction, device, begun, also.clone()) {
            Ok(next) => {
                let (spent, seconds) = (known.found.executions, known.seconds);
                known = next;
                known.found.executions += spent;
                known.seconds += seconds;
            }
            Err(error) => {
                known.stopped = Some(error.clone());
                return (known, Some(error));
            }
        }
    }
    hold_against(arguments, &mut known, device, progress);
    let stopped = known.stopped.clone();
    (known, stopped)
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
    let held_out = HeldOut { seed: held_out_seed(arguments), cases, budget: left };
    match confirm(device, &known.found, held_out, &mut watch) {
        Ok(Confirmation { part, missed, stopped }) => {
            (known.held_out, known.missed, known.stopped) = (Some(part), missed, stopped);
        }
        Err(error) => known.stopped = Some(error),
    }
}
