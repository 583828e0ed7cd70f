//! `tcnum inspect`.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    progress::Bar,
    shared::{CodeFormat, Include, with_default},
};
use crate::{
    Result,
    checkpoint::{Checkpoint, CheckpointTensor, Layout},
    format,
    inspect::{compared, inspected},
    report::Report,
    tensor::TensorChoice,
};

const HELP: &str = "Examples:
  tcnum inspect model.safetensors
  tcnum inspect model/ --include '*.0.*' --output json
  tcnum inspect model.safetensors other.safetensors
  tcnum inspect model.gguf --layout mine.toml

Exit status 1: the two checkpoints differ.
More: docs/inspect.md";

/// Lists the layouts, formats and conventions of a checkpoint, or compares two.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
#[command(mut_arg("include", |option| with_default(option, "all")))]
pub(super) struct Arguments {
    /// Checkpoint: .safetensors, .gguf or .npy, a folder, or an index (.json)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Checkpoint to compare with, after decoding
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    /// Layout of quantised tensors: a name, or a file of your own
    #[arg(long, value_name = "NAME|FILE.toml")]
    layout: Option<String>,
    #[command(flatten)]
    from: CodeFormat,
    #[command(flatten)]
    include: Include,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Inspects a checkpoint or compares two; an error leaves the report on the tensors before it.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let layout = arguments.layout.as_deref().map(Layout::find).transpose()?;
    let from = arguments.from.as_deref().map(format::resolve).transpose()?;
    let open = |path: &PathBuf| Checkpoint::open(path, layout.as_ref(), from);
    let first = open(&arguments.file)?;
    let second = arguments.other.as_ref().map(open).transpose()?;
    let choice = TensorChoice { include: arguments.include.to_vec(), exclude: Vec::new() };
    choice.check(|| first.tensors.iter().map(|tensor| tensor.name.as_str()))?;
    let chosen: Vec<&CheckpointTensor> = first.tensors.iter().filter(|tensor| choice.wants(&tensor.name)).collect();
    let progress = Progress::new(&arguments.destination);
    let total = chosen.iter().map(|tensor| tensor.len() as u64).sum();
    let bar = Bar::new(&progress, "values", total, 0, 1);
    let (mut done, mut last) = (0, String::new());
    let mut show = |name: &str, values: u64| {
        if last != name {
            last = name.to_string();
            progress.note(name);
        }
        done += values;
        bar.show(done, 0);
    };
    let outcome = match &second {
        None => {
            let (answer, tables, outcome) = inspected(&first, &chosen, &mut show);
            (report.answer, report.tables) = (answer, tables);
            outcome
        }
        Some(second) => {
            let (answer, tables, holds, outcome) = compared(&first, second, &chosen, &mut show);
            (report.answer, report.tables, report.holds) = (answer, tables, holds);
            outcome
        }
    };
    report.notes.extend(first.notes().iter().chain(second.iter().flat_map(|checkpoint| checkpoint.notes())).cloned());
    outcome
}
