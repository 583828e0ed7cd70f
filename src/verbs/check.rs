//! `tcnum check`.

use std::{borrow::Cow, collections::HashSet};

use clap::Args;

use super::{
    Bar, OutputDestination, Progress, Verb,
    gates::Gates,
    gemm::{Additions, ClaimedLibrary, Operands, ScheduleOptions, bounds_metadata},
    options::array_file,
    shared::{ArithmeticModel, Bounds, Sample},
};
use crate::{
    Error, Result,
    arithmetic::Model,
    base::interrupt,
    check::{self, CheckRequest, CheckedProduct, Criterion, tables},
    format,
    product::{
        self, ArrayFile, Conversion, Factors, Matrix, OperandSource, OutputRounding, Schedule,
        bound::{Claim, LibraryFamily, Origin},
    },
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum check d.npy --a a.npy --b b.npy --model hopper
      any instruction of Hopper for these formats, in any order of k
  tcnum check d.npy --a a.npy --b b.npy --model hopper --instr wgmma.m64n8k16.f32.f16.f16 --power
  tcnum check d.npy --a a.npy --b b.npy --library cublaslt
      any shipped schedule of cuBLASLt, in any order of k
  tcnum check d.npy --a a.npy --b b.npy --tolerance 1e-2,1e-2 --junit product.xml

More: docs/check.md";

/// Checks every element of a matrix product against its rigorous error bound.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("a", |a| a.required(true)))]
#[command(mut_arg("b", |b| b.required(true)))]
pub(super) struct Arguments {
    /// D, m x n or a batch of them: FILE.npy or FILE.safetensors:NAME
    #[arg(value_name = "D", value_parser = array_file)]
    d: ArrayFile,
    #[command(flatten)]
    model: ArithmeticModel,
    #[command(flatten)]
    schedule: ScheduleOptions,
    #[command(flatten)]
    library: ClaimedLibrary,
    #[command(flatten)]
    operands: Operands,
    #[command(flatten)]
    additions: Additions,
    #[command(flatten)]
    sample: Sample,
    #[command(flatten)]
    bounds: Bounds,
    /// Show each faulty kernel against the bounds and each test
    #[arg(long, help_heading = "What")]
    power: bool,
    /// Test (repeatable): ATOL,RTOL, cos:, calc-diff:, norm:, share: or codes:
    #[arg(long = "tolerance", value_name = "TEST", value_parser = criterion, help_heading = "What")]
    criteria: Vec<Criterion>,
    #[command(flatten)]
    gates: Gates,
    #[command(flatten)]
    destination: OutputDestination,
}

/// Parses a test as it is written.
fn criterion(text: &str) -> std::result::Result<Criterion, String> {
    Criterion::parse(text).map_err(|error| error.to_string())
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        Some((&self.gates, None))
    }
}

/// Checks the product, and reports.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let claimed = Claimed { model: Model::load(&arguments.model)?, library: arguments.library.family()? };
    let numbers = format::find("f64")?;
    arguments.bounds.as_deref().map(|path| product::writable(path, numbers)).transpose()?;
    let progress = Progress::new(&arguments.destination);
    let source = arguments.operands.source(Some(&arguments.additions), None);
    let batch = source.batch(&arguments.d)?;
    let mut criteria = arguments.criteria.clone();
    let mut texts = HashSet::new();
    criteria.retain(|criterion| texts.insert(criterion.text.clone()));
    let mut given = Vec::new();
    for product in 0..batch.unwrap_or(1) {
        let (source, d) = match batch {
            Some(_) => (source.of_product(product), ArrayFile { product: Some(product), ..arguments.d.clone() }),
            None => (source.clone(), arguments.d.clone()),
        };
        given.push(read(arguments, &source, &d, &claimed, &progress, report)?);
    }
    let elements: usize = given.iter().map(|given| given.d.codes.len()).sum();
    let mut products = Vec::new();
    {
        let bar = Bar::new(&progress, "checking", elements as u64, 0, 1);
        let mut before = 0;
        for Given { claim, factors, d } in &given {
            let request = CheckRequest { claim, factors, d, sample: *arguments.sample, criteria: &criteria };
            let check = match check::check(&request, &|done| bar.show(before + done, 0)) {
                // An interrupted batch has the products until then.
                Err(Error::Interrupted { .. }) if !products.is_empty() => break,
                check => check?,
            };
            before += d.codes.len() as u64;
            products.push(CheckedProduct { request, check });
        }
    }
    progress.step("trying faulty kernels");
    let power = tables::report(&products, report)?;
    interrupt::check()?;
    if let Some(path) = &*arguments.bounds {
        progress.step("computing the bounds");
        let one = |Given { claim, factors, .. }: &Given| product::bound::bounds_matrix(claim, factors, &|_| ());
        let bounds: Vec<Matrix> = given.iter().map(one).collect::<Result<_>>()?;
        let metadata = bounds_metadata(&given[0].claim);
        match batch {
            None => product::write(path, &bounds[0], metadata)?,
            Some(batch) => product::write_batch(path, &Matrix::stacked(&bounds), batch, metadata)?,
        }
    }
    if arguments.power {
        report.tables.push(tables::faults(&power.trials));
    }
    Ok(())
}

/// The model and the library of a claim.
struct Claimed {
    model: Model,
    library: Option<LibraryFamily>,
}

/// A product as it is given, and its claim.
struct Given {
    claim: Claim,
    factors: Factors,
    d: Matrix,
}

/// Reads a product, one or of a batch.
fn read(
    arguments: &Arguments,
    source: &OperandSource,
    file: &ArrayFile,
    claimed: &Claimed,
    progress: &Progress,
    report: &mut Report,
) -> Result<Given> {
    source.fit(Some(file))?;
    progress.step("reading the matrices");
    let schedule = arguments.schedule.claimed(&arguments.operands)?;
    let named = arguments.schedule.output()?;
    let (d, note) = file.read(named, Conversion::Keep)?;
    let mut notes: Vec<String> = note.into_iter().collect();
    let output = named.unwrap_or(d.format);
    let schedule =
        schedule.map(|schedule| Schedule { output: OutputRounding { format: output, ..schedule.output }, ..schedule });
    let given = match &schedule {
        Some(schedule) => source.for_schedule(schedule, &mut notes)?,
        None => source.for_match(None, file, &mut notes)?.0,
    };
    let origin = match (schedule, &claimed.library) {
        (Some(schedule), _) => Origin::Schedule(Box::new(schedule)),
        (None, Some(family)) => Origin::Library(family.clone()),
        (None, None) => Origin::Generation,
    };
    let (claim, factors) = Claim::of_product(claimed.model.clone(), origin, given, d.format, &mut notes)?;
    let (alpha, beta) = source.scale_factors();
    let claim = claim.with_addends(alpha, beta, &factors);
    notes.retain(|note| !report.notes.contains(note));
    report.notes.extend(notes);
    Ok(Given { claim, factors, d })
}
