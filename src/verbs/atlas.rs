//! `tcnum atlas`: a static site of the arithmetic of all known matrix units.

use std::path::PathBuf;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    shared::{Instructions, Models},
};
use crate::{
    Error, Result,
    atlas::{self, AtlasRequest, SiteFolder},
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum atlas --out atlas
  tcnum atlas --model hopper --model mxu.toml --out atlas
      two generations, one of them a model file of your own
  tcnum atlas --with h200 --out atlas
      all shipped models, and what a survey found
  tcnum atlas --instr mma.m16n8k16.f32.bf16.bf16.f32 --out atlas
      one instruction on every generation that has it
More: docs/atlas.md";

/// Writes a static site: what each matrix instruction computes on each generation.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    instructions: Instructions,
    /// Add the draft model of a survey's folder (repeatable)
    #[arg(long, value_name = "FOLDER")]
    with: Vec<PathBuf>,
    /// Output flags.
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
}

/// Makes the site.
///
/// # Errors
/// No folder, or one with other files; unknown names; a file that cannot be written; an interruption before there is a page.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let Some(out) = &arguments.destination.out else {
        return Err(Error::request("no folder is named; give --out FOLDER"));
    };
    let folder = SiteFolder::open(out)?;
    let request = AtlasRequest {
        models: arguments.models.to_vec(),
        instructions: arguments.instructions.to_vec(),
        surveys: arguments.with.clone(),
    };
    let progress = Progress::new(&arguments.destination);
    let atlas = atlas::atlas(&request, &mut |stage| progress.at(stage))?;
    drop(progress);
    atlas.write(&folder)?;
    report.answer = Some(format!("{} holds {}", out.display(), atlas.answer));
    report.tables.push(atlas.table);
    atlas.interrupted.map_or(Ok(()), |by| Err(Error::Interrupted { by }))
}
