//! `tcnum gemm between`.

use clap::Args;

use super::{
    Additions, Drawn, LibraryProduct, Operands, OutputDestination, Progress, ScheduleOptions, SearchedModels, Timeout,
    Verb, shared::Apart, write_operands,
};
use crate::{
    Result,
    gemm::{
        between::{self, Knowledge, PairRequest, SideRequest},
        tables,
    },
    product::LibrarySchedules,
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum gemm between hopper ampere --instr mma.m16n8k16.f32.f16.f16.f32 --shape 64,64,256
  tcnum gemm between model:hopper@plain.toml model:hopper@split4.toml --a x.npy --b w.npy
  tcnum gemm between cublaslt@rows=1 cublaslt --product bf16.bf16.bf16.32f --shape 64,4096,4096

WHAT: FILE.toml (a schedule), an instruction, rows=N, or a library's algorithm=ID,tile=N,...

More: docs/gemm-between.md";

/// Compares the products of two devices: where they differ, and why.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("a", |a| a.required_unless_present("shape")))]
#[command(mut_arg("b", |b| b.required_unless_present("shape")))]
pub(super) struct Arguments {
    /// First device, DEVICE or DEVICE@WHAT
    x: String,
    /// Second device
    y: String,
    #[command(flatten)]
    schedule: ScheduleOptions,
    #[command(flatten)]
    product: LibraryProduct,
    #[command(flatten)]
    models: SearchedModels,
    #[command(flatten)]
    timeout: Timeout,
    #[command(flatten)]
    operands: Operands,
    #[command(flatten)]
    additions: Additions,
    #[command(flatten)]
    drawn: Drawn,
    #[command(flatten)]
    apart: Apart,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    report.seed = arguments.drawn.used_seed();
    let operands = arguments.operands.source(Some(&arguments.additions), Some(&arguments.drawn));
    let LibraryProduct { product, layout } = &arguments.product;
    let problem = product.as_ref().map(|kind| operands.problem(kind, *layout)).transpose();
    let request = PairRequest {
        sides: [SideRequest::parse(&arguments.x)?, SideRequest::parse(&arguments.y)?],
        schedule: arguments.schedule.schedule(&arguments.operands)?,
        problem: problem.map_err(|error| error.within("--product"))?,
        operands: &operands,
        timeout: arguments.timeout.duration(),
    };
    let attributes = LibrarySchedules::shipped("cublaslt")?;
    let (mut sides, factors) = request.open(&attributes, &mut report.notes)?;
    let knowledge =
        Knowledge { models: arguments.models.names(), library: Some(&attributes), factors: operands.scale_factors() };
    let progress = Progress::new(&arguments.destination);
    let mut comparison = None;
    let outcome = between::between(&mut sides, &factors, &knowledge, &mut comparison, &|what| progress.step(what));
    let Some(comparison) = comparison else { return outcome };
    tables::report_between(&comparison, &factors, &sides, report);
    outcome?;
    match (&*arguments.apart, &comparison.smallest) {
        (Some(path), Some(smallest)) => write_operands(path, &smallest.factors),
        _ => Ok(()),
    }
}
