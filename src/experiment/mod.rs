//! Published tables and figures as data, compared with measurements.
//!
//! A TOML file has a `source`, a `title`, the published cells as printed, the findings that have to hold, and what to run:
//!
//! - `profile`: probes of single operations;
//! - `chain`: chain matrix multiplication;
//! - `products`: errors of matrix products against k;
//! - `splitting`: products by schemes;
//! - `integers`: products of integers by their digits;
//! - `bits`: agreement bit by bit;
//! - `cost`: latencies and rates;
//! - `formats`: a table of formats.

mod bits;
mod chain;
mod cost;
mod file;
mod finding;
mod integers;
mod keys;
mod operands;
mod power;
mod products;
mod profile;
mod sample;
mod score;
mod splitting;
pub mod table;
mod verdict;

pub use bits::BitTable;
pub use cost::{CostCell, CostCellRow, CostTable, PrintedPoint};
pub use file::{
    AccumulatorChoice, ChainFigure, ErrorColumn, Experiment, ExperimentFinding, FormatTable, ProductFigure,
    ProductLine, ProfileCell, ProfileTable,
};
pub use integers::{IntegerCell, IntegerCellRow, IntegerTable};
pub use products::ProductErrorRow;
pub use sample::SampleSize;
pub use splitting::{Averaged, ErrorMetric, SplittingCell, SplittingCellRow, SplittingErrorRow, SplittingFigure};
pub use verdict::{CellVerdict, Printed, ZERO_PROBABILITY};

use crate::{Error, Result, Stage, catalogue, device::Device, report::Report};
use score::ExperimentScore;

/// Settings of a run that override the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Seed of the random inputs.
    pub seed: u64,
    /// Samples of each probe, chains, or products of each size, instead of those that the file asks for.
    pub samples: Option<u64>,
    /// Assumed samples of the published means, instead of the file's.
    pub published_samples: Option<u64>,
}

/// A run of an experiment, as its parts share it.
struct ExperimentRun<'a> {
    experiment: &'a Experiment,
    devices: &'a mut [Box<dyn Device>],
    options: Options,
    report: &'a mut Report,
    score: ExperimentScore,
    progress: &'a mut dyn FnMut(Stage),
}

/// Runs `experiment` on every device with the same inputs, and fills `report`.
///
/// An interrupted run reports the cells that it has, and the findings about complete data. `progress` is called before each step.
///
/// # Errors
/// Those of the devices; before any work, a device that has none of the instructions; [`Error::Interrupted`].
pub fn run(
    experiment: &Experiment,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    for device in devices.iter_mut() {
        let mut found = Vec::new();
        for instruction in experiment.instructions() {
            found.push(experiment.on(device.as_mut(), instruction)?.is_some());
        }
        if !found.is_empty() && !found.contains(&true) {
            let name = &device.identity().name;
            return Err(Error::unavailable(format!("{name} has none of the instructions of the experiment")));
        }
    }
    report.seed = Some(options.seed);
    report.device = devices.first().map(|device| device.identity().clone());
    report.notes.extend(table::notes(experiment, options));
    let mut run = ExperimentRun { experiment, devices, options, report, score: ExperimentScore::default(), progress };
    let outcome = parts(&mut run);
    let ExperimentRun { devices, report, score, .. } = run;
    let names = devices.iter().map(|device| &device.identity().name);
    report.answer = score.answer(&names.collect::<Vec<_>>()).or(report.answer.take());
    report.holds &= score.holds();
    if devices.len() > 1 && report.tables.iter().any(|table| !table.rows.is_empty()) {
        report.tables.insert(0, table::devices(devices.iter().map(|device| device.identity())));
    }
    outcome
}

fn parts(run: &mut ExperimentRun) -> Result<()> {
    let experiment = run.experiment;
    if let Some(FormatTable::MatrixCores) = experiment.formats {
        catalogue::published(run.report);
    }
    if let Some(plan) = &experiment.profile {
        profile::run(plan, run)?;
    }
    if let Some(plan) = &experiment.chain {
        chain::run(plan, run)?;
    }
    if let Some(plan) = &experiment.bits {
        bits::run(plan, run)?;
    }
    if let Some(plan) = &experiment.splitting {
        splitting::run(plan, run)?;
    }
    if let Some(plan) = &experiment.cost {
        cost::run(plan, run)?;
    }
    if let Some(plan) = &experiment.integers {
        integers::run(plan, run)?;
    }
    if let Some(plan) = &experiment.products {
        products::run(plan, run)?;
    }
    Ok(())
}
