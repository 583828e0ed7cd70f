//! `tcnum chain`.

use std::time::Duration;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    named::named,
    options::{MAX_TIMEOUT, integer},
    select::{self, Selection},
};
use crate::{
    Error, Result, Stage,
    base::pace::UNASKED,
    chain::{self, ChainRequest, Curve, Scaling, table},
    device::{self, Device, DeviceName, Execution, ExecutionKind},
    experiment::table::devices,
    inputs::Init,
    isa::{self, Instruction},
    report::Report,
};

/// The instructions of the published figure, the default.
const PUBLISHED: [&str; 3] =
    ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"];

/// The chains where nobody says how many.
const DEFAULT_CHAINS: u64 = 1000;

/// Chains matrix multiplications: how errors grow when each result is the next operand.
///
/// Example: tcnum chain --length 12 --plot chain.svg
///
/// Each link is D = A*B with C = 0 on Normal(0, 1) numbers; D, rounded to the operand format, is the next A, and B
/// is redrawn. Reported for each length N: the relative error ||D_low - D_ref||_F / ||D_low||_F, against the chain in
/// plain f32 on the CPU and against the exact product, and how many chains have overflowed.
///
/// Example: tcnum chain --device model:ampere --device model:cdna3/mfma.16x16x16.f32.bf16.bf16.f32 --fmt bf16
///
/// Without --instr, --fmt and --all: mma.m16n8k8 with f32 accumulators on bf16, f16 and tf32.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The longest chain, in links; all lengths up to it are reported.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = integer(1..=chain::MAX_LENGTH))]
    length: usize,
    /// How many chains. [default: 1000; of an exec: device as many of them as it computes in a minute]
    #[arg(long, value_name = "N", value_parser = integer(1..=chain::MAX_CHAINS))]
    chains: Option<u64>,
    /// Whether references start from the operands after (low) or before (fp32) rounding. Without it: both.
    #[arg(long = "init", value_parser = named::<Init>(), value_name = "INIT")]
    inits: Vec<Init>,
    /// What matrices in plain formats of 16 bits at most are divided by before they are rounded, in every link. (Block-scaled instructions
    /// have the scales of their blocks: mxfp8, mxfp4, nvfp4.)
    #[arg(long, value_parser = named::<Scaling>(), value_name = "RULE", default_value = "none")]
    scales: Scaling,
    /// Leave out the instructions that the device does not have, instead of refusing (with --all).
    #[arg(long, requires = "all")]
    available: bool,
    /// The device: cuda:N, cpu, model:NAME or model:FILE, exec:'PROGRAM ARGS'; or DEVICE/INSTRUCTION, with an instruction of its own
    /// (model:cdna3/mfma.16x16x16.f32.bf16.bf16.f32). May be repeated: each has the same random numbers, and is checked before the first runs.
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<String>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Seed of the random inputs: the same seed gives the same inputs everywhere.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX))]
    seed: u64,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

/// A device with its curves.
struct Runner {
    device: Box<dyn Device>,
    asked: Vec<(Instruction, Init)>,
    executions: Vec<Execution>,
    curves: Vec<Curve>,
}

impl Runner {
    /// What is computed on it.
    fn plan(&self, arguments: &Arguments) -> ChainRequest {
        let external = self.executions.iter().any(|own| own.kind == ExecutionKind::External);
        ChainRequest {
            curves: self.asked.clone(),
            length: arguments.length,
            chains: arguments.chains.unwrap_or(DEFAULT_CHAINS),
            within: (arguments.chains.is_none() && external).then_some(UNASKED),
            seed: arguments.seed,
            scaling: arguments.scales,
        }
    }
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
///
/// # Errors
/// A request error for an unknown or unavailable instruction; the errors of the device.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    report.seed = Some(arguments.seed);
    let mut runners = runners(arguments, report)?;
    let progress = Progress::new(&arguments.destination);
    let several = runners.len() > 1;
    let outcome = runners.iter_mut().try_for_each(|runner| {
        let name = runner.device.identity().name.to_string();
        let mut step = |stage: Stage| match several {
            true => progress.at(Stage { what: &format!("{name}: {}", stage.what), ..stage }),
            false => progress.at(stage),
        };
        let plan = runner.plan(arguments);
        chain::run(runner.device.as_mut(), &plan, &mut runner.curves, &mut step)
    });
    drop(progress);
    if outcome.is_ok() {
        report.notes.extend(runners.iter().filter_map(|runner| fewer(runner, &runner.plan(arguments))));
    }
    let curves = runners.iter().flat_map(|runner| runner.asked.clone()).collect();
    let chains = runners.iter().flat_map(|runner| &runner.curves).map(Curve::chains).max().unwrap_or_default();
    if let Some(first) = runners.first() {
        report.notes.extend(table::notes(&ChainRequest { curves, chains, ..first.plan(arguments) }));
    }
    if let [one] = &runners[..] {
        report.device = Some(one.device.identity().clone());
        if one.asked.is_empty() {
            select::nothing(report, one.device.as_ref());
        }
    }
    let (mut ends, mut points) = (Vec::new(), Vec::new());
    for runner in &runners {
        let name = several.then(|| runner.device.identity().name.to_string());
        ends.extend(table::curves(name.as_deref(), &runner.curves, &runner.executions));
        points.extend(table::points(name.as_deref(), &runner.curves));
    }
    let names: Vec<&DeviceName> = runners.iter().map(|runner| &runner.device.identity().name).collect();
    report.answer = table::answer(&ends, &names);
    if several && !ends.is_empty() {
        report.tables.push(devices(runners.iter().map(|runner| runner.device.identity())));
    }
    report.tables.extend([table::curve_table(ends), table::point_table(points)]);
    outcome
}

/// What is to be said of a device that computed fewer chains than it was asked for.
fn fewer(runner: &Runner, plan: &ChainRequest) -> Option<String> {
    let least = runner.curves.iter().map(Curve::chains).min().filter(|chains| *chains < plan.chains)?;
    Some(format!(
        "{} computed {least} of the {} chains of a run by default in a minute; --chains N computes N.",
        runner.device.identity().name,
        plan.chains
    ))
}

/// The devices with what each will run: all are opened, and what each lacks is known, before the first runs.
fn runners(arguments: &Arguments, report: &mut Report) -> Result<Vec<Runner>> {
    let selection = &arguments.selection;
    let given = match arguments.devices.is_empty() {
        true => vec![(selection.device(&[], None), None)],
        false => arguments.devices.iter().map(|text| select::with_instruction(text)).collect::<Result<Vec<_>>>()?,
    };
    let selected = selection.all || !selection.instructions.is_empty() || !selection.formats.is_empty();
    if selected && given.iter().all(|(_, own)| own.is_some()) {
        return Err(Error::request(
            "each --device names its instruction; --instr, --fmt and --all are for devices that do not",
        ));
    }
    let mut runners = Vec::new();
    for (name, own) in given {
        let mut instructions = match own {
            Some(instruction) => chainable(vec![instruction])?,
            None => chosen(selection, &name)?,
        };
        let mut device = device::open(Some(&name), Duration::from_secs(arguments.timeout))?;
        if arguments.available {
            select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
        }
        let (mut asked, mut executions) = (Vec::new(), Vec::new());
        for instruction in &instructions {
            match device.prepare(instruction) {
                Ok(execution) => {
                    for init in inits(instruction, &arguments.inits) {
                        asked.push((instruction.clone(), init));
                        executions.push(execution.clone());
                    }
                }
                Err(error) if arguments.available && error.is_unavailable() => report.notes.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        runners.push(Runner { device, asked, executions, curves: Vec::new() });
    }
    Ok(runners)
}

/// The chosen instructions, each once.
///
/// # Errors
/// Those of the selection and of [`chainable`].
fn chosen(selection: &Selection, device: &DeviceName) -> Result<Vec<Instruction>> {
    let nothing = selection.instructions.is_empty() && selection.formats.is_empty() && !selection.all;
    let mut chosen = if nothing {
        PUBLISHED.iter().map(|name| isa::find(name)).collect()
    } else {
        selection.instructions(&[], Some(device))
    }?;
    chosen.retain(|instruction| !selection.all || is_plain(instruction));
    chainable(chosen)
}

/// These instructions, each once.
///
/// # Errors
/// One with sparse operands, or block scales of no known format, whose results cannot be operands of the next link.
fn chainable(chosen: Vec<Instruction>) -> Result<Vec<Instruction>> {
    let mut unique: Vec<Instruction> = Vec::new();
    for instruction in chosen {
        if !is_plain(&instruction) {
            return Err(Error::request(format!(
                "{instruction} has sparse operands, or block scales of no known format; chains are of instructions without"
            )));
        }
        if !unique.contains(&instruction) {
            unique.push(instruction);
        }
    }
    Ok(unique)
}

fn is_plain(i: &Instruction) -> bool {
    !i.is_sparse() && (i.scale.is_none() || [i.a, i.b].iter().all(|format| chain::block_format(i, format).is_some()))
}

/// The chosen initialisations, each once; by default both, or only `low` where they coincide.
fn inits(instruction: &Instruction, named: &[Init]) -> Vec<Init> {
    let both = [Init::Low, Init::Fp32];
    match named {
        [] if chain::inits_coincide(instruction) => vec![Init::Low],
        [] => both.to_vec(),
        named => both.into_iter().filter(|init| named.contains(init)).collect(),
    }
}
