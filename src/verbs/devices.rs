//! `tcnum devices`: the devices of this machine.

use clap::Args;

use super::{OutputDestination, Verb};
use crate::{Result, catalogue, report::Report};

const HELP: &str = "\
Examples:
  tcnum devices
  tcnum devices --brief
More: docs/devices-and-results.md";

/// Lists GPUs, this processor, shipped models and the names that --device takes.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// The devices of this machine.
///
/// # Errors
/// A shipped model that cannot be read. A missing driver or GPU is not an error: the report says so.
pub(super) fn run(_: &Arguments, report: &mut Report) -> Result<()> {
    let devices = catalogue::devices()?;
    report.answer = Some(devices.answer);
    report.notes.extend(devices.problem.map(|message| format!("no GPU: {message}")));
    report.tables = devices.tables;
    Ok(())
}
