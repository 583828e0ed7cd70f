//! `tcnum chain`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    Common, Progress, invocation,
    options::{integer, svg_file},
    select::{self, Selection},
};
use crate::{
    Error, Interruption, Result,
    base::interrupt,
    chain::{self, ChainRequest, Curve, plot, table},
    device::{self, Device},
    inputs::Init,
    isa::{self, Instruction},
    report::Report,
};

/// The instructions of the published figure, the default.
const PUBLISHED: [&str; 3] =
    ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"];

/// Chains matrix multiplications: how errors grow when each result is the next operand.
///
/// Example: tcnum chain --length 12 --plot chain.svg
///
/// Each link is D = A*B with C = 0 on Normal(0, 1) numbers; D, rounded to the operand format, is the next A, and B
/// is redrawn. Reported for each length N: the relative error ||D_low - D_ref||_F / ||D_low||_F, against the chain in
/// plain f32 on the CPU and against the exact product, and how many chains have overflowed.
///
/// Without --instr, --fmt and --all: mma.m16n8k8 with f32 accumulators on bf16, f16 and tf32.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The longest chain, in links; all lengths up to it are reported.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = integer(1..=chain::MAX_LENGTH))]
    length: usize,
    /// How many chains.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = integer(1..=chain::MAX_CHAINS))]
    chains: u64,
    /// Whether references start from the operands after (low) or before (fp32) rounding. Without it: both.
    #[arg(long = "init", value_enum, value_name = "INIT")]
    inits: Vec<Init>,
    /// Draw the error against the length to this SVG file.
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file)]
    plot: Option<PathBuf>,
    /// Leave out the instructions that the device does not have, instead of refusing (with --all).
    #[arg(long, requires = "all")]
    available: bool,
    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

/// Runs the chains, writes the plot if one is asked for, and reports.
///
/// # Errors
/// A request error for an unknown or unavailable instruction or a plot file that cannot be written; the errors of
/// the device.
pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let common = &arguments.common;
    interrupt::watch();
    let name = arguments.selection.device(&[], common.device.as_deref());
    let mut instructions = chosen(&arguments.selection, &name)?;
    let mut device = device::open(Some(&name), Duration::from_secs(common.timeout))?;
    let mut report = Report::new("chain", invocation());
    report.seed = Some(common.seed);
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    let (mut curves, mut executions) = (Vec::new(), Vec::new());
    for instruction in &instructions {
        match device.prepare(instruction) {
            Ok(execution) => {
                for init in inits(instruction, &arguments.inits) {
                    curves.push((instruction.clone(), init));
                    executions.push(execution.clone());
                }
            }
            Err(error) if arguments.available && error.is_unavailable() => report.notes.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    let plan = ChainRequest { curves, length: arguments.length, chains: arguments.chains, seed: common.seed };
    let (curves, interrupted) = computed(device.as_mut(), &plan, arguments)?;
    report.until_interrupted(interrupted.map_or(Ok(()), |by| Err(Error::Interrupted { by })))?;
    let identity = device.identity().clone();
    if let Some(path) = &arguments.plot {
        let title = format!("Chain matrix multiplication on {}, {} chains", identity.name, plan.chains);
        crate::base::atomic::write(path, plot::svg(&curves, &title).as_bytes()).map_err(|e| e.within("--plot"))?;
    }
    report.notes.extend(table::notes(&plan));
    report.device = Some(identity);
    if curves.is_empty() {
        select::nothing(&mut report, device.as_ref());
    }
    let rows = (table::curves(None, &curves, &executions), table::points(None, &curves));
    report.tables = vec![table::curve_table(rows.0), table::point_table(rows.1)];
    Ok(report)
}

/// The chosen instructions, each once.
///
/// # Errors
/// Those of the selection; one with sparse operands or block scales, whose results cannot be operands of the next link.
fn chosen(selection: &Selection, device: &str) -> Result<Vec<Instruction>> {
    let nothing = selection.instructions.is_empty() && selection.formats.is_empty() && !selection.all;
    let plain = |i: &Instruction| !i.is_sparse() && i.scale.is_none();
    let mut unique: Vec<Instruction> = Vec::new();
    let chosen = if nothing {
        PUBLISHED.iter().map(|name| isa::find(name)).collect()
    } else {
        selection.instructions(&[], Some(device))
    };
    for instruction in chosen?.into_iter().filter(|i| !selection.all || plain(i)) {
        if !plain(&instruction) {
            return Err(Error::request(format!(
                "{instruction} has sparse operands or block scales; chains are of instructions without"
            )));
        }
        if !unique.contains(&instruction) {
            unique.push(instruction);
        }
    }
    Ok(unique)
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

/// The curves, with progress on standard error, and the signal that ended them, if one did.
fn computed(
    device: &mut dyn Device,
    plan: &ChainRequest,
    arguments: &Arguments,
) -> Result<(Vec<Curve>, Option<Interruption>)> {
    let progress = Progress::new(&arguments.common.destination);
    chain::run(device, plan, &mut |done| progress.step(done))
}
