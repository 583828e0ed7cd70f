//! Published tables and figures as data, compared with measurements.
//!
//! A TOML file has a `source`, a `title`, what to run, the published numbers as printed by their places in its report, and the findings
//! that have to hold. What to run:
//!
//! - `probe`: single operations;
//! - `chain`: chain matrix multiplication;
//! - `products`: errors of matrix products against k;
//! - `emulate`: products of f32, of f64 or of integers by schemes;
//! - `bits`: agreement bit by bit;
//! - `cost`: latencies and rates;
//! - `formats`: a table of formats.

mod answers;
mod bits;
mod chain;
mod cost;
mod doubles;
mod emulated;
mod file;
mod finding;
mod integers;
mod keys;
mod known;
mod operands;
mod power;
mod products;
mod profile;
mod published;
mod sample;
mod score;
mod shipped;
mod splitting;
mod suite;
pub mod table;
mod verdict;

pub use bits::BitQuestion;
pub use cost::{CostCellRow, CostQuestion};
pub use doubles::DoubleErrorRow;
pub use emulated::EmulateQuestion;
pub use file::{ChainFigure, Experiment, ExperimentFinding, FormatTable, ProductFigure, ProductLine};
pub use integers::{IntegerCell, IntegerCellRow};
pub use products::ProductErrorRow;
pub use profile::ProbeQuestion;
pub use published::PublishedNumber;
pub use sample::SampleSize;
pub use shipped::{ShippedExperimentRow, list, shipped};
pub use splitting::{Averaged, ErrorMetric, SplittingCell, SplittingCellRow, SplittingErrorRow};
pub use suite::{ExperimentFindingRow, ExperimentRow, FigureRow, Suite, UntestableFigureRow};
pub use verdict::{CellVerdict, NOT_TESTABLE, Printed, STANDARD_ERRORS, ZERO_PROBABILITY};

use crate::{Error, Result, Stage, catalogue, device::Device, report::Report};
use known::KnownResults;
use score::ExperimentScore;

/// Settings of a run that override the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Seed of the random inputs.
    pub seed: u64,
    /// Samples of each probe, chains, or draws of each product, instead of those that the file asks for.
    pub samples: Option<u64>,
    /// Assumed samples of the published means; replaces the number in the file.
    pub published_samples: Option<u64>,
    /// True if whole square products are computed where the file samples elements.
    pub whole_squares: bool,
    /// True if a figure of some generations is computed on their devices only.
    pub published_only: bool,
}

/// A run of an experiment, as its parts share it.
struct ExperimentRun<'a> {
    experiment: &'a Experiment,
    devices: &'a mut [Box<dyn Device>],
    options: Options,
    report: &'a mut Report,
    score: ExperimentScore,
    known: &'a mut KnownResults,
    progress: &'a mut dyn FnMut(Stage),
}

/// Runs `experiment` on every device with the same inputs, and fills `report`.
///
/// An interrupted run reports the cells that it has, and the findings about complete data. `progress` is called before each step.
///
/// # Errors
/// Errors of the devices; before any work, no device with any of the instructions; [`Error::Interrupted`].
pub fn run(
    experiment: &Experiment,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    scored(experiment, devices, options, &mut KnownResults::default(), report, progress).1
}

/// [`run`] with results of other experiments, and its outcomes.
fn scored(
    experiment: &Experiment,
    devices: &mut [Box<dyn Device>],
    options: Options,
    known: &mut KnownResults,
    report: &mut Report,
    progress: &mut dyn FnMut(Stage),
) -> (ExperimentScore, Result<()>) {
    if let Err(error) = testable(experiment, devices) {
        return (ExperimentScore::default(), Err(error));
    }
    report.seed = Some(options.seed);
    report.device = devices.first().map(|device| device.identity().clone());
    report.notes.extend(table::notes(experiment, options));
    let score = ExperimentScore::default();
    let mut run = ExperimentRun { experiment, devices, options, report, score, known, progress };
    let outcome = parts(&mut run);
    let ExperimentRun { devices, report, score, .. } = run;
    let names = devices.iter().map(|device| &device.identity().name);
    report.answer = score.answer(&names.collect::<Vec<_>>()).or(report.answer.take());
    report.holds &= score.holds();
    if devices.len() > 1 && report.tables.iter().any(|table| !table.rows.is_empty()) {
        report.tables.insert(0, table::devices(devices.iter().map(|device| device.identity())));
    }
    (score, outcome)
}

/// Refuses devices that all lack every instruction.
fn testable(experiment: &Experiment, devices: &mut [Box<dyn Device>]) -> Result<()> {
    let mut available = Vec::new();
    for device in devices.iter_mut() {
        for instruction in experiment.instructions() {
            available.push(experiment.on(device.as_mut(), instruction)?.is_some());
        }
    }
    match available.is_empty() || available.contains(&true) {
        true => Ok(()),
        false => Err(lacks_all(devices, "the instructions of the experiment")),
    }
}

/// The error of devices without any of some instructions.
fn lacks_all(devices: &[Box<dyn Device>], what: &str) -> Error {
    match devices {
        [only] => Error::unavailable(format!("{} has none of {what}", only.identity().name)),
        several => Error::unavailable(format!("none of {} devices has any of {what}", several.len())),
    }
}

fn parts(run: &mut ExperimentRun) -> Result<()> {
    let experiment = run.experiment;
    if let Some(FormatTable::MatrixCores) = experiment.formats {
        run.score.on_paper = catalogue::published(run.report);
    }
    if let Some(plan) = &experiment.probe {
        profile::run(plan, run)?;
    }
    if let Some(plan) = &experiment.chain {
        chain::run(plan, run)?;
    }
    if let Some(plan) = &experiment.bits {
        bits::run(plan, run)?;
    }
    if let Some(plan) = &experiment.emulate {
        emulated::run(plan, run)?;
    }
    if let Some(plan) = &experiment.cost {
        cost::run(plan, run)?;
    }
    if let Some(plan) = &experiment.products {
        products::run(plan, run)?;
    }
    Ok(())
}
