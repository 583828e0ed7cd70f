//! `tcnum emulate`.

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    options::{Timeout, device_name, integer},
    select,
};
use crate::{
    Result,
    base::{distinct::distinct, pace::UNASKED},
    device::{self, Device, DeviceName, ExecutionKind, cpu::CpuDevice},
    emulate::{self, Draw, EmulateRequest, ProductShape, Scheme, SchemeUnit, table},
    experiment::table::devices as table_of_devices,
    gemm::library::checked_shape,
    isa::{self, Instruction},
    report::{Report, Verdict},
};

/// Default size of products.
const USUAL: usize = 1024;
/// Default size for programs, which may be slow.
const SMALL: usize = 32;
const HELP: &str = "Examples:
  tcnum emulate --size 128 --device model:turing --scheme half egemm ootomo
  tcnum emulate --scheme half ootomo --size 64 128 --device model:turing model:ampere --brief
  tcnum emulate --scheme l16-r16 --shape 64x64x300 --device model:turing
      integers, by products of their digits
More: docs/emulate.md";

/// Measures errors of f32 products computed by splitting schemes on narrow units.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    /// Schemes: names, or FILE.toml [default: all that the devices can run]
    #[arg(long = "scheme", value_name = "NAME|FILE", num_args = 1..)]
    schemes: Vec<String>,
    /// Size of square matrices; may be repeated [default: 1024; exec: 32]
    #[arg(long = "size", value_name = "N", num_args = 1.., value_parser = integer(1..=16384usize))]
    sizes: Vec<usize>,
    /// Other shapes; may be repeated
    #[arg(long = "shape", value_name = "MxNxK", value_parser = shape)]
    shapes: Vec<ProductShape>,
    /// Instruction, or shape for digits [default: first of mma, mfma, wmma...]
    #[arg(long = "instr", value_name = "NAME")]
    instruction: Option<String>,
    /// Device: cuda:N, cpu, model:NAME|FILE, exec:'PROGRAM ARGS'; repeatable
    #[arg(long = "device", value_name = "DEVICE", value_parser = device_name, num_args = 1.., help_heading = "Device")]
    devices: Vec<DeviceName>,
    #[command(flatten)]
    timeout: Timeout,
    /// Distribution: uniform(A,B), normal(MEAN,DEVIATION), magnitudes(A,B)
    #[arg(long, value_name = "DISTRIBUTION", value_parser = Draw::parse, help_heading = "Inputs")]
    dist: Option<Draw>,
    /// Seed of the random operands
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX), help_heading = "Inputs")]
    seed: u64,
    /// Computed rows of each product [default: all on a GPU, else 2^28 terms]
    #[arg(long, value_name = "N", value_parser = integer(1..=16384usize), help_heading = "Limits")]
    rows: Option<usize>,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
}

/// Parses m, n and k.
fn shape(text: &str) -> std::result::Result<ProductShape, String> {
    let numbers: Option<Vec<usize>> = text.split([',', 'x']).map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([m, n, k]) => checked_shape((*m, *n, *k)).map(|()| ProductShape { m: *m, n: *n, k: *k }),
        _ => Err("expected MxNxK, such as 64x64x4096".into()),
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        // A scheme of integers has none.
        let some = Scheme::chosen(&self.schemes)?.iter().any(|scheme| !scheme.is_integer());
        Ok(Some(self.drawings.of("errors of products in f32", some)))
    }
}

/// Computes the products, and reports.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    report.seed = Some(arguments.seed);
    let like = arguments.instruction.as_deref().map(isa::resolve).transpose()?;
    let schemes = Scheme::chosen(&arguments.schemes)?;
    let mut devices = opened(arguments, &schemes, like.as_ref())?;
    let units = SchemeUnit::of_each(&schemes, &mut devices, like.as_ref(), !arguments.schemes.is_empty())?;
    for (at, device) in devices.iter().enumerate() {
        let lacking = schemes.iter().zip(&units).filter(|(_, units)| units[at].is_none());
        let names: Vec<&str> = lacking.map(|(scheme, _)| scheme.name.as_str()).collect();
        if !names.is_empty() {
            let device = &device.identity().name;
            report
                .notes
                .push(format!("Schemes left out on {device}, which lacks an instruction: {}.", names.join(", ")));
        }
    }
    let square = |size: usize| ProductShape { m: size, n: size, k: size };
    let shapes = distinct(arguments.sizes.iter().map(|size| square(*size)).chain(arguments.shapes.iter().copied()));
    // Nobody has asked a program, which may be slow, for large products.
    let executions = units.iter().flatten().flatten().flat_map(|unit| &unit.executions);
    let unasked = shapes.is_empty() && executions.into_iter().any(|kind| *kind == ExecutionKind::External);
    let request = EmulateRequest {
        units,
        shapes: if shapes.is_empty() { vec![square(if unasked { SMALL } else { USUAL })] } else { shapes },
        draw: arguments.dist,
        seed: arguments.seed,
        within: unasked.then_some(UNASKED),
        rows: arguments.rows,
        schemes,
    };
    let mut done = Vec::new();
    let outcome = emulate::run(&mut devices, &request, &mut done, &mut |stage| progress.at(stage));
    report.answer = table::answer(&request, &devices, &done);
    if let Ok(false) = outcome {
        let count = done.len();
        report.notes.push(format!("{count} products were computed in a minute; --size N computes all, of that size."));
    }
    report.notes.extend(table::notes(&request, &done));
    report.holds = table::holds(&done);
    report.verdict = Verdict::Inexact;
    if let [device] = &devices[..] {
        report.device = Some(device.identity().clone());
    }
    if done.is_empty() && outcome.is_ok() {
        devices.iter().for_each(|device| select::nothing(report, device.as_ref()));
    }
    report.tables = table::tables(&request, &devices, &done);
    if devices.len() > 1 && !done.is_empty() {
        report.tables.push(table_of_devices(devices.iter().map(|device| device.identity())));
    }
    outcome.map(drop)
}

/// The named devices, each once, or the default one: this processor only if it can run all schemes.
fn opened(arguments: &Arguments, schemes: &[Scheme], like: Option<&Instruction>) -> Result<Vec<Box<dyn Device>>> {
    let mut names = distinct(arguments.devices.iter().cloned());
    if names.is_empty() {
        names.push(DeviceName::usual(|| {
            schemes.iter().all(|own| SchemeUnit::of(own, &mut CpuDevice::open(), like).is_ok())
        }));
    }
    let open = |name: &DeviceName| {
        name.computes("a product takes a device that computes")?;
        device::open(Some(name), arguments.timeout.duration())
    };
    names.iter().map(open).collect()
}
