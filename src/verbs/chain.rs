//! `tcnum chain`.

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    named::named,
    options::{Timeout, integer},
    select::{self, Selection},
    shared::{Available, Inits, Seed},
};
use crate::{
    Error, Result, Stage,
    base::{distinct::distinct, work::UNASKED},
    chain::{self, ChainCurve, ChainRequest, MatrixScaling, table},
    device::{self, Device, DeviceName, Execution, ExecutionKind},
    experiment::table::devices,
    isa::{self, Instruction},
    report::Report,
};

const HELP: &str = "Examples:
  tcnum chain --length 12 --chains 100
  tcnum chain --fmt e4m3 --scales absmax --chains 100 --device model:ada --brief
  tcnum chain --chains 100 --device model:cdna3/mfma.16x16x16.f32.bf16.bf16.f32
      a device with an instruction of its own
More: docs/chain.md";

/// Measures the growth of errors in a chain of matrix products.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Longest chain, in links; all lengths up to it are reported
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = integer(1..=chain::MAX_LENGTH), help_heading = "What")]
    length: usize,
    #[command(flatten)]
    inits: Inits,
    /// Rule for one scale of each matrix, in formats of at most 16 bits
    #[arg(long, value_parser = named::<MatrixScaling>(), value_name = "RULE", default_value = "none", help_heading = "What")]
    scales: MatrixScaling,
    #[command(flatten)]
    available: Available,
    /// Device, as elsewhere, or DEVICE/INSTRUCTION; may be repeated
    #[arg(long = "device", value_name = "DEVICE", help_heading = "Device")]
    devices: Vec<String>,
    #[command(flatten)]
    timeout: Timeout,
    #[command(flatten)]
    seed: Seed,
    /// Number of chains [default: 1000; exec: as many as it has in a minute]
    #[arg(long, value_name = "N", value_parser = integer(1..=chain::MAX_CHAINS), help_heading = "Limits")]
    chains: Option<u64>,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
}

/// A device with its curves.
struct Runner {
    device: Box<dyn Device>,
    request: ChainRequest,
    executions: Vec<Execution>,
    curves: Vec<ChainCurve>,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("errors by length", true)))
    }
}

/// Runs the chains, and reports.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    report.seed = Some(*arguments.seed);
    let mut runners = runners(arguments, report)?;
    let progress = Progress::new(&arguments.destination);
    let several = runners.len() > 1;
    let outcome = runners.iter_mut().try_for_each(|runner| {
        let name = runner.device.identity().name.to_string();
        let mut step = |stage: Stage| match several {
            true => progress.at(Stage { what: &format!("{name}: {}", stage.what), ..stage }),
            false => progress.at(stage),
        };
        chain::run(runner.device.as_mut(), &runner.request, &mut runner.curves, &mut step)
    });
    drop(progress);
    if outcome.is_ok() {
        report.notes.extend(runners.iter().filter_map(fewer));
    }
    let curves = runners.iter().flat_map(|runner| runner.request.curves.clone()).collect();
    let chains = runners.iter().flat_map(|runner| &runner.curves).map(ChainCurve::chains).max().unwrap_or_default();
    if let Some(first) = runners.first() {
        report.notes.extend(table::notes(&ChainRequest { curves, chains, ..first.request.clone() }));
    }
    if let [one] = &runners[..] {
        report.device = Some(one.device.identity().clone());
        if one.request.curves.is_empty() {
            select::nothing(report, one.device.as_ref());
        }
    }
    let names: Vec<String> = runners.iter().map(|runner| runner.device.identity().name.to_string()).collect();
    let of_each = runners
        .iter()
        .zip(&names)
        .map(|(runner, name)| (several.then_some(name.as_str()), &runner.curves[..], &runner.executions[..]));
    let (answer, tables) = table::results(of_each, &names);
    report.answer = answer;
    if several && !tables[0].rows.is_empty() {
        report.tables.push(devices(runners.iter().map(|runner| runner.device.identity())));
    }
    report.tables.extend(tables);
    outcome
}

/// The note on a device that computed fewer chains than the default.
fn fewer(runner: &Runner) -> Option<String> {
    let asked = runner.request.chains;
    let least = runner.curves.iter().map(ChainCurve::chains).min().filter(|chains| *chains < asked)?;
    Some(format!(
        "{} computed {least} of the default {asked} chains in a minute; ‹chains=N› computes N.",
        runner.device.identity().name
    ))
}

/// The devices with their instructions; all are opened and checked before the first runs.
fn runners(arguments: &Arguments, report: &mut Report) -> Result<Vec<Runner>> {
    let selection = &arguments.selection;
    let given = match arguments.devices.is_empty() {
        true => vec![(selection.device(&[], None), None)],
        false => arguments.devices.iter().map(|text| select::with_instruction(text)).collect::<Result<Vec<_>>>()?,
    };
    let selected = !selection.is_empty();
    if selected && given.iter().all(|(_, instruction)| instruction.is_some()) {
        return Err(Error::request("each --device names its instruction; omit --instr, --fmt and --all"));
    }
    let mut runners = Vec::new();
    for (name, instruction) in given {
        let mut instructions = match instruction {
            Some(instruction) => chainable(vec![instruction])?,
            None => chosen(selection, &name)?,
        };
        let mut device = device::open(Some(&name), arguments.timeout.duration())?;
        if *arguments.available {
            select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
        }
        let (mut curves, mut executions) = (Vec::new(), Vec::new());
        for instruction in &instructions {
            match device.prepare(instruction) {
                Ok(execution) => {
                    for init in chain::inits(instruction, &arguments.inits) {
                        curves.push((instruction.clone(), init));
                        executions.push(execution.clone());
                    }
                }
                Err(error) if *arguments.available && error.is_unavailable() => report.notes.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        let external = executions.iter().any(|execution: &Execution| execution.kind == ExecutionKind::External);
        let request = ChainRequest {
            curves,
            length: arguments.length,
            chains: arguments.chains.unwrap_or(chain::DEFAULT_CHAINS),
            within: (arguments.chains.is_none() && external).then_some(UNASKED),
            seed: *arguments.seed,
            scaling: arguments.scales,
        };
        runners.push(Runner { device, request, executions, curves: Vec::new() });
    }
    Ok(runners)
}

/// The chosen instructions, each once.
fn chosen(selection: &Selection, device: &DeviceName) -> Result<Vec<Instruction>> {
    let mut chosen: Vec<Instruction> = match selection.is_empty() {
        true => chain::PUBLISHED.iter().map(|name| isa::find(name)).collect::<Result<_>>()?,
        false => selection.instructions(&[], Some(device))?,
    };
    chosen.retain(|instruction| !selection.all || chain::is_chainable(instruction));
    chainable(chosen)
}

/// These instructions, each once.
fn chainable(chosen: Vec<Instruction>) -> Result<Vec<Instruction>> {
    match chosen.iter().find(|instruction| !chain::is_chainable(instruction)) {
        Some(instruction) => Err(Error::request(format!(
            "{instruction} has sparse operands, or block scales of no known format; a chain takes instructions without"
        ))),
        None => Ok(distinct(chosen)),
    }
}
