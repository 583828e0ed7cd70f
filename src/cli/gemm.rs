//! `tcnum gemm`.

mod library;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;

use super::{
    Bar, OutputDestination, Progress, invocation,
    options::{MAX_TIMEOUT, integer, output_file},
};
use crate::{
    Error, Result,
    arithmetic::shipped,
    base::{atomic, interrupt, sorting},
    device::{self, ChosenAlgorithm, Device, OperandLayout, cpu},
    format::{self, Format},
    gemm::{
        self, ArrayFile, CEntry, Conversion, Differences, Executor, Factors, KOrder, Matrix, PartJoin, Residue,
        Schedule,
        matching::{self, Matches, Suspects},
        tables,
    },
    isa::Instruction,
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
/// A file is FILE.npy or FILE.safetensors:NAME. Values that the instruction's format does not have are refused, or rounded with
/// --quantise. Integers are codes. --match D finds the schedule that made D, among split-k of up to 16 parts, ways of joining, promotion
/// and order, for every arithmetic of the models. --out names the file that gets D; the report (how far D is from plain sums in f32 and f64 and from
/// the exact one) goes to standard output. Exit status 1 if D differs from --compare, or no
/// schedule gives that of --match.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// A: m x k.
    #[arg(long, value_name = "FILE", value_parser = array_file, required_unless_present = "shapes")]
    a: Option<ArrayFile>,
    /// B: k x n.
    #[arg(long, value_name = "FILE", value_parser = array_file, required_unless_present = "shapes")]
    b: Option<ArrayFile>,
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
    /// The order of the steps along k.
    #[arg(long, value_enum, help_heading = "Schedule")]
    order: Option<KOrder>,
    /// The k of a slab, a multiple of the instruction's.
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 16), help_heading = "Schedule")]
    slab: Option<usize>,
    /// Which slab is short where k is no multiple of it.
    #[arg(long, value_enum, help_heading = "Schedule")]
    residue: Option<Residue>,
    /// Cut k into this many parts at most, each summed apart.
    #[arg(long, value_name = "PARTS", value_parser = integer(1..=1usize << 16), help_heading = "Schedule")]
    split_k: Option<usize>,
    /// What the k of parts is a multiple of. [default: 1024 bits of A]
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40), help_heading = "Schedule")]
    granule: Option<usize>,
    /// How the parts are joined.
    #[arg(long, value_enum, help_heading = "Schedule")]
    join: Option<PartJoin>,
    /// Add the unit's sum to a register of f32 (f64, s32) every so many k, and begin from zero.
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40), help_heading = "Schedule")]
    promote: Option<usize>,
    /// Halve what is left where it is less than twice that, to a multiple of this.
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40), help_heading = "Schedule")]
    promote_halves: Option<usize>,
    /// Where C enters.
    #[arg(long, value_enum, help_heading = "Schedule")]
    c_enters: Option<CEntry>,
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
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// What a library computes: the formats of D, A and B and what it computes in (32f, 32f-fast-tf32, 16f, 32i), of FP8 with .fast where
    /// sums stay in the matrix unit.
    #[arg(long, value_name = "D.A.B.COMPUTE", help_heading = "Library", conflicts_with_all = ["shapes", "matched"])]
    product: Option<String>,
    /// How a library gets A and B: nn, both row by row, or nt, B column by column, as the weights of a layer. [default: nt]
    #[arg(long, value_enum, help_heading = "Library")]
    layout: Option<OperandLayout>,
    /// The algorithm of a library, by its number and attributes (tile, stages, splitk, reduction, swizzle, custom, inner, cluster: numbers
    /// of the library's), in place of the first that its heuristic names.
    #[arg(long, value_name = "ID,tile=N,...", value_parser = ChosenAlgorithm::parse, help_heading = "Library")]
    algorithm: Option<ChosenAlgorithm>,
    /// Have the library compute the products of this table on drawn operands, and explain each: product (as --product), layout,
    /// values (normal, magnitudes), m, n, k.
    #[arg(long, value_name = "FILE.csv", help_heading = "Library", conflicts_with_all = ["a", "b", "c", "compare", "matched"])]
    shapes: Option<PathBuf>,
    /// The seed of the operands of --shapes.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX), help_heading = "Library")]
    seed: u64,
    /// Search at most this often for the schedule of a product that is not as predicted.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = integer(0..=1usize << 20), help_heading = "Library")]
    searches: usize,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Compare D with this matrix in every bit.
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    compare: Option<ArrayFile>,
    /// Find the schedule that gives this D in every bit, among those of the instructions of the models, instead of computing one.
    #[arg(long = "match", value_name = "FILE", value_parser = array_file, conflicts_with_all = ["compare", "out", "device",
        "schedule", "bias", "scale_a", "scale_b", "order", "slab", "residue", "split_k", "granule", "join", "promote", "promote_halves", "c_enters",
        "output_format"])]
    matched: Option<ArrayFile>,
    /// Models whose arithmetics may have made the D of --match; may be repeated. [default: all that are shipped]
    #[arg(long = "model", value_name = "MODEL", requires = "matched")]
    models: Vec<String>,
    /// Output flags.
    #[command(flatten)]
    pub destination: OutputDestination,
}

impl Arguments {
    /// Whether there is one D, which `--out` names the file of.
    pub(super) fn computes_one(&self) -> bool {
        self.shapes.is_none()
    }
}

/// Parses the name of an array in a file.
fn array_file(text: &str) -> std::result::Result<ArrayFile, String> {
    Ok(ArrayFile::parse(text))
}

/// Computes the product and reports.
///
/// # Errors
/// Files that cannot be read or written, matrices that do not fit, a schedule that cannot be followed, a device that fails.
pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    interrupt::watch();
    if arguments.computes_one() {
        arguments.destination.one_file()?;
    }
    if let Some(file) = &arguments.matched {
        return matched(arguments, file);
    }
    let of_library = arguments.product.is_some() || arguments.shapes.is_some() || arguments.algorithm.is_some();
    if of_library || arguments.device.as_deref().is_some_and(library::is_library) {
        return library::run(arguments);
    }
    let schedule = schedule(arguments)?;
    if let Some(path) = &arguments.destination.out {
        gemm::writable(path, schedule.output.format)?;
    }
    let mut report = Report::new("gemm", invocation());
    let factors = factors(arguments, &schedule, &mut report.notes)?;
    factors.check(&schedule)?;
    let mut device = open(arguments, &schedule)?;
    let execution = device.prepare(&schedule.instruction)?.kind.name();
    let progress = Progress::new(&arguments.destination);
    let (m, n) = (factors.a.rows, factors.b.columns);
    progress.note(&format!("computing {m} x {n} x {} on {}", factors.k(), device.identity().name));
    let begin = Instant::now();
    let d = {
        let bar = Bar::new(&progress, "computing", m as u64 * n as u64, 0, 1);
        let mut executor = Executor::of(device.as_mut(), &schedule, m, n)?;
        gemm::compute(&schedule, &mut executor, &factors, &|done| bar.show(done, 0))?
    };
    let seconds = begin.elapsed().as_secs_f64();
    report.device = Some(device.identity().clone());
    if let Some(path) = &arguments.schedule_out {
        atomic::write(path, schedule.to_toml().as_bytes()).map_err(|error| error.within("--schedule-out"))?;
    }
    if let Some(path) = &arguments.destination.out {
        let metadata = [
            ("tcnum.schedule", schedule.to_toml()),
            ("tcnum.device", device.identity().name.clone()),
            ("tcnum.source", invocation()),
        ];
        let metadata = sorting::map(metadata.map(|(key, value)| (key.to_string(), value)));
        gemm::write(path, &d, metadata)?;
    }
    progress.step("measuring the errors");
    let accuracy = gemm::accuracy(&schedule, &factors, &d);
    report.tables.push(Table::of("Matrix product", [tables::product(&schedule, &factors, execution, seconds)]));
    report.tables.extend(Table::of("Accuracy", tables::accuracies(&accuracy)).filled());
    let distances = Table::of("Elements by their distance in numbers of D's format", tables::ulps(&accuracy));
    report.tables.extend(distances.filled());
    if accuracy.first().is_some_and(|first| first.elements < m * n) {
        report.notes.push(format!(
            "The accuracy is that of {} elements of {}, spread over D.",
            accuracy[0].elements,
            m * n
        ));
    }
    if let Some(file) = &arguments.compare {
        let (other, _) = file.read(Some(d.format), Conversion::Keep).map_err(|error| error.within("--compare"))?;
        let found = Differences::between(&d, &other).map_err(|error| error.within(file.label()))?;
        report.holds = found.differing == 0;
        report.tables.push(Table::of("Comparison", [tables::comparison(file.label(), d.format, &found)]));
    }
    Ok(report)
}

/// Finds the schedules that give a D.
fn matched(arguments: &Arguments, file: &ArrayFile) -> Result<Report> {
    let mut report = Report::new("gemm", invocation());
    let instructions: Vec<Instruction> =
        arguments.instruction.iter().map(|name| gemm::instruction(name)).collect::<Result<_>>()?;
    let wanted = |of: fn(&Instruction) -> &'static Format| instructions.first().map(of);
    let conversion = if arguments.quantise { Conversion::Quantise } else { Conversion::Exact };
    let mut read = |flag: &str, file: &ArrayFile, format: Option<&'static Format>| -> Result<Matrix> {
        let (matrix, note) = file.read(format, conversion).map_err(|error| error.within(flag))?;
        report.notes.extend(note);
        Ok(matrix)
    };
    let turned = |matrix: Matrix, turn: bool| if turn { matrix.transposed() } else { matrix };
    let [a, b] = operands(arguments)?;
    let a = turned(read("--a", a, wanted(|i| i.a))?, arguments.transpose_a);
    let b = turned(read("--b", b, wanted(|i| i.b))?, arguments.transpose_b);
    let c = arguments.c.as_ref().map(|c| read("--c", c, None)).transpose()?;
    let d = read("--match", file, None)?;
    let factors = Factors { c, ..Factors::new(a, b) };
    let models = match arguments.models.is_empty() {
        true => shipped().map(String::from).collect(),
        false => arguments.models.iter().map(|name| name.trim_start_matches("model:").to_string()).collect(),
    };
    let factor = |given: Option<f64>| given.unwrap_or(1.0);
    let suspects = Suspects { models, instructions, factors: (factor(arguments.alpha), factor(arguments.beta)) };
    let progress = Progress::new(&arguments.destination);
    let found = matching::find(&suspects, &factors, &d, &|what| progress.step(what))?;
    report.holds = !found.found.is_empty();
    report.notes.extend(remarks(&found, factors.k(), d.codes.len()));
    if let (Some(path), Some(first)) = (&arguments.schedule_out, found.found.first()) {
        atomic::write(path, first.schedule.to_toml().as_bytes()).map_err(|error| error.within("--schedule-out"))?;
    }
    let title = if report.holds { "Schedules that give D in every bit" } else { "The nearest schedule" };
    report.tables.push(Table::of(title, tables::matches(&found, factors.k(), d.codes.len())));
    if let Some((_, differences)) = &found.nearest {
        let row = tables::comparison(file.label(), d.format, differences);
        report.tables.push(Table::of("Where the nearest differs", [row]));
    }
    Ok(report)
}

/// What was found, in sentences.
fn remarks(found: &Matches, k: usize, elements: usize) -> Vec<String> {
    let Matches { tried, arithmetics, found, unchecked, nearest } = found;
    let arithmetics = if *arithmetics == 1 { "1 arithmetic".into() } else { format!("{arithmetics} arithmetics") };
    let tried = format!("{tried} schedules of {arithmetics} were tried");
    let mut notes = Vec::new();
    match (&found[..], nearest) {
        ([first, others @ ..], _) => {
            let sentence = first.schedule.sentence(k);
            let model = &first.arithmetic.model;
            let more = match others.len() {
                0 => "no other that was tried gives the same".to_string(),
                1 => "1 other gives the same D, and nothing in D tells them apart".to_string(),
                count => format!("{count} others give the same D, and nothing in D tells them apart"),
            };
            notes.push(format!("D is, in every bit, {sentence}, with the arithmetic of {model}; {more}. {tried}."));
        }
        ([], Some((near, differences))) => notes.push(format!(
            "No schedule gives D; {tried}. The nearest is {}, with the arithmetic of {}: it gives {} of {elements} elements.",
            near.schedule.sentence(k),
            near.arithmetic.model,
            elements - differences.differing
        )),
        ([], None) => notes.push(format!("No schedule gives D; {tried}.")),
    }
    if *unchecked > 0 {
        notes.push(format!(
            "{unchecked} more agree on the elements that all were judged on, and were not computed in full."
        ));
    }
    notes
}

/// The files of A and B.
fn operands(arguments: &Arguments) -> Result<[&ArrayFile; 2]> {
    match (&arguments.a, &arguments.b) {
        (Some(a), Some(b)) => Ok([a, b]),
        _ => Err(Error::request("give --a and --b")),
    }
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
    schedule.order = arguments.order.unwrap_or(schedule.order);
    schedule.slab = arguments.slab.unwrap_or(schedule.slab);
    schedule.residue = arguments.residue.unwrap_or(schedule.residue);
    schedule.split.count = arguments.split_k.unwrap_or(schedule.split.count);
    schedule.split.granule = arguments.granule.unwrap_or(schedule.split.granule);
    schedule.split.join = arguments.join.unwrap_or(schedule.split.join);
    schedule.promote = arguments.promote.or(schedule.promote);
    schedule.promote_halves = arguments.promote_halves.or(schedule.promote_halves);
    schedule.c = arguments.c_enters.unwrap_or(schedule.c);
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
    let i = &schedule.instruction;
    let conversion = if arguments.quantise { Conversion::Quantise } else { Conversion::Exact };
    let mut read = |flag: &str, file: &ArrayFile, format: &'static Format, conversion: Conversion| -> Result<Matrix> {
        let (matrix, note) = file.read(Some(format), conversion).map_err(|error| error.within(flag))?;
        notes.extend(note);
        Ok(matrix)
    };
    let turned = |matrix: Matrix, turn: bool| if turn { matrix.transposed() } else { matrix };
    let [a, b] = operands(arguments)?;
    let a = turned(read("--a", a, i.a, conversion)?, arguments.transpose_a);
    let b = turned(read("--b", b, i.b, conversion)?, arguments.transpose_b);
    let own = schedule.output.format;
    let c_format = if schedule.c == CEntry::Start { (i.c, conversion) } else { (own, Conversion::Keep) };
    let scales = match i.scale {
        Some(scale) => (scale.format, conversion),
        None => (format::find("f32")?, conversion),
    };
    let mut optional = |flag: &str, file: &Option<ArrayFile>, (format, conversion)| {
        file.as_ref().map(|file| read(flag, file, format, conversion)).transpose()
    };
    Ok(Factors {
        a,
        b,
        c: optional("--c", &arguments.c, c_format)?,
        bias: optional("--bias", &arguments.bias, (own, Conversion::Keep))?,
        scale_a: optional("--scale-a", &arguments.scale_a, scales)?,
        scale_b: optional("--scale-b", &arguments.scale_b, scales)?,
    })
}

/// The device that is named, or the default one.
fn open(arguments: &Arguments, schedule: &Schedule) -> Result<Box<dyn Device>> {
    let i = &schedule.instruction;
    let on_cpu = || cpu::has(i).is_ok() || i.is_of_processors();
    let name = arguments.device.clone().unwrap_or_else(|| device::default_name(on_cpu));
    if name.starts_with("trace:") {
        return Err(Error::request(format!(
            "{name} is a recording, which has no outputs but its own: a product takes a device that computes"
        )));
    }
    device::open(Some(&name), Duration::from_secs(arguments.timeout))
}
