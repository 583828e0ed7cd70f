//! `tcnum survey`: all that is new on a device.

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::Timeout,
    select::Selection,
    shared::{Cases, ComparedModel, OneDevice, WithoutModels, with_default},
};
use crate::{
    Error, Result,
    report::Report,
    survey::{Survey, SurveyRequest},
    tables,
};

const HELP: &str = "\
Examples:
  tcnum survey --device cuda:0 --out h200
  tcnum survey --device hopper --without-model hopper --fmt f16 --out again
      a model withheld: the survey gives it back
  tcnum survey --device 'exec:./unit' --model hopper --fmt e4m3 --out unit
More: docs/survey.md";

/// Says in one run what is new on a device: instructions, their arithmetic, a model.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("cases", |option| with_default(option, "1e5; of a GPU 1e7")))]
#[command(mut_arg("out", |option| option.help("Folder of the survey; a run with the same folder resumes").value_name("FOLDER")))]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    model: ComparedModel,
    #[command(flatten)]
    without_models: WithoutModels,
    /// Measure errors of operations, chains and emulated products too
    #[arg(long, conflicts_with_all = ["instructions", "formats"], help_heading = "What")]
    errors: bool,
    /// Measure latency and throughput too
    #[arg(long, help_heading = "What")]
    cost: bool,
    #[command(flatten)]
    device: OneDevice,
    #[command(flatten)]
    timeout: Timeout,
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn makes_file(&self) -> bool {
        true
    }

    fn starts_commands(&self) -> bool {
        true
    }
}

/// Surveys.
///
/// # Errors
/// No folder, or one with other files; unknown names; a device that cannot be opened or fails; an interruption.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let Some(folder) = &arguments.destination.out else {
        return Err(Error::request("no folder is named; give --out FOLDER"));
    };
    let selection =
        Selection { all: arguments.selection.is_empty() || arguments.selection.all, ..arguments.selection.clone() };
    let device = selection.device(&[], arguments.device.as_ref());
    device.computes("the survey asks new inputs; `tcnum identify` searches a recording")?;
    let request = SurveyRequest {
        instructions: selection.instructions(&[], Some(&device))?,
        available: selection.all,
        model: (*arguments.model).clone(),
        withheld: arguments.without_models.to_vec(),
        cases: *arguments.cases,
        timeout: arguments.timeout.duration(),
        errors: arguments.errors,
        cost: arguments.cost,
        notes: arguments.destination.annotations.clone(),
        folder: folder.clone(),
        device,
    };
    let progress = Progress::new(&arguments.destination);
    let mut survey = Survey::open(request, &|stage| progress.at(stage))?;
    let outcome = survey.run(&tables::declared(), &|stage| progress.at(stage));
    drop(progress);
    survey.wrong.iter().for_each(super::warn);
    survey.report(report).and(outcome).and(survey.end())
}
