//! `tcnum instructions`: the instruction tables.

use std::time::Duration;

use clap::Args;

use super::{
    Verb,
    options::{MAX_TIMEOUT, OutputDestination, device_name, integer},
};
use crate::{Result, catalogue, device::DeviceName, report::Report};

/// Lists the instructions, matrix and scalar ones: where each exists, and whether a GPU executes it here.
///
/// Example: tcnum instructions bf16 --device model:hopper
///
/// NVIDIA's rows were measured by assembling the instruction for every architecture: native means that one machine
/// instruction does it, emulated that a sequence does. wgmma and tcgen05 are listed with their smallest n; any other
/// can be written in its place. Instructions without a GPU kernel are executed by models and by exec: programs.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Only instructions whose name, or vendor's spelling, contains this (in any letter case).
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<String>,
    /// Only instructions that this device executes, and how; of a GPU: all that it has.
    #[arg(long, value_name = "DEVICE", value_parser = device_name)]
    pub device: Option<DeviceName>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    pub timeout: u64,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// The instructions that the arguments select.
///
/// # Errors
/// A request error if no instruction matches, or the device executes none of them; the errors of the device.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let pattern = arguments.pattern.as_deref().unwrap_or("").to_lowercase();
    let timeout = Duration::from_secs(arguments.timeout);
    catalogue::instructions(&pattern, arguments.device.as_ref(), timeout, report)?;
    Ok(())
}
