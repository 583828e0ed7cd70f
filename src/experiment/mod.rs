//! Published experiments as data: a file declares a table or figure of the literature, and running it sets each published
//! figure beside the one measured here.
//!
//! A file (TOML) has a `source` and a `title`, what to run (`profile`: probes of single operations; `chain`: chain
//! matrix multiplication; `products`: errors of matrix products against k), the published cells as printed, and the findings that have to hold.

mod chain;
mod file;
mod finding;
mod products;
mod profile;
mod sample;
pub mod table;
mod verdict;

pub use file::{ChainFigure, ErrorColumn, Experiment, Finding, ProductFigure, ProductLine, ProfileCell, ProfileTable};
pub use products::ProductErrorRow;
pub use sample::SampleSize;
pub use verdict::{Printed, Verdict, ZERO_PROBABILITY};

use crate::{
    Result,
    device::Device,
    report::{Report, Table},
};

/// What the command line may change about an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Seed of the random inputs.
    pub seed: u64,
    /// Samples of each probe, or chains, instead of those that the file asks for.
    pub samples: Option<u64>,
    /// How many samples the published means are taken to have, instead of what the file says.
    pub published_samples: Option<u64>,
}

/// Runs `experiment` on every device with the same inputs, and fills `report`: its tables, notes and whether all that
/// is claimed holds. Returns the errors of products, for a plot.
///
/// # Errors
/// Those of the devices; before any work, an instruction that one of them does not have.
pub fn run(
    experiment: &Experiment,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
) -> Result<Vec<ProductErrorRow>> {
    for device in devices.iter_mut() {
        experiment.instructions().try_for_each(|instruction| device.has(instruction))?;
    }
    report.seed = Some(options.seed);
    report.device = devices.first().map(|device| device.identity().clone());
    report.notes.extend(table::notes(experiment, options));
    if devices.len() > 1 {
        report.tables.push(table::devices(devices.iter().map(|device| device.identity())));
    }
    if let Some(plan) = &experiment.profile {
        profile::run(experiment, plan, devices, options, report)?;
    }
    if let Some(plan) = &experiment.chain {
        chain::run(experiment, plan, devices, options, report)?;
    }
    let Some(plan) = &experiment.products else { return Ok(Vec::new()) };
    let errors = products::run(plan, devices, options)?;
    report.tables.push(Table::of("Errors of matrix products", errors.clone()));
    Ok(errors)
}
