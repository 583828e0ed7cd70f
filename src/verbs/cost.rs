//! `tcnum cost`.

use std::time::Duration;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    named::named,
    options::integer,
    select::{self, Selection},
    shared::OneDevice,
};
use crate::{
    Error, Result,
    cost::{self, CostRequest, Costs, table},
    device::{self, DeviceName, SHARED_LOADS, TimedOperands},
    format,
    report::{Report, Verdict},
};

/// Default formats of the instructions.
const DEFAULT_FORMATS: &[&str] = &["bf16"];
/// Longest work with each kind of operands, in seconds.
const MOST_SECONDS: u32 = 3600;
/// Timeout of programs, which have no cost.
const ANSWER: Duration = Duration::from_secs(60);

const HELP: &str = "Examples:
  tcnum cost --instr mma.m16n8k16.f32.f16.f16.f32 --device cuda:0
  tcnum cost --fmt f64 --device cpu --points
  tcnum cost --fmt e4m3 --conversions --sustain 4 --device cuda:0
More: docs/cost.md";

/// Measures the latency and the throughput of instructions.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Time conversions between formats too; with --fmt, to or from it
    #[arg(long, help_heading = "What")]
    conversions: bool,
    /// Time loads from shared memory too (ldmatrix, ld.shared)
    #[arg(long, help_heading = "What")]
    loads: bool,
    #[command(flatten)]
    device: OneDevice,
    /// Values of the operands
    #[arg(long, value_parser = named::<TimedOperands>(), value_name = "VALUES", default_value = "random", help_heading = "Inputs")]
    values: TimedOperands,
    /// Report every measurement, by warps and independent runs
    #[arg(long, help_heading = "Output")]
    points: bool,
    /// Seconds of work with each kind of operands, for rate, clock and power
    #[arg(long, value_name = "SECONDS", value_parser = integer(1..=MOST_SECONDS), help_heading = "Limits")]
    sustain: Option<u32>,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("rates by warps and independent runs", true)))
    }
}

/// Measures, and reports.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    let name = arguments.selection.device(DEFAULT_FORMATS, arguments.device.as_ref());
    let mut instructions = arguments.selection.instructions(DEFAULT_FORMATS, Some(&name))?;
    let formats = arguments.selection.formats.iter().map(|name| format::find(name));
    let conversions = match arguments.conversions {
        true => cost::conversions(&formats.collect::<Result<Vec<_>>>()?)?,
        false => Vec::new(),
    };
    if matches!(name, DeviceName::Model(_) | DeviceName::Trace(_) | DeviceName::Exec(_)) {
        return Err(cost::without(&name));
    }
    if !conversions.is_empty() && !matches!(name, DeviceName::Cuda(_)) {
        return Err(Error::request(format!(
            "{name}: conversions are timed on a GPU; give --device cuda:0, or omit --conversions"
        )));
    }
    let mut device = device::open(Some(&name), ANSWER)?;
    if arguments.selection.all {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    let request = CostRequest {
        instructions,
        conversions,
        loads: if arguments.loads { SHARED_LOADS.to_vec() } else { Vec::new() },
        values: arguments.values,
        sustained: arguments.sustain.map(f64::from),
    };
    let mut done = Costs::default();
    let outcome = cost::run(device.as_mut(), &request, &mut done, &mut |stage| progress.at(stage));
    let missing = request.conversions.len() - done.conversions.len();
    if outcome.is_ok() && missing > 0 {
        report
            .notes
            .push(format!("Conversions left out: {missing}. The device lacks them, or executes them as moves."));
    }
    report.device = Some(device.identity().clone());
    report.answer = table::answer(&done.instructions, &device.identity().name.to_string());
    report.holds = done.instructions.iter().all(|cost| cost.unintended.is_empty());
    report.verdict = Verdict::Unintended;
    report.notes.extend(table::notes(&done.instructions));
    let points = arguments.points || arguments.drawings.flag().is_some();
    report.tables = table::tables(&done, &device.identity().generation, points);
    outcome
}
