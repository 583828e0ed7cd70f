//! `tcnum gemm match`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Additions, Operands, OutputDestination, Progress, SearchedModels, Verb, array_file, output_file, safetensors,
    write_operands, write_schedule,
};
use crate::{
    Result,
    gemm::{
        self, ArrayFile,
        matching::{self, Matched, Suspects},
        tables,
    },
    isa::Instruction,
    report::Report,
};

const HELP: &str = "\
Examples:
  tcnum gemm match d.npy --a x.npy --b w.npy --model hopper
  tcnum gemm match d.npy --a x.npy --b w.npy --apart apart.safetensors
      operands on which the schedules that give D differ

More: docs/gemm.md";

/// Finds the schedules that give a D in every bit (exit status 1 if none does).
#[derive(Args, Debug)]
#[command(after_help = HELP, mut_arg("a", |a| a.required(true)), mut_arg("b", |b| b.required(true)))]
pub(super) struct Arguments {
    /// D, m x n: FILE.npy or FILE.safetensors:NAME
    #[arg(value_name = "FILE", value_parser = array_file)]
    matched: ArrayFile,
    #[command(flatten)]
    models: SearchedModels,
    /// Instruction that made D [default: any]
    #[arg(long = "instr", value_name = "NAME", help_heading = "What")]
    instruction: Option<String>,
    #[command(flatten)]
    operands: Operands,
    #[command(flatten)]
    additions: Additions,
    /// Write operands on which the found schedules differ to this file
    #[arg(long, value_name = "FILE.safetensors", value_parser = safetensors, help_heading = "Output")]
    apart: Option<PathBuf>,
    /// Write the simplest schedule that gives D to this file
    #[arg(long, value_name = "FILE.toml", value_parser = output_file, help_heading = "Output")]
    schedule_out: Option<PathBuf>,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let source = arguments.operands.source(Some(&arguments.additions), None);
    let instructions: Vec<Instruction> =
        arguments.instruction.iter().map(|name| gemm::instruction(name)).collect::<Result<_>>()?;
    let (factors, d) = source.for_match(instructions.first(), &arguments.matched, &mut report.notes)?;
    let suspects =
        Suspects { models: arguments.models.names(), instructions, factors: source.scale_factors(), turn: None };
    let progress = Progress::new(&arguments.destination);
    let mut matched = Matched::default();
    let apart = arguments.apart.as_ref();
    let outcome = matching::search(&suspects, &factors, &d, apart.is_some(), &mut matched, &|what| progress.step(what));
    tables::report_matches(&matched, &factors, &d, arguments.matched.label(), report);
    let first = matched.matches.found.first().map(|first| &first.schedule);
    let kept = write_schedule(arguments.schedule_out.as_ref(), first);
    let written = match apart.filter(|_| outcome.is_ok()) {
        Some(path) => {
            let own = matched.apart.as_ref().map_or(Ok(()), |apart| write_operands(path, &apart.factors));
            own.map(|()| report.notes.push(matched.apart_note(path)))
        }
        None => Ok(()),
    };
    outcome.and(kept).and(written)
}
