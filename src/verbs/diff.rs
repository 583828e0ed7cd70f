//! `tcnum diff`: what changed between two results or two devices.

use std::{borrow::Cow, path::Path};

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    distinguish::{fill, open},
    gates::Gates,
    options::Timeout,
    select::{Selection, with_instruction},
    shared::{Cases, SeedIfGiven, with_default},
};
use crate::{
    Error, Result,
    base::interrupt,
    diff::{self, tables},
    distinction::SearchLimits,
    report::{self, Report, Verdict},
    tables::declared,
};

const HELP: &str = "\
Examples:
  tcnum diff before.json after.json
  tcnum diff hopper blackwell --instr mma.m16n8k16.f32.bf16.bf16.f32
More: docs/diff.md";

/// Lists what changed between two results, models or devices, by feature and by number.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("cases", |option| with_default(option, "131072")))]
pub(super) struct Arguments {
    /// Two results (--output json), or two devices, each also /INSTRUCTION
    #[arg(value_name = "RESULT|DEVICE", num_args = 2, required = true, help_heading = "What")]
    sides: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    timeout: Timeout,
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    seed: SeedIfGiven,
    #[command(flatten)]
    gates: Gates,
    #[command(flatten)]
    destination: OutputDestination,
}

/// True if an argument names a device, and not a file.
fn is_device(text: &str) -> bool {
    let Ok((device, _)) = with_instruction(text) else { return true };
    let model_file = device.model().is_some_and(|model| model.ends_with(".toml"));
    device.is_of_device() && (model_file || !Path::new(text).is_file())
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        Some((&self.gates, self.sides.get(1).filter(|side| !is_device(side)).map(Cow::from)))
    }
}

/// Compares.
///
/// # Errors
/// A file that is no result, or of another version of the schema; results without a common table; a result and a device; as `tcnum
/// distinguish` of devices.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let [first, second] = &arguments.sides[..] else {
        let count = arguments.sides.len();
        return Err(Error::request(format!("{count} sides are named; name two results, or two devices")));
    };
    match [first, second].map(|side| is_device(side)) {
        [false, false] => results(arguments, [first, second], report)?,
        [true, true] => devices(arguments, [first, second], report)?,
        _ => {
            return Err(Error::request(format!(
                "{first} and {second}: one is a device and one a file; name two results, or two devices"
            )));
        }
    }
    Ok(())
}

/// Compares two results.
fn results(arguments: &Arguments, files: [&str; 2], report: &mut Report) -> Result<()> {
    let Selection { instructions, formats, all } = &arguments.selection;
    let given = [
        ("--instr", !instructions.is_empty()),
        ("--fmt", !formats.is_empty()),
        ("--all", *all),
        ("--cases", arguments.cases.is_some()),
        ("--seed", arguments.seed.is_some()),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Error::request(format!("{flag} is for devices; {} and {} are results", files[0], files[1])));
    }
    let declared = declared();
    let read = |file: &str| interrupt::check().and_then(|()| report::result(Path::new(file), &declared));
    let [first, second] = [read(files[0])?, read(files[1])?];
    interrupt::check()?;
    for (file, kept) in files.iter().zip([&first, &second]).filter(|(_, kept)| !kept.unknown.is_empty()) {
        let unknown = kept.unknown.join(", ");
        report.notes.push(format!("Left out of {file}, as this program does not know it: {unknown}."));
    }
    let changes = diff::compare_kept(&first, &second)?;
    report.holds = changes.is_none();
    report.verdict = Verdict::Differ;
    report.answer = Some(tables::answer(&changes, files));
    report.tables = tables::changes(&changes);
    Ok(())
}

/// Compares two devices.
fn devices(arguments: &Arguments, sides: [&str; 2], report: &mut Report) -> Result<()> {
    let timeout = arguments.timeout.duration();
    let mut selection = arguments.selection.clone();
    // Everything that both have, where nothing is chosen.
    let named =
        [with_instruction(sides[0])?, with_instruction(sides[1])?].iter().any(|(_, instruction)| instruction.is_some());
    selection.all |= !named && selection.instructions.is_empty() && selection.formats.is_empty();
    let mut pair = open(sides, &selection, timeout, &mut report.notes)?;
    let progress = Progress::new(&arguments.destination);
    let limits = SearchLimits::new(*arguments.cases, *arguments.seed);
    report.seed = Some(limits.seed);
    let mut distinctions = Vec::new();
    let outcome = pair.distinguish(&limits, &mut |stage| progress.at(stage), &mut distinctions);
    fill(report, &pair, &distinctions);
    outcome?;
    let mut pairs = Vec::new();
    let outcome = distinctions.iter().try_for_each(|distinction| {
        let [one, other] = distinction.sides.each_ref().map(|side| &side.instruction);
        progress.step(&format!("measuring the features of {one}"));
        let [first, second] = &mut pair.devices;
        pairs.extend(diff::features([first.as_mut(), second.as_mut()], [one, other])?);
        Ok(())
    });
    report.holds &= pairs.iter().all(diff::FeaturePair::is_same);
    report.verdict = Verdict::Differ;
    report.tables.push(tables::features(&pairs));
    outcome
}
