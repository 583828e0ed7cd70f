//! `tcnum identify`: the arithmetic of an instruction.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    Bar, Common, OutputDestination, Progress, Verb,
    options::{integer, output_file},
    select::Selection,
    shared::{AnyNan, Cases, WithoutModels, with_default},
};
use crate::{
    Error, Result,
    base::atomic,
    comparison::Nans,
    device::{Device, DeviceName},
    document::chip,
    identify::{self, Limits, Questions, Request, Study, fingerprint, quick_all, study_recording, tables},
    isa::Instruction,
    report::{Report, Table, Verdict, counted},
    trace::{self, Trace},
};

const HELP: &str = "\
Examples:
  tcnum identify --device hopper --instr mma.m16n8k8.f16.f16.f16.f16 --cases 1e5
  tcnum identify --device trace:tests/recordings/vectors/v100_f16_f32.safetensors
      a recording
  tcnum identify --quick --fmt f16 --device hopper
      the known arithmetic with the same answers to a test kit

More: docs/identify.md";

/// Finds the arithmetic of an instruction from its answers; writes a model file.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("cases", |option| with_default(option, "a minute")))]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Start the search without the shipped models
    #[arg(long, help_heading = "What")]
    from_nothing: bool,
    #[command(flatten)]
    without_models: WithoutModels,
    /// Only compare with the known arithmetics, by a test kit
    #[arg(long, conflicts_with_all = ["budget", "cases", "from_nothing", "model_out", "without_models"], help_heading = "What")]
    quick: bool,
    #[command(flatten)]
    any_nan: AnyNan,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    cases: Cases,
    /// Write the rule to this model file
    #[arg(long, value_name = "FILE", value_parser = output_file, help_heading = "Output")]
    model_out: Option<PathBuf>,
    /// Write inputs that would decide what is open, for `tcnum record --inputs`
    #[arg(long, value_name = "FILE", value_parser = output_file, conflicts_with = "quick", help_heading = "Output")]
    ask: Option<PathBuf>,
    /// Further recordings of the instruction, with --device trace:FILE
    #[arg(long = "also-recorded", value_name = "FILE", num_args = 1.., conflicts_with = "quick", help_heading = "What")]
    recordings: Vec<PathBuf>,
    /// Answers that the program of `tcnum kit` has printed
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["quick", "device", "recordings", "instructions", "formats", "all", "budget", "cases", "without_models"], help_heading = "What")]
    answers: Vec<PathBuf>,
    /// Most tiles to execute [default: 20000 and a held-out run]
    #[arg(long, value_name = "N", value_parser = integer(1..=u64::MAX), help_heading = "Limits")]
    budget: Option<u64>,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.common.destination)
    }
}

/// Runs the command.
///
/// # Errors
/// Unknown names; a device that lacks an instruction, fails, or is not a function of its operands; an interruption; a file that cannot
/// be written.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.common.destination);
    report.seed = Some(*arguments.common.seed);
    if arguments.quick {
        return fingerprints(arguments, &progress, report);
    }
    let mut study = Study::default();
    let (name, outcome) = match arguments.common.device.as_ref().and_then(DeviceName::trace) {
        _ if !arguments.answers.is_empty() => {
            report.notes.extend(Nans::from(*arguments.any_nan).note_on_device());
            printed(arguments, &progress, &mut study)?
        }
        Some(file) => {
            report.notes.extend(Nans::from(*arguments.any_nan).note_on_device());
            (format!("the recording {file}"), recorded(arguments, file, &mut study))
        }
        None => {
            if !arguments.recordings.is_empty() {
                return Err(Error::request("--also-recorded needs --device trace:FILE"));
            }
            let (mut device, instructions) = chosen(arguments, report)?;
            if arguments.ask.is_some() && instructions.len() > 1 {
                let count = instructions.len();
                return Err(Error::request(format!("--ask: {count} instructions are chosen, and a file has one")));
            }
            let outcome = asked(arguments, &progress, device.as_mut(), &instructions, &mut study);
            report.device = Some(device.identity().clone());
            report.notes.extend(tables::left_out(&study.lacking));
            (chip(device.identity()), outcome)
        }
    };
    if study.findings.is_empty() {
        return outcome;
    }
    let outcome = report.until_interrupted(outcome);
    // An error in a part of the report does not suppress the rest.
    let shown = tables::report(&study, &name, report).and_then(|()| write(arguments, report));
    report.notes.extend(next_kit(arguments, &study));
    outcome.and(shown).and(write_questions(arguments, &study, report))
}

/// Writes the model file, or shows it.
///
/// # Errors
/// The file cannot be written.
fn write(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let Some(text) = &report.model else { return Ok(()) };
    match &arguments.model_out {
        Some(path) => {
            atomic::write(path, text.as_bytes()).map_err(|error| error.within("--model-out"))?;
            report.notes.push(format!("The model file is {}.", path.display()));
        }
        None => report.notes.push(format!("The model file (‹model_out› writes it):\n{text}")),
    }
    Ok(())
}

/// The kit that asks more of a unit whose answers to kits no rule gives.
fn next_kit(arguments: &Arguments, study: &Study) -> Option<String> {
    let open = study.findings.iter().filter(|finding| finding.stopped.is_none() && !finding.agrees());
    let names: Vec<String> = open.map(|finding| format!("--instr {}", finding.identification.instruction)).collect();
    let files: Vec<String> = arguments.answers.iter().map(|file| file.display().to_string()).collect();
    let seed = *arguments.common.seed + 1;
    (!files.is_empty() && !names.is_empty()).then(|| {
        format!(
            "More answers narrow down a unit that computes as no known one: `tcnum kit {} --tiles 64 --seed {seed} --out next.cu` (or .hip, .c), \
             then `tcnum identify --answers {} next-answers.txt`.",
            names.join(" "),
            files.join(" ")
        )
    })
}

/// Writes the inputs that decide what the answers leave open, and says how they are answered.
///
/// # Errors
/// The file cannot be written.
fn write_questions(arguments: &Arguments, study: &Study, report: &mut Report) -> Result<()> {
    let (Some(path), [finding]) = (&arguments.ask, &study.findings[..]) else { return Ok(()) };
    let file = path.display();
    let note = match finding.questions(*arguments.common.seed) {
        None => format!("Without a rule that gives every answer there is nothing to ask: {file} is not written."),
        Some(Questions { open: 0, .. }) => {
            format!("The answers leave nothing open that operands could show: {file} is not written.")
        }
        Some(Questions { trace: None, open, .. }) => {
            format!(
                "No input was found that decides one of {}: {file} is not written.",
                counted(open as u64, "open change")
            )
        }
        Some(Questions { trace: Some(trace), decided, open }) => {
            trace.write(path).map_err(|error| error.within("--ask"))?;
            let how = match arguments.answers.is_empty() {
                true => format!(
                    "Answer them with `tcnum record --inputs {file} --device DEVICE --out ANSWERS`, and repeat this command with \
                     `--also-recorded ANSWERS`."
                ),
                false => format!(
                    "The next kit asks them: `tcnum kit --inputs {file} --out next.cu` (or .hip, .c). Repeat this command with its answers \
                     as one more file."
                ),
            };
            let (tiles, open) = (counted(trace.count() as u64, "tile"), counted(open as u64, "open change"));
            format!("{tiles} in {file} decide {decided} of {open}. {how}")
        }
    };
    report.notes.push(note);
    Ok(())
}

/// The device and the instructions that are asked of it; a recording is refused.
fn chosen(arguments: &Arguments, report: &mut Report) -> Result<(Box<dyn Device>, Vec<Instruction>)> {
    let named = arguments.common.device.as_ref();
    let wanted = "--quick needs a device that computes; without it the recording is searched";
    named.map_or(Ok(()), |name| name.computes(wanted))?;
    let timeout = arguments.common.timeout.duration();
    let mut chosen = arguments.selection.opened(named, timeout, *arguments.any_nan, &mut report.notes)?;
    let name = chosen.0.identity().name.clone();
    arguments.common.share(&name, chosen.0.as_mut())?;
    report.notes.extend(Nans::from(*arguments.any_nan).note_on_device());
    Ok(chosen)
}

/// Finds the known arithmetic of each instruction.
fn fingerprints(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<()> {
    let (mut device, instructions) = chosen(arguments, report)?;
    let kept = (*arguments.common.seed, (*arguments.any_nan).into());
    let (fingerprints, outcome) =
        arguments.selection.each(progress, device.as_mut(), &instructions, &mut report.notes, |device, receive| {
            quick_all(device, &instructions, kept, receive)
        });
    report.device = Some(device.identity().clone());
    report.holds = !fingerprints.is_empty() && fingerprints.iter().all(|fingerprint| !fingerprint.matching.is_empty());
    report.verdict = Verdict::Unidentified;
    report.answer = identify::known(&fingerprints, &chip(device.identity()));
    report.tables = vec![Table::of("Known arithmetics", fingerprints.iter().map(fingerprint))];
    outcome
}

/// Identifies the arithmetic of a recording.
fn recorded(arguments: &Arguments, file: &str, study: &mut Study) -> Result<()> {
    if !arguments.selection.is_empty() {
        return Err(Error::request("a recording has one instruction; leave out --instr, --fmt and --all"));
    }
    if !arguments.without_models.is_empty() {
        return Err(Error::request("--without-model needs a device that can be asked; leave it out for a recording"));
    }
    if arguments.budget.is_some() || arguments.cases.is_some() {
        return Err(Error::request("a recording cannot be asked new inputs; leave out --budget and --cases"));
    }
    let mut trace = Trace::read(Path::new(file))?;
    for other in &arguments.recordings {
        trace = trace.joined(&Trace::read(other)?).map_err(|error| error.within(other.display()))?;
    }
    let finding = study_recording(trace, file.into(), !arguments.from_nothing, (*arguments.any_nan).into())?;
    let outcome = finding.stopped.clone().map_or(Ok(()), Err);
    study.findings.push(finding);
    outcome
}

/// Identifies the arithmetics that the answers to kits show; returns a name for whoever gave them.
fn printed(arguments: &Arguments, progress: &Progress, study: &mut Study) -> Result<(String, Result<()>)> {
    let mut traces: Vec<Trace> = Vec::new();
    for file in &arguments.answers {
        for trace in trace::read_printed(file)? {
            match traces.iter_mut().find(|other| other.instruction == trace.instruction) {
                Some(other) => *other = other.joined(&trace).map_err(|error| error.within(file.display()))?,
                None => traces.push(trace),
            }
        }
    }
    if arguments.ask.is_some() && traces.len() > 1 {
        let count = traces.len();
        return Err(Error::request(format!("--ask: the answers are of {count} instructions, and a file has one")));
    }
    let files: Vec<String> = arguments.answers.iter().map(|file| file.display().to_string()).collect();
    let name =
        traces.first().and_then(|trace| trace.metadata.get("device").cloned()).unwrap_or_else(|| files.join(", "));
    for trace in traces {
        progress.step(&format!("searching for {}", trace.instruction));
        let finding = study_recording(trace, files.join(", "), !arguments.from_nothing, (*arguments.any_nan).into())?;
        let stopped = finding.stopped.clone();
        study.findings.push(finding);
        if let Some(error) = stopped {
            return Ok((name, Err(error)));
        }
    }
    Ok((name, Ok(())))
}

/// Identifies the arithmetics of a device.
fn asked(
    arguments: &Arguments,
    progress: &Progress,
    device: &mut dyn Device,
    instructions: &[Instruction],
    study: &mut Study,
) -> Result<()> {
    let notes = &arguments.common.destination.annotations;
    let request = Request {
        seed: *arguments.common.seed,
        catalogue: !arguments.from_nothing,
        nans: (*arguments.any_nan).into(),
        limits: Limits::of(device, arguments.budget, *arguments.cases),
        // From --note date=2026-11-21, so that no result depends on the clock.
        date: notes.iter().find(|(key, _)| key == "date").map(|(_, date)| date.clone()),
        skip_lacking: arguments.selection.all,
        withheld: arguments.without_models.to_vec(),
    };
    let name = device.identity().name.clone();
    let mut bar = None;
    let mut watch = |at: identify::Progress| match at {
        identify::Progress::Searching(instruction) => {
            bar = None;
            progress.step(&format!("identifying {instruction} on {name}"));
        }
        identify::Progress::Comparing(instruction, tiles) => {
            let each = (instruction.m * instruction.n) as u64;
            bar = Some(Bar::new(progress, &instruction.name, tiles, 0, each));
        }
        identify::Progress::Compared(state) => {
            bar.iter().for_each(|bar: &Bar| bar.show(state.next, state.differing()));
        }
    };
    identify::Session::new(device, &request, &mut watch).identify(instructions, study)
}
