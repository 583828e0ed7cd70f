//! `tcnum merge`.

use std::path::PathBuf;

use clap::Args;

use super::{OutputDestination, Verb, shared::ComparedModel};
use crate::{
    Result,
    device::Identity,
    isa,
    report::{Report, Verdict},
    verify::{merge, tables},
};

const HELP: &str = "\
Examples:
  tcnum merge part-*.json
  tcnum merge --partial part-1.json part-2.json --output markdown
      the parts that there are, and a note on those that are missing
More: docs/verification.md";

/// Merges the parts of a run into one report, with the totals of one run.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// TOML file of the parts' own instruction (docs/exec.md; repeatable)
    #[arg(long = "instr", value_name = "FILE", help_heading = "What")]
    instructions: Vec<String>,
    #[command(flatten)]
    model: ComparedModel,
    /// Parts of `tcnum verify --shard I/N`: reports (JSON) or checkpoints
    #[arg(value_name = "FILE", required = true, help_heading = "Inputs")]
    files: Vec<PathBuf>,
    /// Merge even if parts are missing or unfinished
    #[arg(long, help_heading = "Inputs")]
    partial: bool,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Merges.
///
/// # Errors
/// A file that is neither a report nor a checkpoint; parts that do not make a run.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    // From here on they are found by their names.
    arguments.instructions.iter().try_for_each(|file| isa::resolve(file).map(drop))?;
    let files = arguments.files.iter().map(|path| merge::read(path)).collect::<Result<Vec<_>>>()?;
    let (parts, notes) = merge::merge(&files.concat(), arguments.partial)?;
    report.notes = notes;
    let model = merge::model(arguments.model.as_deref(), &parts)?;
    tables::report(report, &parts, model.as_ref().map(|model| (&model.name[..], model)), None)?;
    if parts.iter().all(|part| part.state.compared() == 0) {
        report.holds = false;
        report.verdict = Verdict::Nothing;
        report.notes.insert(0, "Nothing was compared.".into());
    }
    if let Some(first) = parts.first() {
        report.seed = first.run.seed;
        report.device = Some(Identity::new(&*first.ran.device, &*first.run.device));
    }
    Ok(())
}
