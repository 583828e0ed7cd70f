//! `tcnum emulate`.

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    gemm::Matrices,
    invocation,
    options::{Timeout, integer},
    select,
    shared::{Devices, Seed},
};
use crate::{
    Error, Result,
    array::Container,
    base::{distinct::distinct, work::UNASKED},
    device::{self, Device, DeviceName, ExecutionKind, cpu::CpuDevice},
    emulate::{self, EmulateRequest, table},
    experiment::table::devices as table_of_devices,
    inputs::Draw,
    isa::{self, Instruction},
    product::{self, ProductOperands, ProductShape},
    report::Report,
    scheme::{Emulated, Scheme, SchemeUnit},
};

/// Default size of products.
const USUAL: usize = 1024;
/// Default size for programs, which may be slow.
const SMALL: usize = 32;
const HELP: &str = "Examples:
  tcnum emulate --size 128 --device model:turing --scheme half egemm ootomo
  tcnum emulate --scheme crt-int8-f64:13..15 cublas-fp64 --size 128 --device model:hopper
      in f64, by products of integers
  tcnum emulate --scheme l16-r16 --shape 64x64x300 --device model:turing
      integers, by products of their digits
More: docs/emulate.md";

/// Measures errors of f32 and f64 products that schemes compute on narrow units.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
#[command(mut_arg("devices", |option| option.num_args(1..)))]
#[command(mut_args(|option| match option.get_id().as_str() {
    "a" => option.requires("b").conflicts_with_all(["sizes", "shapes", "dist"]),
    "b" | "c" | "alpha" | "transpose_a" | "transpose_b" => option.requires("a"),
    "beta" => option.requires("c"),
    _ => option,
}))]
pub(super) struct Arguments {
    /// NAME, NAME:COUNT, NAME:LOW..HIGH, f32, f64, FILE.toml [default: f32]
    #[arg(long = "scheme", value_name = "NAME|FILE", num_args = 1..)]
    schemes: Vec<String>,
    /// Size of square matrices; may be repeated [default: 1024; exec: 32]
    #[arg(long = "size", value_name = "N", num_args = 1.., value_parser = integer(1..=16384usize))]
    sizes: Vec<usize>,
    /// Other shapes; may be repeated
    #[arg(long = "shape", value_name = "M,N,K", value_parser = shape)]
    shapes: Vec<ProductShape>,
    #[command(flatten)]
    matrices: Matrices,
    /// Find the cheapest scheme of f64 with errors up to this, over sum |ab|
    #[arg(long, value_name = "ACCURACY", value_parser = accuracy, conflicts_with = "limits")]
    choose: Option<f64>,
    /// Find the smallest operands for which each scheme fails
    #[arg(long, conflicts_with_all = ["sizes", "shapes", "dist", "rows", "a"])]
    limits: bool,
    /// Instruction, or shape for digits [default: first of mma, mfma, wmma...]
    #[arg(long = "instr", value_name = "NAME")]
    instruction: Option<String>,
    #[command(flatten)]
    devices: Devices,
    #[command(flatten)]
    timeout: Timeout,
    /// uniform(A,B), normal(M,D), log-uniform(A,B), magnitudes(A,B), phi(P)
    #[arg(long, value_name = "DISTRIBUTION", value_parser = Draw::parse, help_heading = "Inputs")]
    dist: Option<Draw>,
    #[command(flatten)]
    seed: Seed,
    /// Computed rows of each product [default: all on a GPU, else 2^28 terms]
    #[arg(long, value_name = "N", value_parser = integer(1..=16384usize), help_heading = "Limits")]
    rows: Option<usize>,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
}

/// Parses an accuracy.
fn accuracy(text: &str) -> std::result::Result<f64, String> {
    let accuracy: Option<f64> = text.parse().ok();
    accuracy
        .filter(|accuracy| *accuracy > 0.0 && *accuracy < 1.0)
        .ok_or_else(|| "expected a number between 0 and 1, such as 1e-15".into())
}

/// The schemes that are asked for, or those that fit the operands or the question.
fn schemes(arguments: &Arguments, given: Option<&ProductOperands>) -> Result<Vec<Scheme>> {
    let wide =
        |operands: &ProductOperands| [&operands.a, &operands.b].iter().any(|matrix| matrix.beyond_single().is_some());
    let more = given.filter(|operands| operands.is_scaled() || operands.batch > 1);
    if arguments.schemes.is_empty() && (arguments.choose.is_some() || given.is_some_and(wide) || more.is_some()) {
        let mut schemes = Scheme::emulating(Emulated::Double)?;
        if let Some(operands) = more.filter(|_| arguments.choose.is_none()) {
            schemes.retain(|scheme| scheme.fit_operands(operands).is_ok());
        }
        return Ok(schemes);
    }
    let mut schemes = Scheme::chosen(&arguments.schemes)?;
    if arguments.limits {
        // Integers have no limits of this kind: a name of one is refused later, and a group leaves them out.
        schemes.retain(|scheme| !scheme.is_integer() || arguments.schemes.contains(&scheme.name));
    }
    let Some(given) = given else { return Ok(schemes) };
    if arguments.schemes.is_empty() {
        schemes.retain(|scheme| !scheme.is_integer());
    }
    for scheme in &schemes {
        scheme.fit_format(given)?;
        scheme.fit_operands(given)?;
    }
    Ok(schemes)
}

/// Parses m, n and k.
fn shape(text: &str) -> std::result::Result<ProductShape, String> {
    super::gemm::shape(text).map(|(m, n, k)| ProductShape { m, n, k })
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn makes_file(&self) -> bool {
        // A product; other files hold the report.
        self.destination.out.as_ref().is_some_and(|path| Container::of(path).is_ok())
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        // A scheme of integers has none.
        let single = |scheme: &Scheme| !scheme.is_integer() && scheme.emulates == Emulated::Single;
        let some = self.choose.is_none() && Scheme::chosen(&self.schemes)?.iter().any(single);
        Ok(Some(self.drawings.of("errors of products in f32", some)))
    }
}

/// Computes the products, and reports.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    report.seed = Some(*arguments.seed);
    let like = arguments.instruction.as_deref().map(isa::resolve).transpose()?;
    let (given, batch) = arguments.matrices.source().numbers()?.unzip();
    let batch: Option<usize> = batch.flatten();
    if batch.is_some_and(|batch| batch > 1) && arguments.rows.is_some() {
        return Err(Error::request("--rows: the products of a batch have all rows; leave it out"));
    }
    let schemes = schemes(arguments, given.as_ref())?;
    let mut devices = opened(arguments, &schemes, like.as_ref())?;
    // Schemes of a group that a device lacks are left out, as without names.
    let group = |name: &String| Emulated::ALL.iter().any(|emulated| emulated.name() == name);
    let required = arguments.schemes.iter().any(|name| !group(name)) && arguments.choose.is_none();
    let units = SchemeUnit::of_each(&schemes, &mut devices, like.as_ref(), required)?;
    one_product(arguments, &schemes, &devices)?;
    let square = |size: usize| ProductShape { m: size, n: size, k: size };
    let shapes = distinct(arguments.sizes.iter().map(|size| square(*size)).chain(arguments.shapes.iter().copied()));
    // Nobody has asked a program, which may be slow, for large products.
    let executions = units.iter().flatten().flatten().flat_map(|unit| &unit.executions);
    let unasked = shapes.is_empty() && executions.into_iter().any(|kind| *kind == ExecutionKind::External);
    let shapes = match &given {
        Some(operands) => vec![operands.shape()],
        None if shapes.is_empty() => vec![square(if unasked { SMALL } else { USUAL })],
        None => shapes,
    };
    let request = EmulateRequest {
        units,
        shapes,
        operands: given,
        keep: arguments.makes_file(),
        draw: arguments.dist,
        seed: *arguments.seed,
        within: unasked.then_some(UNASKED),
        rows: arguments.rows,
        schemes,
    };
    report.notes.extend(request.left_out(&devices));
    for loss in request.losses()? {
        super::warn(&Error::request(loss.to_string()));
        report.notes.push(loss.to_string());
    }
    if let Some(accuracy) = arguments.choose {
        return emulate::choose(&mut devices, &request, accuracy, &mut |what| progress.step(what), report);
    }
    if arguments.limits {
        return emulate::limits(&mut devices, &request, &mut |what| progress.step(what), report);
    }
    let mut done = Vec::new();
    let outcome = emulate::run(&mut devices, &request, &mut done, &mut |stage| progress.at(stage));
    table::report(&request, &devices, &done, !matches!(outcome, Ok(false)), report);
    if done.is_empty() && outcome.is_ok() {
        devices.iter().for_each(|device| select::nothing(report, device.as_ref()));
    }
    if devices.len() > 1 && !done.is_empty() {
        report.tables.push(table_of_devices(devices.iter().map(|device| device.identity())));
    }
    if let (Some(path), Some(product)) =
        (&arguments.destination.out, done.first().and_then(|emulation| emulation.product.as_ref()))
    {
        let scheme = &request.schemes[done[0].scheme];
        let metadata = [
            ("tcnum.scheme", scheme.name.clone()),
            ("tcnum.device", devices[0].identity().name.to_string()),
            ("tcnum.source", invocation()),
        ];
        let metadata = metadata.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        match batch {
            Some(batch) => product::write_batch(path, product, batch, metadata)?,
            None => product::write(path, product, metadata)?,
        }
    }
    outcome.map(drop)
}

/// Refuses a file for a product, if there is more than one product, or a part of one.
fn one_product(arguments: &Arguments, schemes: &[Scheme], devices: &[Box<dyn Device>]) -> Result<()> {
    let Some(path) = arguments.destination.out.as_ref().filter(|_| arguments.makes_file()) else { return Ok(()) };
    let refused = |what: &str| Err(Error::request(format!("--out {}: {what}", path.display())));
    match schemes {
        _ if arguments.choose.is_some() || arguments.limits => {
            refused("this is a file of a product; name one for a report")
        }
        _ if !arguments.matrices.has_files() => refused("it holds the product of given operands; give --a and --b"),
        _ if arguments.rows.is_some() => refused("it holds all rows; leave out --rows"),
        [scheme] if devices.len() == 1 => product::writable(path, scheme.result()),
        _ => refused("it holds one product; name one scheme and one device"),
    }
}

/// The named devices, each once, or the default one: this processor only if it can run all schemes.
fn opened(arguments: &Arguments, schemes: &[Scheme], like: Option<&Instruction>) -> Result<Vec<Box<dyn Device>>> {
    let mut names = distinct(arguments.devices.iter().cloned());
    if names.is_empty() {
        names.push(DeviceName::usual(|| {
            schemes.iter().all(|scheme| SchemeUnit::of(scheme, &mut CpuDevice::open(), like).is_ok())
        }));
    }
    let open = |name: &DeviceName| {
        name.computes("a product takes a device that computes")?;
        device::open(Some(name), arguments.timeout.duration())
    };
    names.iter().map(open).collect()
}
