//! `tcnum verify`: a device, or recordings, against a model.

mod campaign;
mod recordings;
mod replay;

use std::borrow::Cow;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    OutputDestination, Verb,
    drawings::{Drawings, Figures},
    gates::Gates,
    options::{MAX_TIMEOUT, cases, device_name, file_or_folder, integer, model_name, output_file, shard},
    select::Selection,
};
use crate::{Error, Result, device::DeviceName, report::Report, verify::MOST_CASES};

/// Compares a device, or recordings, with an arithmetic model, in every bit.
///
/// Example: tcnum verify --instr mma.m16n8k16.f32.f16.f16.f32 --device cuda:0 --cases 1e9
///
/// Example: tcnum verify --device trace:h100.safetensors --model hopper
///
/// Example: tcnum verify counterexamples.safetensors --device exec:./unit --model hopper
///
/// With --instr, --fmt or --all, operands are drawn from adversarial regimes, each of which is counted apart, executed, and
/// compared. Elements that differ are reduced to minimal ones. Without them, every output of the recordings that are
/// named is compared; with a device that computes, the device executes their operands again, and its outputs are compared (a
/// regression suite). Exit status 1 if something differs.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The device, or devices of one kind that share the work: cuda:N, cuda:all, cpu, model:NAME, exec:'PROGRAM ARGS'; or a
    /// recording, trace:FILE. May be repeated.
    #[arg(long = "device", value_name = "DEVICE", value_parser = device_name)]
    devices: Vec<DeviceName>,
    /// Recordings, or files of counterexamples, by their names; of a folder, all its .safetensors files.
    #[arg(value_name = "FILE|FOLDER")]
    files: Vec<String>,
    /// What to compare with: a model's name or file; for recordings also any device that computes (exec:'PROGRAM ARGS').
    /// Without it: the model of the device's generation.
    #[arg(long, value_name = "MODEL", value_parser = model_name)]
    model: Option<String>,
    /// Dot-product-adds to compare for each instruction, rounded up to whole tiles: 1000000, 1e12. [default: 1e6]
    #[arg(long, value_name = "N", value_parser = cases(MOST_CASES), conflicts_with = "exhaustive", help_heading = "Campaign")]
    cases: Option<u64>,
    /// Instead of random operands, all operands of an operation: multiply takes all pairs of codes of A and B.
    #[arg(long, value_name = "OPERATION", help_heading = "Campaign")]
    exhaustive: Option<Exhaustive>,
    /// The position along k of exhaustive multiplications: among the stored elements of a row of A.
    #[arg(long, value_name = "K", default_value_t = 0, requires = "exhaustive", help_heading = "Campaign")]
    position: usize,
    /// Seed of the random operands: the same seed gives the same operands everywhere. [default: 0]
    #[arg(long, value_name = "N", value_parser = integer(0..=u64::MAX), conflicts_with = "exhaustive", help_heading = "Campaign")]
    seed: Option<u64>,
    /// Run only this part of the run; `tcnum merge` makes one report of all parts.
    #[arg(long, value_name = "I/N", value_parser = shard, help_heading = "Campaign")]
    shard: Option<(u64, u64)>,
    /// Keep how far the run is in this file, and resume from it.
    #[arg(long, value_name = "FILE", value_parser = output_file, help_heading = "Campaign")]
    checkpoint: Option<PathBuf>,
    /// Write the counterexamples as a trace to this file, or to NAME.safetensors in this folder; without it beside --out.
    #[arg(long, value_name = "FILE", value_parser = file_or_folder, help_heading = "Campaign")]
    counterexamples: Option<PathBuf>,
    /// Leave out the instructions that the device does not have, that the model does not cover, or whose codes are too many to be
    /// paired, instead of refusing (with --all).
    #[arg(long, requires = "all", help_heading = "Campaign")]
    available: bool,
    /// How many outputs that differ to list: for each recording; for each instruction, where the run then stops (0: none, and
    /// the run does not stop).
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = integer(0..=1_000_000u64))]
    max_mismatches: u64,
    /// Count any NaN code as equal to any other NaN code.
    #[arg(long)]
    any_nan: bool,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Files for continuous integration.
    #[command(flatten)]
    gates: Gates,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

/// An operation whose operands are all tried.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Exhaustive {
    /// d = a*b, everything else zero.
    Multiply,
}

impl Arguments {
    /// Whether instructions are chosen, on which a campaign runs.
    fn is_campaign(&self) -> bool {
        let Selection { instructions, formats, all } = &self.selection;
        *all || !instructions.is_empty() || !formats.is_empty()
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("rates of campaigns (--instr, --fmt, --all)", self.is_campaign())))
    }

    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        Some((&self.gates, None))
    }
}

/// Runs the command.
///
/// # Errors
/// Unknown names, a device or a model that lacks an instruction, a device that fails, a file that is not what it should be.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    if arguments.is_campaign() {
        return campaign::run(arguments, report);
    }
    let given = [
        ("--cases", arguments.cases.is_some()),
        ("--exhaustive", arguments.exhaustive.is_some()),
        ("--seed", arguments.seed.is_some()),
        ("--shard", arguments.shard.is_some()),
        ("--checkpoint", arguments.checkpoint.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Error::request(format!("{flag} needs an instruction; give --instr, --fmt or --all"))),
        None if arguments.devices.iter().any(|device| device.trace().is_none()) => replay::run(arguments, report),
        None => recordings::run(arguments, report),
    }
}
