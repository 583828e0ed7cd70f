//! `tcnum features`: the features that the literature lists, of one device or of several side by side.

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::Timeout,
    select::{self, Selection},
    shared::{AllModels, AnyNan, Devices},
};
use crate::{
    Result,
    arithmetic::shipped,
    comparison::Nans,
    device::DeviceName,
    document::chip,
    features::{self, ClassChoice, Generations, answers, tables},
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum features --fmt f16 --device ampere
      one device, with the evidence of each feature
  tcnum features --device volta --device hopper --fmt f16
      two generations side by side, and the published values
  tcnum features --all-models
      all shipped models, on the instructions that people ask about

More: docs/features.md";

/// Measures the features that the literature lists; compares devices and publications.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    any_nan: AnyNan,
    #[command(flatten)]
    device: Devices,
    #[command(flatten)]
    all_models: AllModels,
    #[command(flatten)]
    timeout: Timeout,
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
/// Unknown names; a device that lacks an instruction, fails, or is not a function of its operands; an interruption.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    let wanted = "the features need answers to new inputs; `tcnum identify` searches a recording";
    arguments.device.iter().try_for_each(|name| name.computes(wanted))?;
    report.notes.extend(Nans::from(*arguments.any_nan).note_on_device());
    match (&arguments.device[..], *arguments.all_models) {
        ([] | [_], false) => measured(arguments, &progress, report),
        _ => compared(arguments, &progress, report),
    }
}

/// Measures the features of each instruction of one device.
fn measured(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<()> {
    let (named, timeout) = (arguments.device.first(), arguments.timeout.duration());
    let (mut device, instructions) =
        arguments.selection.opened(named, timeout, *arguments.any_nan, &mut report.notes)?;
    let (measurements, outcome) =
        arguments.selection.each(progress, device.as_mut(), &instructions, &mut report.notes, |device, receive| {
            features::measure_all(device, &instructions, receive)
        });
    report.device = Some(device.identity().clone());
    report.holds = !measurements.is_empty() && measurements.iter().all(|features| features.uniform.is_none());
    report.answer = answers::answer(&measurements, &chip(device.identity()));
    if let [one] = &measurements[..] {
        report.notes.extend(answers::reasons(one));
    }
    report.tables = vec![tables::features(&measurements)];
    outcome
}

/// Measures the features of several devices, and compares them with the published ones.
fn compared(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<()> {
    let Selection { instructions, formats, all } = &arguments.selection;
    let choice = ClassChoice::new(instructions, formats, *all)?;
    let models = shipped().filter(|_| *arguments.all_models).map(|name| DeviceName::Model(name.into()));
    // A model that is named too is one device; a name that is given twice is refused.
    let models = models.filter(|name| !arguments.device.contains(name));
    // Models answer at once, so that they are delivered if a device fails.
    let names: Vec<DeviceName> = models.chain(arguments.device.iter().cloned()).collect();
    let open = |name| select::opened(name, arguments.timeout.duration(), *arguments.any_nan);
    let devices = names.iter().map(open).collect::<Result<Vec<_>>>()?;
    let mut generations = Generations { any_nan: *arguments.any_nan, ..Generations::default() };
    let outcome = features::measure_generations(devices, &choice, &mut |stage| progress.at(stage), &mut generations);
    let published = features::compared(&generations);
    report.holds =
        generations.devices.iter().flat_map(|device| &device.measured).all(|features| features.uniform.is_none());
    report.answer = answers::answer_of_generations(&generations, &published);
    report.notes.extend(answers::notes_of_generations(&generations, &published));
    report.tables = tables::generations(&generations, &published);
    outcome
}
