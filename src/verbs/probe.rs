//! `tcnum probe`.

mod bits;
mod scalar;

use clap::{Args, Subcommand};

use super::{
    Common, OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    named::named,
    select::{self, Selection},
    shared::{self, Available, ComparedModel, Inits, MaxMismatches, Samples},
};
use crate::{
    Result,
    inputs::{Distribution, Init, Op},
    probe::{self, ProbePlan, Probed, table},
    report::{Report, Table},
};

/// The formats whose instructions are probed by default.
const DEFAULT_FORMATS: &[&str] = &["bf16"];

const HELP: &str = "\
Examples:
  tcnum probe --fmt bf16 --op accumulate
  tcnum probe --instr mma.m16n8k8.f32.f16.f16.f32 --device hopper --op dot --dist special
  tcnum probe scalar --op convert --fmt e4m3

More: docs/probe.md";

/// Compares one operation of instructions with a model, f32 and the exact result.
#[derive(Args, Debug)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    selection: Selection,
    /// Operation (repeatable) [default: all]
    #[arg(long = "op", value_parser = named::<Op>(), value_name = "OP", help_heading = "What")]
    ops: Vec<Op>,
    #[command(flatten)]
    model: ComparedModel,
    #[command(flatten)]
    available: Available,
    #[command(flatten)]
    inits: Inits,
    /// Distribution of the operands (repeatable) [default: normal]
    #[arg(long = "dist", value_parser = named::<Distribution>(), value_name = "DISTRIBUTION", help_heading = "Inputs")]
    distributions: Vec<Distribution>,
    #[command(flatten)]
    samples: Samples,
    #[command(flatten)]
    max_mismatches: MaxMismatches,
    /// Show a row for each instruction and operation
    #[arg(long, help_heading = "Output")]
    summary: bool,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    common: Common,
}

/// Probes of another kind.
#[derive(Subcommand, Debug)]
enum Other {
    Scalar(Box<scalar::Arguments>),
    Bits(Box<bits::Arguments>),
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        match &self.other {
            Some(Other::Scalar(arguments)) => arguments.destination(),
            Some(Other::Bits(arguments)) => arguments.destination(),
            None => Some(&self.common.destination),
        }
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        match &self.other {
            Some(Other::Scalar(arguments)) => arguments.figures(),
            Some(Other::Bits(arguments)) => arguments.figures(),
            None => Ok(Some(self.drawings.of("errors of matrix instructions", true))),
        }
    }
}

/// Runs the probe.
///
/// # Errors
/// Unknown names, a device that cannot be opened or fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    match &arguments.other {
        Some(Other::Scalar(arguments)) => scalar::run(arguments, report),
        Some(Other::Bits(arguments)) => bits::run(arguments, report),
        None => matrix(arguments, report),
    }
}

fn matrix(arguments: &Arguments, report: &mut Report) -> Result<()> {
    report.seed = Some(*arguments.common.seed);
    let name = arguments.selection.device(DEFAULT_FORMATS, arguments.common.device.as_ref());
    let mut instructions = arguments.selection.instructions(DEFAULT_FORMATS, Some(&name))?;
    let mut device = arguments.common.open(&name)?;
    let (name, model, undecided) = select::model(arguments.model.as_deref(), device.as_mut(), &instructions)?;
    report.notes.extend(undecided);
    if *arguments.available {
        select::available(&mut instructions, device.as_ref(), Some(&model), &mut report.notes);
    } else {
        // Refused before any work.
        for instruction in &instructions {
            device.has(instruction)?;
            model.program(instruction)?;
        }
    }
    let plan = ProbePlan {
        instructions: &instructions,
        ops: given_or(&arguments.ops, &Op::ALL),
        distributions: given_or(&arguments.distributions, &[Distribution::Normal]),
        inits: given_or(&arguments.inits, &[Init::Low, Init::Fp32]),
        seed: *arguments.common.seed,
        samples: *arguments.samples,
        max_mismatches: *arguments.max_mismatches,
        available: *arguments.available,
    };
    let progress = Progress::new(&arguments.common.destination);
    let mut probed = Probed::default();
    let outcome = probed.run(&plan, device.as_mut(), &model, &|stage| progress.at(stage));
    let Probed { probes, listing, notes, .. } = probed;
    let device_name = device.identity().name.clone();
    report.answer = table::answer(&probes, &device_name, &name);
    report.notes.extend(table::note(&device_name, &name));
    report.notes.extend(notes);
    report.holds = probes.iter().all(|(_, result)| result.profile.element_mismatches == 0);
    report.device = Some(device.identity().clone());
    if probes.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    report.tables.push(match arguments.summary {
        true => table::summary(&probes, arguments.samples.unwrap_or(probe::SAMPLES)),
        false => {
            let profile = table::profile(&probes, &name);
            Table { brief: !arguments.common.destination.verbose, ..profile }
        }
    });
    report.tables.extend(listing.table());
    outcome
}

/// The values that are given, else the default ones.
fn given_or<T: Clone>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default.to_vec() } else { given.to_vec() }
}
