//! `tcnum bound`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    Bar, OutputDestination, Progress, Verb,
    gemm::{Additions, ClaimedLibrary, Drawn, Operands, ScheduleOptions, bounds_metadata},
    invocation,
    named::named,
    options::{cases, integer},
    shared::{ArithmeticModel, Bounds, Sample},
};
use crate::{
    Error, Result,
    arithmetic::Model,
    base::{atomic, interrupt},
    bound::{self, ObservedErrors, tables},
    check::{
        self, Basis, BoundRequest, ModelledProduct, ScriptOrigin, TestScript,
        power::{Missed, Test},
    },
    format::{self, Format},
    isa::{self, Instruction},
    product::{self, bound::Claim},
    report::{Report, Table, Verdict},
};

const HELP: &str = "\
Examples:
  tcnum bound --instr wgmma.m64n8k16.f32.f16.f16 --k 64 4096
      relative to the sum of |a b|, for every order of k
  tcnum bound --library cublaslt --product bf16.e4m3.e4m3.32f --k 4096
      any shipped schedule of cuBLASLt for this product
  tcnum bound --instr mma.m16n8k16.f32.bf16.bf16.f32 --a a.npy --b b.npy --write test.py
      running bounds, errors, tolerances, and a test for these operands
  tcnum bound --instr wgmma.m64n8k16.f32.f16.f16 --k 4096 --explain
      the error of each operation, and bounds of the literature
More: docs/check.md, docs/bounds.md";

/// Bounds the error of matrix products from the arithmetic of their instructions.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("bounds", |option| option.conflicts_with_all(["ks", "cases"])))]
pub(super) struct Arguments {
    #[command(flatten)]
    model: ArithmeticModel,
    /// Formats A.B.D, for any instruction of the model, or with --library
    #[arg(long, value_name = "A.B.D", conflicts_with_all = ["instruction", "schedule"], help_heading = "What")]
    formats: Option<String>,
    #[command(flatten)]
    schedule: ScheduleOptions,
    #[command(flatten)]
    library: ClaimedLibrary,
    /// Terms of each sum [default: 64 512 4096 32768]
    #[arg(long = "k", value_name = "K", num_args = 1.., value_parser = integer(1..=1usize << 24), help_heading = "What", conflicts_with_all = ["shape", "a", "cases"])]
    ks: Vec<usize>,
    /// Dot-product-adds on directed operands, in place of products
    #[arg(long, value_name = "N", value_parser = cases(1 << 50), help_heading = "What", conflicts_with_all = ["shape", "a", "schedule", "formats"])]
    cases: Option<u64>,
    /// An instruction of every shipped arithmetic: bound and attained error
    #[arg(long, help_heading = "What", conflicts_with_all = ["model", "instruction", "schedule", "formats", "library", "ks", "cases", "shape", "a"])]
    all_models: bool,
    /// Add the largest error of each operation, and bounds of the literature
    #[arg(long, help_heading = "What", conflicts_with_all = ["shape", "a", "cases", "all_models"])]
    explain: bool,
    #[command(flatten)]
    operands: Operands,
    #[command(flatten)]
    additions: Additions,
    #[command(flatten)]
    drawn: Drawn,
    #[command(flatten)]
    sample: Sample,
    #[command(flatten)]
    bounds: Bounds,
    /// Write a tolerance by element (FILE.npy) or a test in Python (FILE.py)
    #[arg(long, value_name = "FILE", conflicts_with = "cases", help_heading = "Output")]
    write: Option<PathBuf>,
    /// Basis of the tolerance that is written [default: the tightest proof]
    #[arg(long, value_parser = named::<Basis>(), requires = "write", help_heading = "Output")]
    basis: Option<Basis>,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Bounds, and reports.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if arguments.all_models {
        let mut rows = Vec::new();
        let outcome = bound::of_models(&mut rows);
        if !rows.is_empty() {
            tables::report_models(&rows, report);
        }
        return outcome;
    }
    let model = Model::load(&arguments.model)?;
    if let Some(cases) = arguments.cases {
        let name = arguments.schedule.instruction_name();
        let name = name.ok_or_else(|| Error::request("--cases takes one instruction: give --instr"))?;
        return observe(arguments, &model, &isa::resolve(name)?, cases, report);
    }
    let written = arguments.write.as_deref().map(Written::of).transpose()?;
    if written == Some(Written::Script) && arguments.operands.rounds() {
        return Err(Error::request(
            "--write: a test in Python compares matrices as they are, and does not round them: convert A and B before, without --quantise",
        ));
    }
    let schedule = arguments.schedule.schedule(&arguments.operands)?;
    let given = arguments.drawn.used_seed().is_some() || arguments.operands.has_files();
    if !given && let Some(option) = arguments.operands.addition(&arguments.additions) {
        return Err(Error::request(format!("{option} needs operands: give --a and --b, or --shape")));
    }
    if schedule.is_none() && arguments.schedule.output()?.is_some() {
        return Err(Error::request("--output-format is part of one schedule; --formats A.B.D names the format of D"));
    }
    let formats = arguments.formats.as_deref().map(formats).transpose()?;
    let claim = match (schedule, arguments.library.family()?, formats) {
        (Some(schedule), _, _) => Claim::of_schedule(model, schedule),
        (None, Some(family), formats) => {
            let formats = formats.or(family.formats());
            let formats = formats.ok_or_else(|| {
                Error::request("--library without formats: give --product D.A.B.COMPUTE or --formats A.B.D")
            })?;
            Claim::of_library(model, &family, formats)?
        }
        (None, None, Some(formats)) => Claim::of_generation(model, formats, None)?,
        (None, None, None) => {
            return Err(Error::request("no arithmetic: give --instr, --schedule, --library or --formats A.B.D"));
        }
    };
    match given {
        true => product(arguments, &claim, written, report),
        false => every_order(arguments, &claim, written, report),
    }
}

/// Kind of the file that a tolerance is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    ByElement,
    Script,
}

impl Written {
    fn of(path: &Path) -> Result<Written> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("npy") => Ok(Written::ByElement),
            Some("py") => Ok(Written::Script),
            _ => Err(Error::request(format!(
                "--write {}: its ending is none of .npy (a tolerance for each element) or .py (a test in Python)",
                path.display()
            ))),
        }
    }
}

/// Writes a test in Python.
fn write_script(path: &Path, script: &TestScript) -> Result<()> {
    let stem = path.file_stem().map_or("test".into(), |stem| stem.to_string_lossy().into_owned());
    atomic::write(path, script.text(&ScriptOrigin { stem, invocation: invocation() }).as_bytes())
}

/// Parses the formats of A, B and D.
fn formats(text: &str) -> Result<[&'static Format; 3]> {
    let formats: Vec<&'static Format> =
        text.split('.').map(format::find).collect::<Result<_>>().map_err(|error| error.within("--formats"))?;
    formats.try_into().map_err(|_| Error::request(format!("--formats {text}: expected A.B.D, such as f16.f16.f32")))
}

/// The bounds of every order.
fn every_order(arguments: &Arguments, claim: &Claim, written: Option<Written>, report: &mut Report) -> Result<()> {
    let ks = if arguments.ks.is_empty() { vec![64, 512, 4096, 32768] } else { arguments.ks.clone() };
    let basis = arguments.basis.unwrap_or(Basis::Magnitudes);
    if written == Some(Written::ByElement) || written.is_some() && basis != Basis::Magnitudes {
        return Err(Error::request(
            "--write: a tolerance by element, and --basis running or expected, need operands: give --a and --b, or --shape",
        ));
    }
    tables::report(claim, &ks, report)?;
    if arguments.explain {
        bound::explain::explain(claim, &ks, report)?;
    }
    if let Some(path) = &arguments.write {
        let relative = ks.iter().map(|k| Ok((*k, tables::relative_of(claim, *k)?))).collect::<Result<_>>()?;
        write_script(
            path,
            &TestScript { claim, basis, relative, tolerance: None, missed: None, transposed: [false; 2] },
        )?;
    }
    Ok(())
}

/// Errors of directed dot-product-adds.
fn observe(arguments: &Arguments, model: &Model, i: &Instruction, cases: u64, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    let seed = arguments.drawn.seed();
    report.seed = Some(seed);
    let mut errors = ObservedErrors::default();
    let outcome = {
        let bar = Bar::new(&progress, "computing", cases, 0, 1);
        bound::observe(model, i, cases, seed, &mut errors, &mut |done| bar.show(done, 0))
    };
    report.holds = errors.violations == 0;
    report.verdict = Verdict::OutsideBound;
    report.answer = Some(tables::observed_answer(i, &errors));
    report.tables.push(Table::of("Errors and their bounds", [tables::observed(i, &model.name, &errors)]));
    outcome
}

/// The bounds of a product of given operands.
fn product(arguments: &Arguments, claim: &Claim, written: Option<Written>, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    report.seed = arguments.drawn.used_seed();
    let numbers = format::find("f64")?;
    arguments.bounds.as_deref().map(|path| product::writable(path, numbers)).transpose()?;
    let schedule = &claim.schedules[0];
    let source = arguments.operands.source(Some(&arguments.additions), Some(&arguments.drawn));
    source.fit(None)?;
    let operands = source.for_schedule(schedule, &mut report.notes)?;
    progress.step("computing the product by the model");
    let modelled = BoundRequest { claim, operands, sample: *arguments.sample }.run()?;
    modelled.report(report);
    if !modelled.check.finished {
        interrupt::check()?;
    }
    let factors = &modelled.factors;
    if let Some(path) = &*arguments.bounds {
        let bar = Bar::new(&progress, "computing bounds", (factors.a.rows * factors.b.columns) as u64, 0, 1);
        product::write(path, &modelled.bounds(&|done| bar.show(done, 0))?, bounds_metadata(&modelled.claim))?;
    }
    if let (Some(path), Some(written)) = (&arguments.write, written) {
        let bar = Bar::new(&progress, "computing tolerances", (factors.a.rows * factors.b.columns) as u64, 0, 1);
        let tests = Tests { kind: written, basis: arguments.basis, transposed: source.transposed };
        let missed = write(path, &tests, &modelled, &|done| bar.show(done, 0))?;
        report.notes.push(check::tables::missed_sentence(&path.display().to_string(), &missed, factors.k()));
    }
    match modelled.every_order() {
        Some(claim) => tables::report(claim, &[factors.k()], report),
        None => Ok(()),
    }
}

/// The tolerances that are written.
struct Tests {
    kind: Written,
    basis: Option<Basis>,
    transposed: [bool; 2],
}

/// Writes the tolerances of a product, and returns the faults that they miss.
fn write(path: &Path, tests: &Tests, modelled: &ModelledProduct, done: &(dyn Fn(u64) + Sync)) -> Result<Missed> {
    let ModelledProduct { claim, factors, .. } = modelled;
    let Tests { kind, basis, transposed } = *tests;
    let basis = basis.unwrap_or(if claim.is_exact { Basis::Running } else { Basis::Magnitudes });
    let all = check::element_tolerances(claim, factors, basis, done)?;
    let k = factors.k();
    match (kind, basis) {
        (Written::ByElement, _) => {
            product::write(path, &all.matrix, bounds_metadata(claim))?;
            modelled.missed(Test::of_basis(basis))
        }
        (Written::Script, Basis::Magnitudes) if product::bound::is_bare(&claim.schedules[0], factors) => {
            let bound = tables::relative_of(claim, k)?;
            let missed = modelled.missed(Test::relative(bound))?;
            let relative = vec![(k, bound)];
            let found = Some((missed.clone(), k));
            write_script(path, &TestScript { claim, basis, relative, tolerance: None, missed: found, transposed })?;
            Ok(missed)
        }
        (Written::Script, _) => {
            let missed = modelled.missed(Test::written(&all.tolerance.criterion()))?;
            let (relative, tolerance) = (Vec::new(), Some(all.tolerance));
            let found = Some((missed.clone(), k));
            write_script(path, &TestScript { claim, basis, relative, tolerance, missed: found, transposed })?;
            Ok(missed)
        }
    }
}
