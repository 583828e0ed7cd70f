//! `tcnum check`.

use std::borrow::Cow;

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
    check::{self, CheckRequest, Tolerance, tables},
    format,
    product::{
        self, ArrayFile, Conversion, OutputRounding, Schedule,
        bound::{Claim, Origin},
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
    /// D, m x n: FILE.npy or FILE.safetensors:NAME
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
    /// Tell which faulty kernels the bound and the tolerances find
    #[arg(long, help_heading = "What")]
    power: bool,
    /// Tolerance of a test (repeatable): ATOL,RTOL
    #[arg(long = "tolerance", value_name = "ATOL,RTOL", value_parser = tolerance, help_heading = "What")]
    tolerances: Vec<Tolerance>,
    #[command(flatten)]
    gates: Gates,
    #[command(flatten)]
    destination: OutputDestination,
}

/// Parses an absolute and a relative tolerance.
fn tolerance(text: &str) -> std::result::Result<Tolerance, String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([atol, rtol]) if *atol >= 0.0 && *rtol >= 0.0 && atol.is_finite() && rtol.is_finite() => {
            Ok(Tolerance { name: format!("--tolerance {text}"), atol: *atol, rtol: *rtol })
        }
        _ => Err("expected ATOL,RTOL, such as 1e-2,1e-3".into()),
    }
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
    let model = Model::load(&arguments.model)?;
    let library = arguments.library.family()?;
    let numbers = format::find("f64")?;
    arguments.bounds.as_deref().map(|path| product::writable(path, numbers)).transpose()?;
    let progress = Progress::new(&arguments.destination);
    let source = arguments.operands.source(Some(&arguments.additions), None);
    source.fit(Some(&arguments.d))?;
    progress.step("reading the matrices");
    let schedule = arguments.schedule.schedule(&arguments.operands)?;
    let named = arguments.schedule.output()?;
    let (d, note) = arguments.d.read(named, Conversion::Keep)?;
    report.notes.extend(note);
    let output = named.unwrap_or(d.format);
    let schedule =
        schedule.map(|schedule| Schedule { output: OutputRounding { format: output, ..schedule.output }, ..schedule });
    let given = match &schedule {
        Some(schedule) => source.for_schedule(schedule, &mut report.notes)?,
        None => source.for_match(None, &arguments.d, &mut report.notes)?.0,
    };
    let origin = match (schedule, library) {
        (Some(schedule), _) => Origin::Schedule(Box::new(schedule)),
        (None, Some(family)) => Origin::Library(family),
        (None, None) => Origin::Generation,
    };
    let (claim, factors) = Claim::of_product(model, origin, given, d.format, &mut report.notes)?;
    if arguments.power && !product::bound::is_bare(&claim.schedules[0], &factors) {
        return Err(Error::request(
            "--power tries faulty kernels of A times B alone: leave out C, the bias, alpha and scales",
        ));
    }
    let request = CheckRequest { claim: &claim, factors: &factors, d: &d, sample: *arguments.sample };
    let product_check = {
        let bar = Bar::new(&progress, "checking", (d.rows * d.columns) as u64, 0, 1);
        check::check(&request, &|done| bar.show(done, 0))?
    };
    let tolerances: Vec<Tolerance> = product_check.tolerance.iter().chain(&arguments.tolerances).cloned().collect();
    tables::report(&request, &product_check, &tolerances, report);
    interrupt::check()?;
    if let Some(path) = &*arguments.bounds {
        progress.step("computing the bounds");
        product::write(path, &product::bound::bounds_matrix(&claim, &factors, &|_| ())?, bounds_metadata(&claim))?;
    }
    if arguments.power {
        progress.step("trying faulty kernels");
        let faults =
            check::power::power(&request, &product_check.sample.rows, &product_check.sample.columns, &tolerances)?;
        report.tables.push(tables::faults(&faults));
    }
    Ok(())
}
