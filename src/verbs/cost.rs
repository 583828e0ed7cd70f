//! `tcnum cost`.

use std::time::Duration;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    named::named,
    options::{device_name, integer},
    select::{self, Selection},
};
use crate::{
    Error, Result, Stage,
    cost::{self, Cost, CostRequest, table},
    device::{self, DeviceName, SHARED_LOADS, TimedOperands},
    format,
    isa::scalar::{self, Form, ScalarOperation},
    report::{Report, Verdict},
};

/// The formats whose instructions are measured where none are chosen.
const DEFAULT_FORMATS: &[&str] = &["bf16"];
/// The most seconds that a device is kept busy with each kind of operands.
const MOST_SECONDS: u32 = 3600;
/// What programs would have for an answer; none is asked.
const ANSWER: Duration = Duration::from_secs(60);

/// Measures the latency and the throughput of instructions.
///
/// Example: tcnum cost --instr mma.m16n8k16.f32.f16.f16.f32 --device cuda:0
///
/// Of each instruction: the clocks from one run to the next that adds to it; the fused multiply-adds a clock of a multiprocessor by warps
/// (1 to 32) and independent runs (1 to 8), with the points from which more independent runs bring nothing; the highest rate, and its share
/// of the vendor's peak; and what the whole device does at that point, at the clock that was measured. The machine code of the
/// loops is checked: exit status 1 if one does not have as many matrix instructions as were meant. model: and trace: devices have no cost.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// What operands hold.
    #[arg(long, value_parser = named::<TimedOperands>(), value_name = "VALUES", default_value = "random")]
    values: TimedOperands,
    /// Keep the whole device busy for so many seconds with each kind of operands, and report its rate, clock and power.
    #[arg(long, value_name = "SECONDS", value_parser = integer(1..=MOST_SECONDS))]
    sustain: Option<u32>,
    /// Print every measurement, by warps and independent runs, as --plot does.
    #[arg(long)]
    points: bool,
    /// Measure conversions between formats too (on a GPU); with --fmt those to or from it.
    #[arg(long)]
    conversions: bool,
    /// Measure loads from shared memory too: ldmatrix, and ld.shared without and with conflicts of banks.
    #[arg(long)]
    loads: bool,
    /// The device: cuda:N, or cpu.
    #[arg(long, value_name = "DEVICE", value_parser = device_name)]
    device: Option<DeviceName>,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
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
///
/// # Errors
/// A device without cost; an instruction that it lacks; those of the device.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    let name = arguments.selection.device(DEFAULT_FORMATS, arguments.device.as_ref());
    let mut instructions = arguments.selection.instructions(DEFAULT_FORMATS, Some(&name))?;
    let forms = if arguments.conversions { conversions(&arguments.selection.formats)? } else { Vec::new() };
    if matches!(name, DeviceName::Model(_) | DeviceName::Trace(_) | DeviceName::Exec(_)) {
        return Err(cost::without(&name));
    }
    if !forms.is_empty() && !matches!(name, DeviceName::Cuda(_)) {
        return Err(Error::request(format!(
            "{name}: conversions are timed on a GPU; give --device cuda:0, or omit --conversions"
        )));
    }
    let mut device = device::open(Some(&name), ANSWER)?;
    if arguments.selection.all {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    let request = CostRequest { instructions, values: arguments.values, sustained: arguments.sustain.map(f64::from) };
    let (mut done, mut scalars, mut loads) = (Vec::new(), Vec::new(), Vec::new());
    let mut step = |stage: Stage| progress.at(stage);
    let outcome = cost::run(device.as_mut(), &request, &mut done, &mut step)
        .and_then(|()| cost::scalars(device.as_mut(), &forms, arguments.values, &mut scalars, &mut step))
        .and_then(|()| match arguments.loads {
            true => cost::loads(device.as_mut(), SHARED_LOADS, &mut loads),
            false => Ok(()),
        });
    let missing = forms.len() - scalars.len();
    if outcome.is_ok() && missing > 0 {
        report.notes.push(format!("Left out: {missing} conversions that the device does not have, or that are no instructions of their own there (moves)."));
    }
    report.device = Some(device.identity().clone());
    report.answer = table::answer(&done, &device.identity().name.to_string());
    report.holds = done.iter().all(|cost| cost.unintended.is_empty());
    report.verdict = Verdict::Unintended;
    report.notes.extend(notes(&done));
    let points = arguments.points || arguments.drawings.flag().is_some();
    report.tables = table::tables(&done, &device.identity().generation, points);
    report.tables.extend(table::scalars(&scalars).filled());
    report.tables.extend(table::loads(&loads).filled());
    outcome
}

/// The conversions that kernels execute: of the chosen formats, or all.
///
/// # Errors
/// Unknown formats; formats that no instruction converts.
fn conversions(formats: &[String]) -> Result<Vec<&'static Form>> {
    let formats = formats.iter().map(|name| format::find(name)).collect::<Result<Vec<_>>>()?;
    let chosen = |form: &&Form| {
        let executed =
            form.operation == ScalarOperation::Convert && !form.is_of_processors() && form.missing().is_none();
        executed && (formats.is_empty() || formats.iter().any(|format| form.concerns(format)))
    };
    let forms: Vec<&'static Form> = scalar::all().iter().filter(chosen).collect();
    match forms.is_empty() {
        true => Err(Error::request(
            "--conversions: no instruction of a GPU converts the formats of --fmt; they convert f64 to e2m1 and s32",
        )),
        false => Ok(forms),
    }
}

/// What a reader has to know: a device that others use, or that does not run at its highest clock; loops that are not what was meant.
fn notes(done: &[Cost]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(others) = done.iter().filter_map(|cost| cost.whole.state.others).max().filter(|others| *others > 0) {
        notes
            .push(format!("The device is busy: {others} other processes compute on it. Rates are of what they leave."));
    }
    let mut reasons: Vec<&str> = Vec::new();
    for reason in done.iter().flat_map(|cost| &cost.whole.state.throttled) {
        if !reasons.contains(reason) {
            reasons.push(reason);
        }
    }
    if !reasons.is_empty() {
        notes.push(format!("The device lowered its clock meanwhile: {}.", reasons.join(", ")));
    }
    if done.iter().any(|cost| cost.machine.is_none()) {
        notes.push("The machine code was not checked: there is no disassembler (nvdisasm).".into());
    }
    for cost in done.iter().filter(|cost| !cost.unintended.is_empty()) {
        let ways: Vec<String> = cost.unintended.iter().map(u32::to_string).collect();
        notes.push(format!(
            "{}: the loops of {} independent runs do not have as many matrix instructions as were meant.",
            cost.instruction,
            ways.join(", ")
        ));
    }
    notes
}
