//! `tcnum gemm library`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{
    Bar, Drawn, LibraryProduct, Operands, OutputDestination, Progress, Verb, compare, device_name, integer, invocation,
    shared::{Compare, ScheduleOut},
    write_schedule,
};
use crate::{
    Error, Result,
    device::{ChosenAlgorithm, DeviceName, Library, cuda::cublaslt::CublasLt},
    gemm::{
        accuracy_table::accuracies,
        library::{AskedProduct, campaign::Campaign, read_layers, read_shapes, tables},
    },
    product::{self, Factors, LibrarySchedules, ModelReplay, Replay},
    report::{Report, Table},
};

const HELP: &str = "\
Examples:
  tcnum gemm library --product bf16.bf16.bf16.32f --a x.npy --b w.npy --out d.safetensors
  tcnum gemm library --shapes experiments/cublaslt.csv --output markdown --out cublaslt.md
  tcnum gemm library --batches experiments/transformer.csv

More: docs/gemm-library.md";

/// Explains products of cuBLASLt by the schedules of their algorithms.
#[derive(Args, Debug)]
#[command(
    after_help = HELP,
    group = ArgGroup::new("asked").args(["product", "shapes", "batches"]).required(true),
    mut_arg("a", |a| a.required_unless_present_any(["shape", "shapes", "batches"])),
    mut_arg("b", |b| b.required_unless_present_any(["shape", "shapes", "batches"])),
)]
pub(super) struct Arguments {
    #[command(flatten)]
    product: LibraryProduct,
    /// Algorithm [default: the first of the heuristic]
    #[arg(long, value_name = "ID,tile=N,...", value_parser = ChosenAlgorithm::parse, help_heading = "What")]
    algorithm: Option<ChosenAlgorithm>,
    /// Library on GPU N: cublaslt:N [default: cublaslt, on the first GPU]
    #[arg(long, value_name = "DEVICE", value_parser = device_name, help_heading = "Device")]
    device: Option<DeviceName>,
    #[command(flatten)]
    operands: Operands,
    #[command(flatten)]
    drawn: Drawn,
    /// Table of products: product,layout,values,m,n,k
    #[arg(long, value_name = "FILE.csv", help_heading = "Inputs", conflicts_with_all = ["a", "b", "c", "compare", "shape"])]
    shapes: Option<PathBuf>,
    /// Table of layers: layer,product,layout,values,n,k,batches
    #[arg(long, value_name = "FILE.csv", help_heading = "Inputs", conflicts_with_all = ["a", "b", "c", "compare", "shape"])]
    batches: Option<PathBuf>,
    #[command(flatten)]
    compare: Compare,
    #[command(flatten)]
    schedule_out: ScheduleOut,
    #[command(flatten)]
    destination: OutputDestination,
    /// Schedule searches for unpredicted products
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = integer(0..=1usize << 20), help_heading = "Limits")]
    searches: usize,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn makes_file(&self) -> bool {
        self.product.product.is_some()
    }
}

pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let ordinal = match &arguments.device {
        None => 0,
        Some(DeviceName::CublasLt(ordinal)) => *ordinal,
        Some(other) => {
            return Err(Error::request(format!(
                "--device {other}: expected cublaslt, or cublaslt:N for the library on GPU N"
            )));
        }
    };
    let layers = arguments.batches.as_ref().map(|path| read_layers(path)).transpose()?;
    let shapes = arguments.shapes.as_ref().map(|path| read_shapes(path)).transpose()?;
    let one = arguments.product.product.as_ref().map(|kind| one(arguments, kind, report)).transpose()?;
    report.seed = one.as_ref().map_or(Some(*arguments.drawn.seed), |_| arguments.drawn.used_seed());
    let schedules = LibrarySchedules::shipped("cublaslt")?;
    let mut library = CublasLt::open(ordinal)?;
    let name = library.identity().name.to_string();
    let (model, note) = library.identity().generation.model(&name)?;
    report.notes.extend(note);
    report.device = Some(library.identity().clone());
    let (mut replay, note): (Box<dyn Replay>, _) = match layers {
        Some(_) => (Box::new(ModelReplay), None),
        None => product::fastest(ordinal)?,
    };
    report.notes.extend(note);
    if layers.is_none() {
        report.notes.push(format!("The model '{model}' replays the products {}.", replay.place()));
    }
    let seed = *arguments.drawn.seed;
    let mut campaign = Campaign::new(&mut library, replay.as_mut(), &schedules, model, seed, arguments.searches);
    campaign.chosen = arguments.algorithm;
    let progress = Progress::new(&arguments.destination);
    if let Some((asked, factors)) = one {
        return single(arguments, &mut campaign, &asked, &factors, report);
    }
    if let Some(layers) = layers {
        let mut rows = Vec::new();
        let outcome = campaign.batches(&layers, &mut rows, &|layer| progress.step(layer));
        tables::report_batches(rows, report);
        return outcome;
    }
    let asked = shapes.unwrap_or_default();
    let bar = Bar::new(&progress, "products", asked.len() as u64, 0, 1);
    let mut rows = Vec::new();
    let outcome = campaign.explain_all(&asked, &mut rows, &|done, differing| bar.show(done, differing));
    tables::report_products(rows, &name, !matches!(outcome, Ok(false)), report);
    outcome.map(drop)
}

/// The product of `--product`, and its operands.
fn one(arguments: &Arguments, kind: &str, report: &mut Report) -> Result<(AskedProduct, Factors)> {
    arguments.destination.one_file()?;
    let source = arguments.operands.source(None, Some(&arguments.drawn));
    let problem = source.problem(kind, arguments.product.layout).map_err(|error| error.within("--product"))?;
    if let Some(path) = &arguments.destination.out {
        product::writable(path, problem.d)?;
    }
    source.fit(arguments.compare.as_ref())?;
    AskedProduct::read(problem, &source, &mut report.notes)
}

/// Computes one product: D, and whether the prediction gives it.
fn single(
    arguments: &Arguments,
    campaign: &mut Campaign,
    asked: &AskedProduct,
    factors: &Factors,
    report: &mut Report,
) -> Result<()> {
    let (explained, d) = campaign.explain_one(asked, factors)?;
    let name = campaign.library.identity().name.to_string();
    tables::report_product(tables::library_product(1, &explained, campaign.schedules), &name, report);
    let schedule = explained.schedule();
    let accuracy = schedule.map_or(Ok(Vec::new()), |schedule| crate::gemm::accuracy(schedule, factors, &d));
    let measured = accuracy.as_deref().unwrap_or_default();
    report.tables.extend(Table::of("Accuracy", accuracies(measured)).filled());
    let compared = compare(arguments.compare.as_ref(), &d, report);
    let mut metadata = vec![("tcnum.device", name), ("tcnum.source", invocation())];
    metadata.extend(schedule.map(|schedule| ("tcnum.schedule", schedule.to_toml())));
    metadata
        .extend(explained.attributes.map(|(attributes, _)| ("tcnum.algorithm", campaign.schedules.words(&attributes))));
    let metadata = metadata.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    let kept = write_schedule(arguments.schedule_out.as_ref(), schedule);
    let written = arguments.destination.out.as_ref().map_or(Ok(()), |path| product::write(path, &d, metadata));
    accuracy.map(drop).and(compared).and(kept).and(written)
}
