//! `tcnum devices`: what can execute instructions here.

use clap::Args;

use super::{OutputDestination, Verb};
use crate::{Result, catalogue, report::Report};

/// Lists what can execute matrix instructions: GPUs, shipped models, and the other kinds of device.
///
/// Example: tcnum devices
///
/// Where there is no GPU driver, it says which libraries it looked for; this is not a failure.
#[derive(Args, Debug)]
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
    let found = catalogue::devices()?;
    report.answer = Some(found.answer);
    report.notes.extend(found.problem.map(|message| format!("no GPU: {message}")));
    report.tables = found.tables;
    Ok(())
}
