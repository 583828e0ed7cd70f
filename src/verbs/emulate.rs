//! `tcnum emulate`.

use std::time::Duration;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    options::{MAX_TIMEOUT, device_name, integer},
    select,
};
use crate::{
    Error, Result,
    base::pace::UNASKED,
    device::{self, Device, DeviceName, ExecutionKind, cpu::CpuDevice},
    emulate::{self, Draw, EmulateRequest, Scheme, Shape, Unit, table},
    experiment::table::devices as table_of_devices,
    gemm::library::checked_shape,
    isa::{self, Instruction},
    report::{Report, Verdict},
};

/// The size of products where nobody names one; of a program, which may be slow.
const USUAL: usize = 1024;
const SMALL: usize = 32;

/// Computes matrix products of more precision than the unit's operands, each made of several products of low precision, and measures them.
///
/// Example: tcnum emulate --size 1024 --device model:turing
///
/// Example: tcnum emulate --scheme half egemm ootomo --size 256 --size 1024 --device model:turing --device model:ampere --plot error.svg
///
/// A scheme says how the elements of A and B are split into parts, which products of parts are computed in which accumulator, and how the
/// sums are combined (docs/emulate.md). It is a TOML file: one that is shipped, by its name, or your own. Reported of each: the largest
/// |V - V_f32|, Max_error = max |V - S| / (|V| + |S|), MRED = mean |S - V| / |S|, and numbers of f32 between, against plain f32, plain f64
/// and the exact product; of integers made of digits: where they are exact, and where s32 wraps. Exit status 1 if integers
/// are not exact where s32 holds them.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The schemes: names, or files FILE.toml. [default: all that the devices have instructions for]
    #[arg(long = "scheme", value_name = "NAME|FILE", num_args = 1..)]
    schemes: Vec<String>,
    /// Square matrices of this size; may be repeated. [default: 1024; of an exec: device 32, as many products as it computes in a minute]
    #[arg(long = "size", value_name = "N", num_args = 1.., value_parser = integer(1..=16384usize))]
    sizes: Vec<usize>,
    /// Other shapes; may be repeated.
    #[arg(long = "shape", value_name = "MxNxK", value_parser = shape)]
    shapes: Vec<Shape>,
    /// What elements are drawn from: uniform(LOW,HIGH), normal(MEAN,DEVIATION), or magnitudes(LOW,HIGH): a random sign, and binary exponents
    /// between the two. Integers are rounded and limited to their range. [default: uniform(-1,1); integers: uniform in their range]
    #[arg(long, value_name = "DISTRIBUTION", value_parser = Draw::parse)]
    dist: Option<Draw>,
    /// Compute this many rows of each product, spread over it. [default: all on a GPU by mma; else as many as have 2^28 terms, at least 16]
    #[arg(long, value_name = "N", value_parser = integer(1..=16384usize))]
    rows: Option<usize>,
    /// The device: cuda:N, cpu, model:NAME or model:FILE, exec:'PROGRAM ARGS'; may be repeated.
    #[arg(long = "device", value_name = "DEVICE", value_parser = device_name, num_args = 1..)]
    devices: Vec<DeviceName>,
    /// The instruction; of integers, one of its shape for each pair of digits. [default: the first that the device has of mma, mfma, wmma,
    /// wgmma and others, with the largest k]
    #[arg(long = "instr", value_name = "NAME")]
    instruction: Option<String>,
    /// Seed of the random numbers: the same for every scheme and device.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX))]
    seed: u64,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

/// Parses m, n and k.
fn shape(text: &str) -> std::result::Result<Shape, String> {
    let numbers: Option<Vec<usize>> = text.split([',', 'x']).map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([m, n, k]) => checked_shape((*m, *n, *k)).map(|()| Shape { m: *m, n: *n, k: *k }),
        _ => Err("expected MxNxK, such as 64x64x4096".into()),
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        // A scheme of integers has none.
        let some = schemes(&self.schemes)?.iter().any(|scheme| !scheme.is_integer());
        Ok(Some(self.drawings.of("errors of products in f32", some)))
    }
}

/// Computes the products, writes the plot if one is asked for, and reports.
///
/// # Errors
/// A scheme that is none, a device that lacks an instruction; those of the devices.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    report.seed = Some(arguments.seed);
    let like = arguments.instruction.as_deref().map(isa::resolve).transpose()?;
    let schemes = schemes(&arguments.schemes)?;
    let mut devices = opened(arguments, &schemes, like.as_ref())?;
    let mut units = Vec::with_capacity(schemes.len());
    let mut left_out = vec![Vec::new(); devices.len()];
    for scheme in &schemes {
        let named = !arguments.schemes.is_empty();
        units.push(units_of(scheme, &mut devices, like.as_ref(), named, &mut left_out)?);
    }
    for (device, names) in devices.iter().zip(left_out).filter(|(_, names)| !names.is_empty()) {
        let device = &device.identity().name;
        report.notes.push(format!("Left out on {device}, for want of an instruction: {}.", names.join(", ")));
    }
    // Nobody has asked a program, which may be slow, for large products.
    let executions = units.iter().flatten().flatten().flat_map(|unit| &unit.executions);
    let external = executions.into_iter().any(|kind| *kind == ExecutionKind::External);
    let asked_for_none = arguments.sizes.is_empty() && arguments.shapes.is_empty();
    let request = EmulateRequest {
        units,
        shapes: shapes(arguments, external),
        draw: arguments.dist,
        seed: arguments.seed,
        within: (asked_for_none && external).then_some(UNASKED),
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

/// The schemes that are named, each once, or all that are shipped.
fn schemes(named: &[String]) -> Result<Vec<Scheme>> {
    let all: Vec<&str> = Scheme::shipped().collect();
    let names: Vec<&str> = if named.is_empty() { all } else { named.iter().map(String::as_str).collect() };
    let mut schemes: Vec<Scheme> = Vec::new();
    for name in names {
        let scheme = Scheme::find(name)?;
        match schemes.iter().find(|own| own.name == scheme.name) {
            Some(own) if *own != scheme => {
                return Err(Error::request(format!("two schemes have the name {}; rename a file", own.name)));
            }
            Some(_) => (),
            None => schemes.push(scheme),
        }
    }
    Ok(schemes)
}

/// The shapes, each once; where none is named a square one, small if a program computes it.
fn shapes(arguments: &Arguments, external: bool) -> Vec<Shape> {
    let square = |size: &usize| Shape { m: *size, n: *size, k: *size };
    let mut shapes: Vec<Shape> = Vec::new();
    for shape in arguments.sizes.iter().map(square).chain(arguments.shapes.iter().copied()) {
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    if shapes.is_empty() { vec![square(if external { &SMALL } else { &USUAL })] } else { shapes }
}

/// The devices that are named, each once, or the default one: this processor only where it has instructions for all schemes.
fn opened(arguments: &Arguments, schemes: &[Scheme], like: Option<&Instruction>) -> Result<Vec<Box<dyn Device>>> {
    let mut names: Vec<DeviceName> = Vec::new();
    for name in &arguments.devices {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if names.is_empty() {
        names.push(DeviceName::usual(|| schemes.iter().all(|own| Unit::of(own, &mut CpuDevice::open(), like).is_ok())));
    }
    let open = |name: &DeviceName| {
        name.computes("a product takes a device that computes")?;
        device::open(Some(name), Duration::from_secs(arguments.timeout))
    };
    names.iter().map(open).collect()
}

/// What computes a scheme on each device. Where it was not asked for by its name, it is left out of devices that lack an instruction.
fn units_of(
    scheme: &Scheme,
    devices: &mut [Box<dyn Device>],
    like: Option<&Instruction>,
    named: bool,
    left_out: &mut [Vec<String>],
) -> Result<Vec<Option<Unit>>> {
    let mut units = Vec::with_capacity(devices.len());
    for (device, left_out) in devices.iter_mut().zip(left_out) {
        units.push(match Unit::of(scheme, device.as_mut(), like) {
            Ok(unit) => Some(unit),
            Err(error) if !named && error.is_unavailable() => {
                left_out.push(scheme.name.clone());
                None
            }
            Err(error) => return Err(error),
        });
    }
    Ok(units)
}
