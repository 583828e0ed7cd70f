//! `tcnum experiment`.

use std::{borrow::Cow, path::PathBuf};

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    gates::Gates,
    invocation,
    options::{Timeout, integer},
    shared::{AllModels, Devices, Seed},
    spelling,
};
use crate::{
    Error, Result,
    arithmetic::shipped,
    base::{atomic, distinct::distinct},
    device::{self, Device, DeviceName, cuda},
    experiment::{self, Experiment, Options, Suite},
    report::{self, Report, Verdict, View, ViewLayout},
};

const HELP: &str = "\
Examples:
  tcnum experiment table-12 --device hopper
  tcnum experiment table-12 --device cuda:0 --device hopper
      both devices on the same inputs, compared with each other
  tcnum experiment --all --all-models
More: experiments/README.md";

/// Repeats published tables and figures, and compares every cell.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("devices", |option| option.num_args(1..)))]
pub(super) struct Arguments {
    /// Experiment by name (--list), or FILE.toml; may be repeated
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["all", "list"], help_heading = "What")]
    names: Vec<String>,
    /// Repeat every shipped experiment
    #[arg(long, conflicts_with = "names", help_heading = "What")]
    all: bool,
    /// List the shipped experiments
    #[arg(long, conflicts_with_all = ["names", "all"], help_heading = "What")]
    list: bool,
    #[command(flatten)]
    devices: Devices,
    #[command(flatten)]
    all_models: AllModels,
    #[command(flatten)]
    timeout: Timeout,
    /// Samples of a probe, chains, or draws of a product [default: the file's]
    #[arg(long, value_name = "N", value_parser = integer(2..=1_000_000_000u64), help_heading = "Inputs")]
    samples: Option<u64>,
    /// Samples behind the published means [default: the file's]
    #[arg(long, value_name = "N", value_parser = integer(1..=1_000_000_000u64), help_heading = "Inputs")]
    published_samples: Option<u64>,
    /// Compute whole square products where the file samples rows (hours)
    #[arg(long, help_heading = "Inputs")]
    whole: bool,
    #[command(flatten)]
    seed: Seed,
    /// With several experiments, write each one's whole result: NAME.json
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    gates: Gates,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Arguments {
    fn experiments(&self) -> Result<Vec<Experiment>> {
        match self.all {
            true => experiment::shipped().map(Experiment::find).collect(),
            false => distinct(self.names.iter().cloned()).iter().map(|name| Experiment::find(name)).collect(),
        }
    }

    /// The devices of an experiment.
    fn devices(&self, experiment: &Experiment) -> Vec<DeviceName> {
        let models = shipped().filter(|_| *self.all_models).map(|name| DeviceName::Model(name.into()));
        let given: Vec<DeviceName> = self.devices.iter().cloned().chain(models).collect();
        if !given.is_empty() {
            return if *self.all_models { distinct(given) } else { given };
        }
        let gpu = (cuda::count() > 0).then_some(DeviceName::Cuda(0));
        match &experiment.devices[..] {
            [] => vec![DeviceName::usual(|| false)],
            names => gpu.into_iter().chain(names.iter().map(|name| DeviceName::asked(name))).collect(),
        }
    }

    /// Writes the whole result of one of several experiments.
    fn keep(&self, experiment: &Experiment, report: &mut Report) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        report.invocation = invocation();
        report.annotations = self.destination.annotations.clone();
        report.annotations.push(("experiment".into(), experiment.name.clone()));
        let text = report::render(&report.clone().reworded(spelling::options), View::Json, &ViewLayout::default());
        atomic::write(&folder.join(format!("{}.json", experiment.name)), text.as_bytes())
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        let some = match &self.experiments()?[..] {
            // Models take no time.
            [only] => {
                let timed = || self.devices(only).iter().any(|name| name.model().is_none());
                only.formats.is_none() && (only.cost.is_none() || timed())
            }
            _ => false,
        };
        Ok(Some(self.drawings.of("measured numbers of one experiment, and costs of devices that are not models", some)))
    }

    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        Some((&self.gates, self.names.first().map(|name| name.into())))
    }
}

/// Runs the experiments.
///
/// # Errors
/// A name or file that is no experiment; a device that cannot be opened, has none of the instructions, or fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if arguments.list {
        return experiment::list(report);
    }
    let experiments = arguments.experiments()?;
    let timeout = arguments.timeout.duration();
    let open = |name: &DeviceName| device::open(Some(name), timeout);
    let options = Options {
        seed: *arguments.seed,
        samples: arguments.samples,
        published_samples: arguments.published_samples,
        whole_squares: arguments.whole,
        published_only: *arguments.all_models,
    };
    let progress = Progress::new(&arguments.destination);
    report.verdict = Verdict::Unreproduced;
    if let [only] = &experiments[..] {
        if arguments.folder.is_some() {
            return Err(Error::request("--folder keeps the results of several experiments; for one use --out FILE"));
        }
        let mut devices = arguments.devices(only).iter().map(open).collect::<Result<Vec<Box<dyn Device>>>>()?;
        progress.step(&format!("repeating {}", only.name));
        return experiment::run(only, &mut devices, options, report, &mut |stage| progress.at(stage));
    }
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::request(format!("--folder {}: it cannot be made: {error}", folder.display())))?;
    }
    let suite = Suite {
        experiments: &experiments,
        devices: &|experiment| arguments.devices(experiment),
        open: &open,
        options,
        done: &mut |experiment, experiment_report| arguments.keep(experiment, experiment_report),
    };
    suite.run(report, &mut |stage| progress.at(stage))
}
