//! `tcnum gemm` on a library that computes whole products.

use super::{Arguments, Bar, Progress, compare, invocation, multiplied, write_product, write_schedule};
use crate::{
    Error, Result,
    device::{
        DeviceName, Library, OperandLayout, Problem,
        cuda::{CudaDevice, compile, cublaslt::CublasLt},
    },
    format::{self, Format},
    gemm::{
        self, Conversion, CudaReplay, Factors, ModelReplay, Replay,
        library::{
            AskedProduct, BatchRow, Layer, LibrarySchedules, batches,
            campaign::{Campaign, MOST_FAILURES, ProductOutcome},
            read_layers, read_shapes,
            tables::LibraryProductRow,
        },
    },
    report::{Report, Table, Verdict},
};

/// The library of devices whose name begins with this.
const LIBRARY: &str = "cublaslt";

/// Computes a product, or those of a table, and reports.
///
/// # Errors
/// As [`super::run`]; no library, or none of its algorithms for the one product.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let device = &arguments.device.clone().unwrap_or(DeviceName::CublasLt(0));
    let DeviceName::CublasLt(ordinal) = *device else {
        return Err(Error::request(format!(
            "--device {device}: --product, --algorithm, --shapes and --batches are for libraries: --device {LIBRARY}, or {LIBRARY}:N for the library on GPU N"
        )));
    };
    refuse_schedule(arguments)?;
    let layers = arguments.batches.as_ref().map(|path| read_layers(path)).transpose()?;
    let asked = arguments.shapes.as_ref().map(|path| read_shapes(path)).transpose()?;
    if asked.is_none() && layers.is_none() && arguments.product.is_none() {
        return Err(Error::request(format!(
            "{device} computes whole products: say with --product D.A.B.COMPUTE which (bf16.bf16.bf16.32f, say), or with --shapes FILE"
        )));
    }
    let schedules = LibrarySchedules::shipped(LIBRARY)?;
    let one = (asked.is_none() && layers.is_none()).then(|| one(arguments, report)).transpose()?;
    let mut library = CublasLt::open(ordinal)?;
    let (model, note) = library.identity().generation.model(device)?;
    report.notes.extend(note);
    if let Some(layers) = layers {
        report.seed = Some(arguments.seed);
        report.device = Some(library.identity().clone());
        return invariance(arguments, &mut library, &schedules, &model, &layers, report);
    }
    let mut replay: Box<dyn Replay> = match compile::version() {
        Ok(_) => Box::new(CudaReplay(CudaDevice::open(ordinal)?)),
        Err(error) => {
            report.notes.push(format!(
                "Products are replayed on the processor, the larger ones in a sample of elements: {error}."
            ));
            Box::new(ModelReplay)
        }
    };
    report.notes.push(format!("Products are replayed {} by the model '{model}'.", replay.place()));
    report.device = Some(library.identity().clone());
    let mut campaign =
        Campaign::new(&mut library, replay.as_mut(), &schedules, model, arguments.seed, arguments.searches);
    campaign.chosen = arguments.algorithm;
    match (asked, one) {
        (Some(asked), _) => {
            report.seed = Some(arguments.seed);
            many(arguments, &mut campaign, &asked, report)
        }
        (None, Some((asked, factors))) => single(arguments, &mut campaign, &asked, &factors, report),
        (None, None) => Err(Error::request("give --product or --shapes")),
    }
}

/// The format of the elements that a library takes for this one: tf32 it rounds from f32 itself.
pub(super) fn given(format: &'static Format) -> &'static Format {
    format::find("f32").ok().filter(|_| format.name == "tf32").unwrap_or(format)
}

/// Refuses flags that describe a schedule: a library has its own.
fn refuse_schedule(arguments: &Arguments) -> Result<()> {
    let given = [
        ("--instr", arguments.instruction.is_some()),
        ("--schedule", arguments.schedule.is_some()),
        ("--order", arguments.order.is_some()),
        ("--slab", arguments.slab.is_some()),
        ("--residue", arguments.residue.is_some()),
        ("--split-k", arguments.split_k.is_some()),
        ("--granule", arguments.granule.is_some()),
        ("--join", arguments.join.is_some()),
        ("--promote", arguments.promote.is_some()),
        ("--promote-halves", arguments.promote_halves.is_some()),
        ("--c-enters", arguments.c_enters.is_some()),
        ("--bias-enters", arguments.bias_enters.is_some()),
        ("--round-operands", arguments.round_operands.is_some()),
        ("--accumulators", arguments.accumulators.is_some()),
        ("--output-format", arguments.output_format.is_some()),
        ("--bias", arguments.bias.is_some()),
        ("--scale-a", arguments.scale_a.is_some()),
        ("--scale-b", arguments.scale_b.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Error::request(format!(
            "{flag}: a library follows a schedule of its own; --product says what it computes, and --algorithm by which algorithm"
        ))),
        None => Ok(()),
    }
}

/// The product of the files, and its operands.
fn one(arguments: &Arguments, report: &mut Report) -> Result<(AskedProduct, Factors)> {
    let kind = arguments.product.as_deref().unwrap_or_default();
    let layout = arguments.layout.unwrap_or(OperandLayout::Weights);
    let mut problem = Problem::of_kind(kind, (1, 1, 1), layout).map_err(|error| error.within("--product"))?;
    if let Some(path) = &arguments.destination.out {
        gemm::writable(path, problem.d)?;
    }
    let conversion = if arguments.quantise { Conversion::Quantise } else { Conversion::Exact };
    report.seed = arguments.shape.map(|_| arguments.seed);
    let [a, b] = multiplied(arguments, [given(problem.a), given(problem.b)], problem.d, &mut report.notes)?;
    let c = match &arguments.c {
        Some(file) => {
            let (c, note) = file.read(Some(problem.c_format()), conversion).map_err(|error| error.within("--c"))?;
            report.notes.extend(note);
            Some(c)
        }
        None => None,
    };
    (problem.m, problem.n, problem.k) = (a.rows, b.columns, a.columns);
    problem.alpha = arguments.alpha.unwrap_or(1.0);
    problem.beta = if c.is_some() { arguments.beta.unwrap_or(1.0) } else { 0.0 };
    let factors = Factors { c, ..Factors::new(a, b) };
    factors.fit()?;
    Ok((AskedProduct { problem, values: None }, factors))
}

/// One product: D, and whether the prediction gives it.
fn single(
    arguments: &Arguments,
    campaign: &mut Campaign,
    asked: &AskedProduct,
    factors: &Factors,
    report: &mut Report,
) -> Result<()> {
    let (explained, d) = campaign.explain(asked, factors)?;
    let d = d.ok_or_else(|| match explained.outcome {
        ProductOutcome::Refused => Error::unavailable(explained.remark.clone()),
        _ => Error::device(explained.remark.clone()),
    })?;
    let schedule = explained.found.as_ref().or(explained.prediction.as_ref().map(|prediction| &prediction.schedule));
    report.holds = explained.outcome == ProductOutcome::Predicted;
    report.verdict = Verdict::Unpredicted;
    let row = gemm::library::tables::library_product(1, &explained, campaign.schedules);
    let rows = [row];
    report.answer = gemm::library::tables::answer(&rows, &campaign.library.identity().name.to_string());
    report.tables.push(Table::of("Product of the library", rows));
    let accuracy = schedule.map_or(Ok(Vec::new()), |schedule| gemm::accuracy(schedule, factors, &d));
    let measured = accuracy.as_deref().unwrap_or_default();
    report.tables.extend(Table::of("Accuracy", gemm::accuracy_table::accuracies(measured)).filled());
    let compared = compare(arguments, &d, report);
    let file = schedule.map(|schedule| ("tcnum.schedule".to_string(), schedule.to_toml()));
    let algorithm =
        explained.attributes.map(|(own, _)| ("tcnum.algorithm".to_string(), campaign.schedules.words(&own)));
    let device = ("tcnum.device".to_string(), campaign.library.identity().name.to_string());
    let metadata = [device, ("tcnum.source".to_string(), invocation())].into_iter().chain(file).chain(algorithm);
    let written = write_schedule(arguments, schedule).and(write_product(arguments, &d, metadata.collect()));
    accuracy.map(drop).and(compared).and(written)
}

/// The layers of a table, each at its batch sizes.
fn invariance(
    arguments: &Arguments,
    library: &mut dyn Library,
    schedules: &LibrarySchedules,
    model: &str,
    layers: &[Layer],
    report: &mut Report,
) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    let mut rows: Vec<BatchRow> = Vec::new();
    let outcome = layers.iter().try_for_each(|layer| {
        progress.step(&layer.name);
        batches(library, schedules, model, layer, arguments.seed, arguments.algorithm.as_ref(), &mut rows)
    });
    report.holds = rows.iter().all(BatchRow::holds);
    report.verdict = Verdict::BatchDependent;
    report.answer = gemm::library::batch_answer(&rows);
    report.tables.push(Table::of("The first row at each batch size", rows));
    outcome
}

/// The products of a table.
fn many(arguments: &Arguments, campaign: &mut Campaign, asked: &[AskedProduct], report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    let bar = Bar::new(&progress, "products", asked.len() as u64, 0, 1);
    let mut rows = Vec::new();
    let outcome = campaign.explain_all(asked, &mut rows, &|done, differing| bar.show(done, differing));
    if matches!(outcome, Ok(false)) {
        report
            .notes
            .push(format!("The device failed {MOST_FAILURES} times in a row; the other products were not asked for."));
    }
    report.holds = rows.iter().all(LibraryProductRow::holds);
    report.verdict = Verdict::Unpredicted;
    report.answer = gemm::library::tables::answer(&rows, &campaign.library.identity().name.to_string());
    let summary = gemm::library::tables::library_summary(&rows);
    report.tables.push(Table::of("Products by what they compute", summary));
    report.tables.push(Table::of("Products of the library", rows));
    outcome.map(drop)
}
