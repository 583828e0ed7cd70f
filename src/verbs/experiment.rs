//! `tcnum experiment`.

use std::{borrow::Cow, path::PathBuf, time::Duration};

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    gates::Gates,
    options::{MAX_TIMEOUT, device_name, integer},
};
use crate::{
    Result,
    device::{self, DeviceName, cuda},
    experiment::{self, Experiment, Options},
    report::{Report, Verdict},
};

/// Repeats a published table or figure, and sets every published cell beside the one measured here.
///
/// Example: tcnum experiment experiments/table-12.toml --device model:hopper
///
/// Each cell has a verdict: reproduced, not reproduced (with what is known of the reason), or not testable on a device that lacks the
/// instruction. Exit status 1 if a cell is not reproduced, unless the file says that this is accepted, and why, or if a finding does not
/// hold.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The experiment: a file such as those under experiments/.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A device, as in other commands; may be repeated: all get the same inputs and are compared with the first. [default: the first GPU,
    /// and the devices that the file names; without either as in other commands]
    #[arg(long = "device", value_name = "DEVICE", value_parser = device_name, num_args = 1..)]
    devices: Vec<DeviceName>,
    /// Samples of each probe, or chains, or products of each size, instead of those that the file asks for.
    #[arg(long, value_name = "N", value_parser = integer(2..=1_000_000_000u64))]
    samples: Option<u64>,
    /// The assumed number of samples behind the published means (instead of the file's), which sets their sampling error.
    #[arg(long, value_name = "N", value_parser = integer(1..=1_000_000_000u64))]
    published_samples: Option<u64>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Seed of the random inputs: the same seed gives the same inputs everywhere.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX))]
    seed: u64,
    /// Files for continuous integration.
    #[command(flatten)]
    gates: Gates,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
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
    let timeout = Duration::from_secs(arguments.timeout);
    let names = names(&arguments.devices, &experiment.devices);
    let mut devices = names.iter().map(|name| device::open(Some(name), timeout)).collect::<Result<Vec<_>>>()?;
    let options =
        Options { seed: arguments.seed, samples: arguments.samples, published_samples: arguments.published_samples };
    let progress = Progress::new(&arguments.destination);
    progress.step(&format!("repeating {}", arguments.file.display()));
    report.verdict = Verdict::Unreproduced;
    experiment::run(&experiment, &mut devices, options, report, &mut |stage| progress.at(stage))
}

/// The devices that were named; without any the first GPU and those of the file, or the default one.
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
