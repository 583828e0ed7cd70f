//! `tcnum probe scalar`.

use std::path::PathBuf;

use clap::Args;

use super::super::{
    Common, OutputDestination, Progress, Verb,
    named::named,
    options::{cases, integer, output_file},
    shared::MaxMismatches,
};
use crate::{
    Result,
    isa::scalar::ScalarOperation,
    probe::{
        digests,
        scalar::{ScalarPlan, SweptForms},
    },
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum probe scalar --op convert --fmt e4m3
  tcnum probe scalar --instr cvt.rn.satfinite.e4m3x2.f32 --device cuda:0 --digests digests.csv

More: docs/probe.md";

/// Sweeps scalar instructions over their inputs, and compares every lane with the rule.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// Operation (repeatable)
    #[arg(long = "op", value_parser = named::<ScalarOperation>(), value_name = "OP", help_heading = "What")]
    #[arg(required_unless_present = "instructions")]
    ops: Vec<ScalarOperation>,
    /// Format of operands or results (repeatable) [default: all]
    #[arg(long = "fmt", value_name = "FORMAT", help_heading = "What")]
    formats: Vec<String>,
    /// Spelling of one instruction (repeatable)
    #[arg(long = "instr", value_name = "NAME", help_heading = "What", conflicts_with_all = ["ops", "formats"])]
    instructions: Vec<String>,
    /// Inputs, in chunks of 65536 [default: all; without a GPU, 4 chunks]
    #[arg(long, value_name = "N", value_parser = cases(1 << 32), help_heading = "Inputs")]
    cases: Option<u64>,
    /// First input of consecutive chunks [default: chunks spread evenly]
    #[arg(long, value_name = "INPUT", value_parser = integer(0..=(1u64 << 32) - 1), help_heading = "Inputs")]
    first: Option<u64>,
    #[command(flatten)]
    max_mismatches: MaxMismatches,
    /// Write the digests of up to 16 chunks of each instruction here
    #[arg(long, value_name = "FILE", value_parser = output_file, help_heading = "Output")]
    digests: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.common.destination)
    }
}

pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    report.seed = Some(*arguments.common.seed);
    let plan = ScalarPlan {
        instructions: &arguments.instructions,
        operations: &arguments.ops,
        formats: &arguments.formats,
        seed: *arguments.common.seed,
        first: arguments.first,
        cases: arguments.cases,
        max_mismatches: *arguments.max_mismatches,
    };
    let (name, forms) = plan.chosen(arguments.common.device.as_ref())?;
    let mut device = arguments.common.open(&name)?;
    let progress = Progress::new(&arguments.common.destination);
    let mut swept = SweptForms::default();
    let outcome = plan.run(forms, device.as_mut(), &mut swept, &|what| progress.step(what));
    let written = match arguments.digests.as_ref().filter(|_| !swept.recorded.is_empty()) {
        Some(path) => digests::write(path, &swept.recorded),
        None => Ok(()),
    };
    swept.report(device.as_ref(), report);
    outcome.and(written)
}
