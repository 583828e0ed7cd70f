//! `tcnum instructions`: the instruction tables.

use clap::Args;

use super::{
    Verb,
    options::{OutputDestination, Timeout},
    shared::OneDevice,
};
use crate::{Result, catalogue, report::Report};

const HELP: &str = "\
Examples:
  tcnum instructions bf16
  tcnum instructions mma.m16n8k16 --device hopper
      how one device executes them
  tcnum instructions --conversions e4m3 --isa x86
      NaN, ties, overflow and zeros of conversions
More: docs/devices-and-results.md, docs/conversions.md";

/// Lists instructions, with the targets that have them natively or emulated.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    /// Part of the name or of the vendor's spelling, in any letter case
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<String>,
    #[command(flatten)]
    pub(crate) device: OneDevice,
    #[command(flatten)]
    pub timeout: Timeout,
    /// List conversions of all ISAs, with NaN, ties, overflow and zeros
    #[arg(long, conflicts_with = "device")]
    pub conversions: bool,
    /// Instruction set of the conversions: ptx, x86, amd, arm, risc-v
    #[arg(long, value_name = "ISA", requires = "conversions")]
    pub isa: Option<String>,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Lists the selected instructions.
///
/// # Errors
/// A request error: no instruction matches, or the device executes none of them. Errors of the device.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let pattern = arguments.pattern.as_deref().unwrap_or("").to_lowercase();
    if arguments.conversions {
        return catalogue::conversions::list(&pattern, arguments.isa.as_deref(), report);
    }
    let timeout = arguments.timeout.duration();
    catalogue::instructions(&pattern, arguments.device.as_ref(), timeout, report)?;
    Ok(())
}
