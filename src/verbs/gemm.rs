//! `tcnum gemm`.

mod between;
mod library;
mod matched;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;

use super::{
    Bar, OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    invocation,
    named::named,
    options::{MAX_TIMEOUT, device_name, integer, model_name, output_file},
};
use crate::{
    Error, Result,
    arithmetic::shipped,
    array::Container,
    base::atomic,
    device::{self, ChosenAlgorithm, Device, DeviceName, OperandLayout, cpu, cuda::CudaDevice},
    format::{self, Format, Rounding},
    gemm::{
        self, AccumulatorJoin, ArrayFile, BiasEntry, CEntry, Conversion, Differences, Extents, Factors, KOrder, Matrix,
        OperandRounding, PartJoin, Product, Residue, Schedule,
        library::{Values, checked_shape, draw},
        tables,
    },
    inputs::random,
    report::{Report, Table},
};

/// Computes a whole matrix product bit for bit, as a kernel makes it of instructions.
///
/// Example: tcnum gemm --a a.npy --b b.npy --instr mma.m16n8k16.f32.f16.f16.f32 --device model:hopper --out d.npy
///
/// Example: tcnum gemm --a x.safetensors:x --b x.safetensors:w --schedule split4.toml --compare d.safetensors
///
/// D = alpha*A*B + beta*C + bias. A schedule says how: the instruction, the order along k, parts (split-k) and how they are joined,
/// promotion to a second register, scales, the output's format (docs/gemm.md). --schedule reads it from a TOML file; the other flags
/// change what it says. A is m x k, B is k x n; edges are filled with zeros, as kernels do.
///
/// Example: tcnum gemm --a x.safetensors:x --b x.safetensors:w --device cublaslt --product bf16.bf16.bf16.32f --out d.safetensors
///
/// Example: tcnum gemm --device cublaslt --shapes experiments/cublaslt.csv --output json --out cublaslt.json
///
/// Example: tcnum gemm --between model:hopper model:ampere --instr mma.m16n8k16.f32.f16.f16.f32 --shape 64,64,256
///
/// A file is FILE.npy or FILE.safetensors:NAME. Values that the instruction's format does not have are refused, or rounded with
/// --quantise. Integers are codes. --match D finds the schedule that made D, among split-k of up to 16 parts, ways of joining, promotion
/// and order, for every arithmetic of the models. --between X Y compares the products of two: where they differ, which schedules they follow, and
/// the smallest product that shows it. --out names the file that gets D; the report (how far D is from plain sums in f32 and f64 and from
/// the exact one) goes to standard output. Exit status 1 if D differs from --compare, no
/// schedule gives that of --match, or two differ.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// A: m x k.
    #[arg(long, value_name = "FILE", value_parser = array_file, required_unless_present_any = ["shapes", "shape", "batches"])]
    a: Option<ArrayFile>,
    /// B: k x n.
    #[arg(long, value_name = "FILE", value_parser = array_file, required_unless_present_any = ["shapes", "shape", "batches"])]
    b: Option<ArrayFile>,
    /// Draw A and B of this shape, in place of files.
    #[arg(long, value_name = "M,N,K", value_parser = shape, conflicts_with_all = ["a", "b", "shapes", "matched"])]
    shape: Option<(usize, usize, usize)>,
    /// What the elements of --shape are drawn from.
    #[arg(long, value_parser = named::<Values>(), default_value = "normal", requires = "shape")]
    dist: Values,
    /// C: m x n.
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    c: Option<ArrayFile>,
    /// What is added to every row of the product: n numbers.
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    bias: Option<ArrayFile>,
    /// The block scales of A: m x (k / block) codes of a block-scaled instruction, or f32 for each block of the schedule's [scales].
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    scale_a: Option<ArrayFile>,
    /// The block scales of B: (k / block) x n.
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    scale_b: Option<ArrayFile>,
    /// The file of A holds k x m.
    #[arg(long)]
    transpose_a: bool,
    /// The file of B holds n x k, as the weights of a layer do.
    #[arg(long)]
    transpose_b: bool,
    /// Round values to the instruction's formats (to nearest, ties to even; too large ones saturate), instead of refusing others.
    #[arg(long)]
    quantise: bool,
    /// The instruction: its name, or a TOML file that describes one of your own; of a device that computes whole products,
    /// gemm.mMnNkK.D.A.B.C.
    #[arg(long = "instr", value_name = "NAME", conflicts_with = "schedule")]
    instruction: Option<String>,
    /// The schedule, a TOML file.
    #[arg(long, value_name = "FILE", help_heading = "Schedule")]
    schedule: Option<PathBuf>,
    /// Round elements of A and B from f32 to the instruction's formats: RNE, RNA, RZ, RU, RD or RO. [default: those of f32 go to tf32 as they
    /// are, and others are refused]
    #[arg(long, value_name = "ROUNDING", value_parser = rounding, conflicts_with = "quantise", help_heading = "Schedule")]
    round_operands: Option<Rounding>,
    /// The order of the steps along k.
    #[arg(long, value_parser = named::<KOrder>(), help_heading = "Schedule")]
    order: Option<KOrder>,
    /// The k of a slab, a multiple of the instruction's.
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 16), help_heading = "Schedule")]
    slab: Option<usize>,
    /// Which slab is short where k is no multiple of it.
    #[arg(long, value_parser = named::<Residue>(), help_heading = "Schedule")]
    residue: Option<Residue>,
    /// Cut k into this many parts at most, each summed apart.
    #[arg(long, value_name = "PARTS", value_parser = integer(1..=1usize << 16), help_heading = "Schedule")]
    split_k: Option<usize>,
    /// What the k of parts is a multiple of. [default: 1024 bits of A]
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40), help_heading = "Schedule")]
    granule: Option<usize>,
    /// How the parts are joined.
    #[arg(long, value_parser = named::<PartJoin>(), help_heading = "Schedule")]
    join: Option<PartJoin>,
    /// Add the unit's sum to a register of f32 (f64, s32) every so many k, and begin from zero.
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40), help_heading = "Schedule")]
    promote: Option<usize>,
    /// Halve what is left where it is less than twice that, to a multiple of this.
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40), help_heading = "Schedule")]
    promote_halves: Option<usize>,
    /// Deal the steps of what is summed without a break out to so many accumulators, in turn.
    #[arg(long, value_name = "N", value_parser = integer(1..=1usize << 10), help_heading = "Schedule")]
    accumulators: Option<usize>,
    /// How the accumulators are joined.
    #[arg(long, value_parser = named::<AccumulatorJoin>(), help_heading = "Schedule")]
    accumulator_join: Option<AccumulatorJoin>,
    /// Where C enters.
    #[arg(long, value_parser = named::<CEntry>(), help_heading = "Schedule")]
    c_enters: Option<CEntry>,
    /// Where the bias enters.
    #[arg(long, value_parser = named::<BiasEntry>(), help_heading = "Schedule")]
    bias_enters: Option<BiasEntry>,
    /// The factor of the product.
    #[arg(long, value_name = "NUMBER", help_heading = "Schedule")]
    alpha: Option<f64>,
    /// The factor of C.
    #[arg(long, value_name = "NUMBER", help_heading = "Schedule")]
    beta: Option<f64>,
    /// The format of D. [default: the instruction's]
    #[arg(long, value_name = "FORMAT", help_heading = "Schedule")]
    output_format: Option<String>,
    /// Write the schedule that was followed to this file.
    #[arg(long, value_name = "FILE.toml", value_parser = output_file, help_heading = "Schedule")]
    schedule_out: Option<PathBuf>,
    /// The device: cuda:N, cpu, model:NAME or model:FILE, exec:'PROGRAM ARGS'; or a library, cublaslt or cublaslt:N.
    #[arg(long, value_name = "DEVICE", value_parser = device_name)]
    device: Option<DeviceName>,
    /// What a library computes: the formats of D, A and B and what it computes in (32f, 32f-fast-tf32, 16f, 32i), of FP8 with .fast where
    /// sums stay in the matrix unit.
    #[arg(long, value_name = "D.A.B.COMPUTE", help_heading = "Library", conflicts_with_all = ["shapes", "matched"])]
    product: Option<String>,
    /// How a library gets A and B: nn, both row by row, or nt, B column by column, as the weights of a layer. [default: nt]
    #[arg(long, value_parser = named::<OperandLayout>(), help_heading = "Library")]
    layout: Option<OperandLayout>,
    /// The algorithm of a library, by its number and attributes (tile, stages, splitk, reduction, swizzle, custom, inner, cluster: numbers
    /// of the library's), in place of the first that its heuristic names.
    #[arg(long, value_name = "ID,tile=N,...", value_parser = ChosenAlgorithm::parse, help_heading = "Library")]
    algorithm: Option<ChosenAlgorithm>,
    /// Have the library compute the products of this table on drawn operands, and explain each: product (as --product), layout,
    /// values (normal, magnitudes), m, n, k.
    #[arg(long, value_name = "FILE.csv", help_heading = "Library", conflicts_with_all = ["a", "b", "c", "compare", "matched"])]
    shapes: Option<PathBuf>,
    /// The seed of operands that are drawn (--shape, --shapes).
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX))]
    seed: u64,
    /// Have the library compute the layers of this table at each of their batch sizes, and tell whether the bits of the first row stay the
    /// same: layer, product, layout, values, n, k, batches (1 8 64).
    #[arg(long, value_name = "FILE.csv", help_heading = "Library", conflicts_with_all = ["a", "b", "c", "compare", "matched", "shapes", "product", "shape", "between"])]
    batches: Option<PathBuf>,
    /// Search at most this often for the schedule of a product that is not as predicted.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = integer(0..=1usize << 20), help_heading = "Library")]
    searches: usize,
    /// The GPU that computes the arithmetic of --device model:NAME, in place of the processor.
    #[arg(long, value_name = "cuda:N", value_parser = gpu, conflicts_with_all = ["shapes", "matched", "batches", "between", "product"])]
    on: Option<usize>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Compare D with this matrix in every bit.
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    compare: Option<ArrayFile>,
    /// Find the schedule that gives this D in every bit, among those of the instructions of the models, instead of computing one.
    #[arg(long = "match", value_name = "FILE", value_parser = array_file, conflicts_with_all = ["compare", "out", "device",
        "schedule", "order", "slab", "residue", "split_k", "granule", "join", "promote", "promote_halves", "c_enters",
        "output_format", "round_operands", "accumulators", "accumulator_join", "bias_enters"])]
    matched: Option<ArrayFile>,
    /// Compare the products of two devices, each with what is special about it behind @: a schedule's file (DEVICE@FILE.toml), an instruction
    /// (DEVICE@NAME), rows=N (only the first N rows are asked for), algorithm=ID,tile=N,... of a library.
    #[arg(long, value_name = "DEVICE[@WHAT]", num_args = 2, conflicts_with_all = ["matched", "compare", "device", "shapes", "schedule_out", "algorithm"])]
    between: Vec<String>,
    /// Write the operands of a product that tells schedules apart: of --match those that are left, of --between both. Arrays a, b (c, ...).
    #[arg(long, value_name = "FILE.safetensors", value_parser = output_file)]
    apart: Option<PathBuf>,
    /// Models whose arithmetics may have made the D of --match or of --between; may be repeated. [default: all that are shipped]
    #[arg(long = "model", value_name = "MODEL", value_parser = model_name)]
    models: Vec<String>,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Arguments {
    /// Whether there is one D, which `--out` names the file of.
    fn computes_one(&self) -> bool {
        self.shapes.is_none() && self.batches.is_none() && self.between.is_empty()
    }
}

/// Parses the name of a GPU.
fn gpu(text: &str) -> std::result::Result<usize, String> {
    match DeviceName::from(text) {
        DeviceName::Cuda(ordinal) => Ok(ordinal),
        _ => Err("expected cuda:N".into()),
    }
}

/// Parses the name of an array in a file.
fn array_file(text: &str) -> std::result::Result<ArrayFile, String> {
    Ok(ArrayFile::parse(text))
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn makes_file(&self) -> bool {
        self.computes_one()
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of(
            "how far a product that is computed is from the exact one",
            self.computes_one() && self.matched.is_none(),
        )))
    }
}

/// Computes the product and reports.
///
/// # Errors
/// Files that cannot be read or written, matrices that do not fit, a schedule that cannot be followed, a device that fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if arguments.computes_one() {
        arguments.destination.one_file()?;
    }
    let searches = arguments.matched.is_some() || !arguments.between.is_empty();
    let given = [("--model", !arguments.models.is_empty()), ("--apart", arguments.apart.is_some())];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given && !searches) {
        return Err(Error::request(format!("{flag} is for --match and --between")));
    }
    if let Some(file) = &arguments.matched {
        return matched::run(arguments, file, report);
    }
    if let [x, y] = &arguments.between[..] {
        return between::run(arguments, [x, y], report);
    }
    let tables = arguments.shapes.is_some() || arguments.batches.is_some();
    let of_library = arguments.product.is_some() || tables || arguments.algorithm.is_some();
    if of_library || matches!(arguments.device, Some(DeviceName::CublasLt(_))) {
        return library::run(arguments, report);
    }
    let schedule = schedule(arguments)?;
    if let Some(path) = &arguments.destination.out {
        gemm::writable(path, schedule.output.format)?;
    }
    report.seed = arguments.shape.map(|_| arguments.seed);
    let factors = factors(arguments, &schedule, &mut report.notes)?;
    factors.check(&schedule)?;
    let mut device = open(arguments, &schedule)?;
    device.prepare(&schedule.instruction)?;
    let progress = Progress::new(&arguments.destination);
    let (m, n) = (factors.a.rows, factors.b.columns);
    progress.note(&format!("computing {m} x {n} x {} on {}", factors.k(), device.identity().name));
    let gpu = arguments.on.map(CudaDevice::open).transpose()?;
    report.notes.extend(gpu.as_ref().map(|gpu| {
        let own = gpu.identity();
        format!("Computed on {}, {}.", own.name, own.description)
    }));
    let made = {
        let bar = Bar::new(&progress, "computing", m as u64 * n as u64, 0, 1);
        Product::watched(device.as_mut(), gpu, &schedule, &factors, &|done| bar.show(done, 0))?
    };
    let d = &made.d;
    report.device = Some(device.identity().clone());
    let product = tables::product(&schedule, &factors, &made);
    progress.step("measuring the errors");
    let accuracy = gemm::accuracy(&schedule, &factors, d);
    let measured = accuracy.as_deref().unwrap_or_default();
    report.answer = Some(gemm::accuracy_table::answer(&product, &device.identity().name.to_string(), measured));
    report.tables.push(Table::of("Matrix product", [product]));
    gemm::accuracy_table::report(measured, m * n, report);
    let compared = compare(arguments, d, report);
    let metadata = [
        ("tcnum.schedule", schedule.to_toml()),
        ("tcnum.device", device.identity().name.to_string()),
        ("tcnum.source", invocation()),
    ];
    let metadata = BTreeMap::from(metadata.map(|(key, value)| (key.to_string(), value)));
    let written = write_schedule(arguments, Some(&schedule)).and(write_product(arguments, d, metadata));
    accuracy.and(compared).and(written)
}

/// Compares D with the matrix of `--compare`, if there is one.
fn compare(arguments: &Arguments, d: &Matrix, report: &mut Report) -> Result<()> {
    let Some(file) = &arguments.compare else { return Ok(()) };
    let (other, _) = file.read(Some(d.format), Conversion::Keep).map_err(|error| error.within("--compare"))?;
    let found = Differences::between(d, &other).map_err(|error| error.within(file.label()))?;
    report.holds &= found.differing == 0;
    report.answer = Some(tables::comparison_answer(&file.label(), &found));
    report.tables.push(Table::of("Comparison", [tables::comparison(file.label(), d.format, &found)]));
    Ok(())
}

/// Writes D to the file of `--out`, if there is one.
fn write_product(arguments: &Arguments, d: &Matrix, metadata: BTreeMap<String, String>) -> Result<()> {
    arguments.destination.out.as_ref().map_or(Ok(()), |path| gemm::write(path, d, metadata))
}

/// Writes a schedule to the file of `--schedule-out`, if there are both.
fn write_schedule(arguments: &Arguments, schedule: Option<&Schedule>) -> Result<()> {
    let (Some(path), Some(schedule)) = (&arguments.schedule_out, schedule) else { return Ok(()) };
    atomic::write(path, schedule.to_toml().as_bytes()).map_err(|error| error.within("--schedule-out"))
}

/// Refuses files whose matrices do not fit together, before any data are read.
fn check_extents(arguments: &Arguments) -> Result<()> {
    let read = |flag: &str, file: &ArrayFile| file.extent().map_err(|error| error.within(flag));
    let optional = |flag: &str, file: &Option<ArrayFile>| file.as_ref().map(|file| read(flag, file)).transpose();
    let turned = |(rows, columns), turn: bool| if turn { (columns, rows) } else { (rows, columns) };
    let (Some(a), Some(b)) = (&arguments.a, &arguments.b) else { return Ok(()) };
    let extents = Extents {
        a: turned(read("--a", a)?, arguments.transpose_a),
        b: turned(read("--b", b)?, arguments.transpose_b),
        c: optional("--c", &arguments.c)?,
        bias: optional("--bias", &arguments.bias)?,
        d: optional("--match", &arguments.matched)?,
    };
    extents.fit()?;
    let [rows, columns] = [extents.a.0, extents.b.1];
    match optional("--compare", &arguments.compare)?.filter(|own| *own != (rows, columns)) {
        Some((own_rows, own_columns)) => Err(Error::request(format!(
            "--compare: it is {own_rows} x {own_columns}, and D is {rows} x {columns}: only matrices of one shape and format are compared"
        ))),
        None => Ok(()),
    }
}

/// Parses m, n and k.
fn shape(text: &str) -> std::result::Result<(usize, usize, usize), String> {
    let numbers: Option<Vec<usize>> = text.split([',', 'x']).map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([m, n, k]) => checked_shape((*m, *n, *k)).map(|()| (*m, *n, *k)),
        _ => Err("expected M,N,K, such as 64,64,4096".into()),
    }
}

/// Parses a rounding that is the same every time.
fn rounding(text: &str) -> std::result::Result<Rounding, String> {
    let known = Rounding::DETERMINISTIC.map(|rounding| rounding.name());
    Rounding::parse(text).ok_or_else(|| format!("expected one of {}", known.join(", ")))
}

/// Refuses a file of another kind than those that hold several arrays.
fn safetensors(path: &Path) -> Result<()> {
    match Container::of(path) {
        Ok(Container::Safetensors) => Ok(()),
        _ => Err(Error::request(format!(
            "--apart {}: it holds several arrays; name a .safetensors file",
            path.display()
        ))),
    }
}

/// The models that are named, or all that are shipped.
fn models(arguments: &Arguments) -> Vec<String> {
    match arguments.models.is_empty() {
        true => shipped().map(String::from).collect(),
        false => arguments.models.clone(),
    }
}

/// alpha and beta.
fn scale_factors(arguments: &Arguments) -> (f64, f64) {
    (arguments.alpha.unwrap_or(1.0), arguments.beta.unwrap_or(1.0))
}

/// How values that a format does not have are taken.
fn conversion(arguments: &Arguments) -> Conversion {
    if arguments.quantise { Conversion::Quantise } else { Conversion::Exact }
}

/// The matrix of a name, read or drawn for a D of this format, if there is one.
fn matrix(
    arguments: &Arguments,
    d: &Format,
    (name, format, conversion): (&str, Option<&'static Format>, Conversion),
    notes: &mut Vec<String>,
) -> Result<Option<Matrix>> {
    if let (Some((m, n, k)), Some(format)) = (arguments.shape, format) {
        let own = |rows, columns, which| {
            Ok(Some(draw(rows, columns, format, d, arguments.dist, random(arguments.seed, which))))
        };
        match name {
            "a" => return own(m, k, 0),
            "b" => return own(k, n, 1),
            _ => {}
        }
    }
    let (file, turned) = match name {
        "a" => (&arguments.a, arguments.transpose_a),
        "b" => (&arguments.b, arguments.transpose_b),
        "c" => (&arguments.c, false),
        "bias" => (&arguments.bias, false),
        "scale_a" => (&arguments.scale_a, false),
        _ => (&arguments.scale_b, false),
    };
    let Some(file) = file else { return Ok(None) };
    let flag = format!("--{}", name.replace('_', "-"));
    let (matrix, note) = file.read(format, conversion).map_err(|error| error.within(flag))?;
    notes.extend(note);
    Ok(Some(if turned { matrix.transposed() } else { matrix }))
}

/// A and B in these formats, read or drawn, for a D of this format.
fn multiplied(
    arguments: &Arguments,
    [a, b]: [&'static Format; 2],
    d: &Format,
    notes: &mut Vec<String>,
) -> Result<[Matrix; 2]> {
    check_extents(arguments)?;
    let mut own = |name, format| {
        let found = matrix(arguments, d, (name, Some(format), conversion(arguments)), notes)?;
        found.ok_or_else(|| Error::request("give --a and --b, or --shape"))
    };
    Ok([own("a", a)?, own("b", b)?])
}

/// The schedule that the flags describe.
fn schedule(arguments: &Arguments) -> Result<Schedule> {
    let mut schedule = match (&arguments.schedule, &arguments.instruction) {
        (Some(path), _) => Schedule::read(path)?,
        (None, Some(name)) => Schedule::new(gemm::instruction(name)?)?,
        (None, None) => {
            return Err(Error::request(
                "nothing says how the product is made: give --instr or --schedule (of a library: --device cublaslt --product)",
            ));
        }
    };
    if let Some(rounding) = arguments.round_operands {
        let format = schedule.operands.map_or(format::find("f32")?, |operands| operands.format);
        schedule.operands = Some(OperandRounding { format, rounding });
    }
    schedule.order = arguments.order.unwrap_or(schedule.order);
    schedule.slab = arguments.slab.unwrap_or(schedule.slab);
    schedule.residue = arguments.residue.unwrap_or(schedule.residue);
    schedule.split.count = arguments.split_k.unwrap_or(schedule.split.count);
    schedule.split.granule = arguments.granule.unwrap_or(schedule.split.granule);
    schedule.split.join = arguments.join.unwrap_or(schedule.split.join);
    schedule.promote = arguments.promote.or(schedule.promote);
    schedule.promote_halves = arguments.promote_halves.or(schedule.promote_halves);
    schedule.accumulators.count = arguments.accumulators.unwrap_or(schedule.accumulators.count);
    schedule.accumulators.join = arguments.accumulator_join.unwrap_or(schedule.accumulators.join);
    schedule.c = arguments.c_enters.unwrap_or(schedule.c);
    schedule.bias = arguments.bias_enters.unwrap_or(schedule.bias);
    schedule.alpha = arguments.alpha.unwrap_or(schedule.alpha);
    schedule.beta = arguments.beta.unwrap_or(schedule.beta);
    if let Some(name) = &arguments.output_format {
        schedule.output.format = format::find(name).map_err(|error| error.within("--output-format"))?;
    }
    schedule.check().map_err(Error::request)?;
    Ok(schedule)
}

/// The matrices, each in the format that it has to have.
fn factors(arguments: &Arguments, schedule: &Schedule, notes: &mut Vec<String>) -> Result<Factors> {
    check_extents(arguments)?;
    Factors::of_schedule(schedule, conversion(arguments), &mut |name, format, conversion| {
        matrix(arguments, schedule.output.format, (name, format, conversion), notes)
    })
}

/// The device that is named, or the default one.
fn open(arguments: &Arguments, schedule: &Schedule) -> Result<Box<dyn Device>> {
    let i = &schedule.instruction;
    let on_cpu = || cpu::has(i).is_ok() || i.is_of_processors();
    computing(&arguments.device.clone().unwrap_or_else(|| DeviceName::usual(on_cpu)), arguments.timeout)
}

/// The device of this name, which computes whatever it is asked.
fn computing(name: &DeviceName, timeout: u64) -> Result<Box<dyn Device>> {
    name.computes("a product takes a device that computes")?;
    device::open(Some(name), Duration::from_secs(timeout))
}
