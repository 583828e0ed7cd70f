//! `tcnum devices`: what can execute instructions here.

use clap::Args;

use super::{OutputDestination, invocation};
use crate::{Result, catalogue, report::Report};

/// Lists what can execute matrix instructions: GPUs, shipped models, and the other kinds of device.
///
/// Example: tcnum devices
///
/// Where there is no GPU driver, it says which library was looked for; that is no failure.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Output flags.
    #[command(flatten)]
    pub destination: OutputDestination,
}

/// The devices of this machine.
///
/// # Errors
/// None that a missing driver or GPU causes: those are said in the report. A shipped model that is none.
pub(super) fn run(_: &Arguments) -> Result<Report> {
    let (tables, problem) = catalogue::devices()?;
    Ok(Report {
        notes: problem.map(|message| format!("no GPU: {message}")).into_iter().collect(),
        tables,
        ..Report::new("devices", invocation())
    })
}
