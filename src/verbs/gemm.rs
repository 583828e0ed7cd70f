//! `tcnum gemm`.

mod between;
mod compute;
mod library;
mod matching;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};

use super::{
    Bar, OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    invocation,
    named::named,
    options::{Timeout, array_file, device_name, integer},
    shared::{self, LibraryKind, Models, OneInstruction, Seed},
};
use crate::{
    Error, Result,
    arithmetic::shipped,
    base::atomic,
    device::OperandLayout,
    format::{self, Format},
    gemm::{library::checked_shape, tables},
    product::{
        self, ArrayFile, Conversion, Differences, DrawnOperands, Factors, KOrder, Matrix, OperandSource, PartJoin,
        ProductShape, Schedule, Values,
        bound::{Claim, LibraryFamily},
    },
    report::{Report, Table},
};

const HELP: &str = "\
Examples:
  tcnum gemm compute --shape 64,64,1024 --instr mma.m16n8k16.f32.f16.f16.f32 --device hopper
  tcnum gemm match d.npy --a x.npy --b w.npy --model hopper
  tcnum gemm between hopper ampere --instr mma.m16n8k16.f32.f16.f16.f32 --shape 64,64,256
  tcnum gemm library --product bf16.bf16.bf16.32f --shape 64,4096,4096

More: docs/gemm.md";

/// Computes whole matrix products bit for bit, and finds the schedule that made one.
#[derive(Args, Debug)]
#[command(after_help = HELP, disable_help_subcommand = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    question: Question,
}

/// The question about a product.
#[derive(Subcommand, Debug)]
enum Question {
    Compute(Box<compute::Arguments>),
    Match(Box<matching::Arguments>),
    Between(Box<between::Arguments>),
    Library(Box<library::Arguments>),
}

impl Question {
    fn verb(&self) -> &dyn Verb {
        match self {
            Question::Compute(arguments) => arguments.as_ref(),
            Question::Match(arguments) => arguments.as_ref(),
            Question::Between(arguments) => arguments.as_ref(),
            Question::Library(arguments) => arguments.as_ref(),
        }
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        self.question.verb().destination()
    }

    fn makes_file(&self) -> bool {
        self.question.verb().makes_file()
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        self.question.verb().figures()
    }
}

/// Answers the question and reports.
///
/// # Errors
/// Files that cannot be read or written, matrices that do not fit, a schedule that cannot be followed, a device that fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    match &arguments.question {
        Question::Compute(arguments) => compute::run(arguments, report),
        Question::Match(arguments) => matching::run(arguments, report),
        Question::Between(arguments) => between::run(arguments, report),
        Question::Library(arguments) => library::run(arguments, report),
    }
}

/// The matrices of D = alpha A B + beta C, and the factors.
#[derive(Args, Debug)]
#[command(next_help_heading = "Inputs")]
pub(super) struct Matrices {
    /// A, m x k: FILE.npy or FILE.safetensors:NAME
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    a: Option<ArrayFile>,
    /// B, k x n
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    b: Option<ArrayFile>,
    /// C, m x n
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    c: Option<ArrayFile>,
    /// Factor of the product
    #[arg(long, value_name = "NUMBER")]
    alpha: Option<f64>,
    /// Factor of C
    #[arg(long, value_name = "NUMBER")]
    beta: Option<f64>,
    /// The file of A holds k x m
    #[arg(long)]
    transpose_a: bool,
    /// The file of B holds n x k, as the weights of a layer do
    #[arg(long)]
    transpose_b: bool,
}

/// The matrices of a product in the formats of its instruction.
#[derive(Args, Debug)]
#[command(next_help_heading = "Inputs")]
pub(super) struct Operands {
    #[command(flatten)]
    matrices: Matrices,
    /// Round values that the formats lack to nearest even, saturating
    #[arg(long)]
    quantise: bool,
}

/// The matrices that products by a schedule may have.
#[derive(Args, Debug)]
#[command(next_help_heading = "Inputs")]
pub(super) struct Additions {
    /// Bias, added to every row: n numbers
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    bias: Option<ArrayFile>,
    /// Block scales of A: m x (k / block) codes, or f32 by [scales]
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    scale_a: Option<ArrayFile>,
    /// Block scales of B: (k / block) x n
    #[arg(long, value_name = "FILE", value_parser = array_file)]
    scale_b: Option<ArrayFile>,
}

/// A and B that are drawn.
#[derive(Args, Debug)]
#[command(next_help_heading = "Inputs")]
pub(super) struct Drawn {
    /// Draw A and B of this shape, in place of files
    #[arg(long, value_name = "M,N,K", value_parser = shape, conflicts_with_all = ["a", "b"])]
    shape: Option<(usize, usize, usize)>,
    /// Distribution of drawn elements
    #[arg(long, value_parser = named::<Values>(), default_value = "normal", requires = "shape")]
    dist: Values,
    #[command(flatten)]
    seed: Seed,
}

/// The schedule of a product.
#[derive(Args, Debug)]
#[command(next_help_heading = "Schedule")]
#[command(mut_arg("instruction", |option| option.conflicts_with("schedule")))]
pub(super) struct ScheduleOptions {
    #[command(flatten)]
    instruction: OneInstruction,
    /// Schedule file, which the options below change
    #[arg(long, value_name = "FILE.toml")]
    schedule: Option<PathBuf>,
    /// Order of the steps along k
    #[arg(long, value_parser = named::<KOrder>())]
    order: Option<KOrder>,
    /// k of a slab, a multiple of the instruction's
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 16))]
    slab: Option<usize>,
    /// Parts that k is split into, at most
    #[arg(long, value_name = "PARTS", value_parser = integer(1..=1usize << 16))]
    split_k: Option<usize>,
    /// Divisor of the k of a part [default: 1024 bits of A]
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40))]
    granule: Option<usize>,
    /// Joining of the parts
    #[arg(long, value_parser = named::<PartJoin>())]
    join: Option<PartJoin>,
    /// Add the unit's sum to a second register after every K terms
    #[arg(long, value_name = "K", value_parser = integer(1..=1usize << 40))]
    promote: Option<usize>,
    /// Format of D [default: the instruction's]
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<String>,
}

/// A library whose schedules are claimed.
#[derive(Args, Debug)]
#[command(next_help_heading = "What")]
#[command(mut_arg("product", |option| option.requires("library")))]
pub(super) struct ClaimedLibrary {
    /// Any order of any shipped schedule of this library: cublaslt
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["instruction", "schedule"])]
    library: Option<String>,
    #[command(flatten)]
    product: LibraryKind,
}

impl ClaimedLibrary {
    /// The library's schedules, if one is named.
    pub(super) fn family(&self) -> Result<Option<LibraryFamily>> {
        self.library.as_deref().map(|library| LibraryFamily::of(library, self.product.as_deref())).transpose()
    }
}

/// Metadata of a file of bounds.
pub(super) fn bounds_metadata(claim: &Claim) -> BTreeMap<String, String> {
    let keys = [("tcnum.claim", claim.words.clone()), ("tcnum.source", invocation())];
    keys.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// The product that a library computes.
#[derive(Args, Debug)]
#[command(next_help_heading = "What")]
struct LibraryProduct {
    #[command(flatten)]
    product: LibraryKind,
    /// Layout of A and B: nn by rows, nt B by columns
    #[arg(long, value_parser = named::<OperandLayout>(), default_value = "nt")]
    layout: OperandLayout,
}

/// Models whose arithmetics are searched.
#[derive(Args, Debug)]
#[command(next_help_heading = "What")]
struct SearchedModels {
    #[command(flatten)]
    models: Models,
}

impl SearchedModels {
    fn names(&self) -> Vec<String> {
        match self.models.is_empty() {
            true => shipped().map(String::from).collect(),
            false => self.models.to_vec(),
        }
    }
}

impl Matrices {
    /// True if A is a file.
    pub(super) fn has_files(&self) -> bool {
        self.a.is_some() || self.b.is_some()
    }

    /// The source of these matrices alone, whose values stay as they are.
    pub(super) fn source(&self) -> OperandSource {
        OperandSource {
            a: self.a.clone(),
            b: self.b.clone(),
            c: self.c.clone(),
            bias: None,
            scale_a: None,
            scale_b: None,
            transposed: [self.transpose_a, self.transpose_b],
            conversion: Conversion::Keep,
            drawn: None,
            alpha: self.alpha,
            beta: self.beta,
        }
    }
}

impl Operands {
    /// True if A or B is a file.
    pub(super) fn has_files(&self) -> bool {
        self.matrices.has_files()
    }

    /// True if values are rounded to the formats of the instruction.
    pub(super) fn rounds(&self) -> bool {
        self.quantise
    }

    /// The first given option that adds to A times B, or multiplies it.
    pub(super) fn addition(&self, additions: &Additions) -> Option<&'static str> {
        let given = [
            ("--c", self.matrices.c.is_some()),
            ("--alpha", self.matrices.alpha.is_some()),
            ("--beta", self.matrices.beta.is_some()),
            ("--bias", additions.bias.is_some()),
            ("--scale-a", additions.scale_a.is_some()),
            ("--scale-b", additions.scale_b.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    pub(super) fn source(&self, additions: Option<&Additions>, drawn: Option<&Drawn>) -> OperandSource {
        let addition = |field: fn(&Additions) -> &Option<ArrayFile>| additions.and_then(|all| field(all).clone());
        let drawn = drawn.and_then(|drawn| {
            let (m, n, k) = drawn.shape?;
            Some(DrawnOperands { shape: ProductShape { m, n, k }, values: drawn.dist, seed: *drawn.seed })
        });
        OperandSource {
            bias: addition(|all| &all.bias),
            scale_a: addition(|all| &all.scale_a),
            scale_b: addition(|all| &all.scale_b),
            conversion: if self.quantise { Conversion::Quantise } else { Conversion::Exact },
            drawn,
            ..self.matrices.source()
        }
    }
}

impl Drawn {
    /// The seed.
    pub(super) fn seed(&self) -> u64 {
        *self.seed
    }

    /// The seed, where something is drawn.
    pub(super) fn used_seed(&self) -> Option<u64> {
        self.shape.map(|_| *self.seed)
    }
}

impl ScheduleOptions {
    /// The name of the instruction, if it is given.
    pub(super) fn instruction_name(&self) -> Option<&str> {
        self.instruction.as_deref()
    }

    /// The format of D, if it is given.
    pub(super) fn output(&self) -> Result<Option<&'static Format>> {
        let format = self.output_format.as_deref().map(format::find).transpose();
        format.map_err(|error| error.within("--output-format"))
    }

    /// The first given option that changes a schedule, which `operands` may.
    fn change(&self, operands: Option<&Operands>) -> Option<&'static str> {
        let factor = |field: fn(&Matrices) -> Option<f64>| operands.is_some_and(|all| field(&all.matrices).is_some());
        let given = [
            ("--order", self.order.is_some()),
            ("--slab", self.slab.is_some()),
            ("--split-k", self.split_k.is_some()),
            ("--granule", self.granule.is_some()),
            ("--join", self.join.is_some()),
            ("--promote", self.promote.is_some()),
            ("--alpha", factor(|matrices| matrices.alpha)),
            ("--beta", factor(|matrices| matrices.beta)),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// The schedule of a claim; `None` for a family, whose products may have factors.
    pub(super) fn claimed(&self, operands: &Operands) -> Result<Option<Schedule>> {
        let is_family = self.schedule.is_none() && self.instruction.is_none() && self.change(None).is_none();
        if is_family { Ok(None) } else { self.schedule(operands) }
    }

    /// The schedule that the options describe, with these factors; `None` without instruction and file.
    pub(super) fn schedule(&self, operands: &Operands) -> Result<Option<Schedule>> {
        let mut schedule = match (&self.schedule, &*self.instruction) {
            (Some(path), _) => Schedule::read(path)?,
            (None, Some(name)) => Schedule::new(product::instruction(name)?)?,
            (None, None) => match self.change(Some(operands)) {
                Some(option) => {
                    return Err(Error::request(format!(
                        "{option} is part of one schedule: give --instr or --schedule, too"
                    )));
                }
                None => return Ok(None),
            },
        };
        schedule.order = self.order.unwrap_or(schedule.order);
        schedule.slab = self.slab.unwrap_or(schedule.slab);
        schedule.split.count = self.split_k.unwrap_or(schedule.split.count);
        schedule.split.granule = self.granule.unwrap_or(schedule.split.granule);
        schedule.split.join = self.join.unwrap_or(schedule.split.join);
        schedule.promote = self.promote.or(schedule.promote);
        schedule.alpha = operands.matrices.alpha.unwrap_or(schedule.alpha);
        schedule.beta = operands.matrices.beta.unwrap_or(schedule.beta);
        schedule.output.format = self.output()?.unwrap_or(schedule.output.format);
        schedule.check().map_err(Error::request)?;
        Ok(Some(schedule))
    }
}

/// Parses m, n and k.
pub(super) fn shape(text: &str) -> std::result::Result<(usize, usize, usize), String> {
    let numbers: Option<Vec<usize>> = text.split([',', 'x']).map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([m, n, k]) => checked_shape(ProductShape { m: *m, n: *n, k: *k }).map(|()| (*m, *n, *k)),
        _ => Err("expected M,N,K, such as 64,64,4096".into()),
    }
}

/// Compares D with the matrix of a file, if there is one.
fn compare(file: Option<&ArrayFile>, d: &Matrix, report: &mut Report) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    let (other, _) = file.read(Some(d.format), Conversion::Keep).map_err(|error| error.within("--compare"))?;
    let differences = Differences::between(d, &other).map_err(|error| error.within(file.label()))?;
    report.holds &= differences.differing == 0;
    report.answer = Some(tables::comparison_answer(&file.label(), &differences));
    report.tables.push(Table::of("Comparison", [differences.row(file.label(), d.format)]));
    Ok(())
}

/// Writes a schedule to a file, if there are both.
fn write_schedule(path: Option<&PathBuf>, schedule: Option<&Schedule>) -> Result<()> {
    let (Some(path), Some(schedule)) = (path, schedule) else { return Ok(()) };
    atomic::write(path, schedule.to_toml().as_bytes()).map_err(|error| error.within("--schedule-out"))
}

/// Writes operands to the file of `--apart`.
fn write_operands(path: &Path, factors: &Factors) -> Result<()> {
    let metadata = BTreeMap::from([("tcnum.source".to_string(), invocation())]);
    product::write_named(path, &factors.named(), metadata).map_err(|error| error.within("--apart"))
}
