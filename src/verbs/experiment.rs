//! `tcnum experiment`.

use std::{borrow::Cow, path::PathBuf};

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    gates::Gates,
    options::{Timeout, device_name, integer},
};
use crate::{
    Result,
    device::{self, DeviceName, cuda},
    experiment::{self, Experiment, Options},
    report::{Report, Verdict},
};

const HELP: &str = "\
Examples:
  tcnum experiment experiments/table-12.toml --device hopper
  tcnum experiment experiments/table-12.toml --device cuda:0 --device hopper
      both devices on the same inputs, compared with each other
More: docs/devices-and-results.md";

/// Repeats a published table or figure, and compares every cell.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// Experiment, such as the files in experiments/
    #[arg(value_name = "FILE", help_heading = "What")]
    pub file: PathBuf,
    /// Devices, compared with the first [default: cuda:0 and the file's]
    #[arg(long = "device", value_name = "DEVICE", value_parser = device_name, num_args = 1.., help_heading = "Device")]
    devices: Vec<DeviceName>,
    #[command(flatten)]
    timeout: Timeout,
    /// Samples of a probe, chains, or products of a size [default: the file's]
    #[arg(long, value_name = "N", value_parser = integer(2..=1_000_000_000u64), help_heading = "Inputs")]
    samples: Option<u64>,
    /// Samples behind the published means [default: the file's]
    #[arg(long, value_name = "N", value_parser = integer(1..=1_000_000_000u64), help_heading = "Inputs")]
    published_samples: Option<u64>,
    /// Seed of the random inputs
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX), help_heading = "Inputs")]
    seed: u64,
    #[command(flatten)]
    gates: Gates,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        let Experiment { chain, products, bits, .. } = Experiment::read(&self.file)?;
        let some = chain.is_some() || products.is_some() || bits.is_some();
        Ok(Some(self.drawings.of("errors of chains and products, and agreement bit by bit", some)))
    }

    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        Some((&self.gates, Some(self.file.to_string_lossy())))
    }
}

/// Runs the experiment.
///
/// # Errors
/// A file that is not an experiment; a device that cannot be opened, has none of the instructions, or fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let experiment = Experiment::read(&arguments.file)?;
    let timeout = arguments.timeout.duration();
    let names = names(&arguments.devices, &experiment.devices);
    let mut devices = names.iter().map(|name| device::open(Some(name), timeout)).collect::<Result<Vec<_>>>()?;
    let options =
        Options { seed: arguments.seed, samples: arguments.samples, published_samples: arguments.published_samples };
    let progress = Progress::new(&arguments.destination);
    progress.step(&format!("repeating {}", arguments.file.display()));
    report.verdict = Verdict::Unreproduced;
    experiment::run(&experiment, &mut devices, options, report, &mut |stage| progress.at(stage))
}

/// The named devices, else the first GPU and the devices of the file, else the default one.
fn names(given: &[DeviceName], of_file: &[String]) -> Vec<DeviceName> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let gpu = (cuda::count() > 0).then_some(DeviceName::Cuda(0));
    match of_file {
        [] => vec![DeviceName::usual(|| false)],
        own => gpu.into_iter().chain(own.iter().map(|name| DeviceName::asked(name))).collect(),
    }
}
