//! `tcnum experiment`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    OutputDestination, Progress,
    drawings::Drawings,
    invocation,
    options::{MAX_TIMEOUT, integer},
};
use crate::{
    Result,
    base::interrupt,
    device,
    experiment::{self, Experiment, Options},
    report::Report,
};

/// Repeats a published experiment and sets every published figure beside the one measured here.
///
/// Example: tcnum experiment experiments/table-12.toml --device model:hopper
///
/// Exit status 1 if a cell differs from the published one without an explanation in the file, or a finding does not hold.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The experiment: a file such as those under experiments/.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A device, as in other commands; may be repeated: all get the same inputs and are compared with the first.
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<String>,
    /// Samples of each probe, or chains, instead of those that the file asks for.
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
    /// Where figures go.
    #[command(flatten)]
    pub drawings: Drawings,
    /// Output flags.
    #[command(flatten)]
    pub destination: OutputDestination,
}

/// Runs the experiment.
///
/// # Errors
/// A file that is not an experiment; a device that cannot be opened, lacks an instruction or fails.
pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    interrupt::watch();
    let experiment = Experiment::read(&arguments.file)?;
    let timeout = Duration::from_secs(arguments.timeout);
    let mut devices = match &arguments.devices[..] {
        [] => vec![device::open(None, timeout)?],
        named => named.iter().map(|name| device::open(Some(name), timeout)).collect::<Result<_>>()?,
    };
    let mut report = Report::new("experiment", invocation());
    let options =
        Options { seed: arguments.seed, samples: arguments.samples, published_samples: arguments.published_samples };
    let progress = Progress::new(&arguments.destination);
    progress.step(&format!("repeating {}", arguments.file.display()));
    experiment::run(&experiment, &mut devices, options, &mut report)?;
    Ok(report)
}
