//! `tcnum gemm match`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Additions, Operands, OutputDestination, Progress, SearchedModels, Verb, array_file,
    shared::{Apart, OneInstruction, ScheduleOut, with_default},
    write_operands, write_schedule,
};
use crate::{
    Error, Result,
    isa::Instruction,
    matching::{self, Recognised, Request},
    product::{self, ArrayFile, Captures, kernel::KernelNames, search::Suspects},
    report::{Report, Table, Verdict},
};

const HELP: &str = "\
Examples:
  tcnum gemm match d.npy --a x.npy --b w.npy --model hopper
  tcnum gemm match d.npy --a x.npy --b w.npy --apart apart.safetensors
      operands on which the schedules that give D differ
  tcnum gemm match d.npy --a x.npy --b w.npy --kernel nvjet_sm90_hsh_64x8_64x16_2x4_h_bz_NNT
      only schedules that fit the name of the kernel in a profile
  tcnum gemm match --match-all captures.safetensors
      every product of a file

More: docs/gemm-match.md";

/// Finds the schedules that give a D in every bit (exit status 1: none does).
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(mut_arg("instruction", |option| with_default(option, "any")))]
pub(super) struct Arguments {
    /// D, m x n: FILE.npy or FILE.safetensors:NAME
    #[arg(value_name = "FILE", value_parser = array_file, required_unless_present = "match_all", requires_all = ["a", "b"])]
    matched: Option<ArrayFile>,
    /// Recognise every product of this file, which tcnum.capture wrote
    #[arg(long, value_name = "FILE.safetensors", help_heading = "What",
        conflicts_with_all = ["matched", "a", "b", "c", "bias", "scale_a", "scale_b", "apart", "schedule_out", "kernels"])]
    match_all: Option<PathBuf>,
    #[command(flatten)]
    models: SearchedModels,
    #[command(flatten)]
    instruction: OneInstruction,
    /// Name of a kernel in a profile of the product (repeatable)
    #[arg(long = "kernel", value_name = "NAME", help_heading = "What")]
    kernels: Vec<String>,
    #[command(flatten)]
    operands: Operands,
    #[command(flatten)]
    additions: Additions,
    #[command(flatten)]
    apart: Apart,
    #[command(flatten)]
    schedule_out: ScheduleOut,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let instructions: Vec<Instruction> =
        arguments.instruction.iter().map(|name| product::instruction(name)).collect::<Result<_>>()?;
    let source = arguments.operands.source(Some(&arguments.additions), None);
    let suspects = Suspects {
        models: arguments.models.names(),
        instructions,
        factors: source.scale_factors(),
        turn: None,
        kernels: KernelNames::of(&arguments.kernels),
    };
    let request = Request { suspects, separates: arguments.apart.is_some() };
    let progress = Progress::new(&arguments.destination);
    if let Some(path) = &arguments.match_all {
        return run_all(path, &request, &progress, report);
    }
    let file =
        arguments.matched.as_ref().ok_or_else(|| Error::request("D is missing; name its file, or use --match-all"))?;
    let (factors, d) = source.for_match(request.suspects.instructions.first(), file, &mut report.notes)?;
    let kernels = &request.suspects.kernels;
    let against =
        kernels.of_request(factors.c.is_some(), factors.bias.is_some()).filter(|contradiction| !contradiction.assumed);
    report.notes.extend(against.map(|contradiction| format!("{}.", contradiction.sentence.trim_end_matches('.'))));
    if !arguments.kernels.is_empty() && !kernels.is_known() {
        report.notes.push(format!("{}.", kernels.sentence().trim_end_matches('.')));
    }
    let mut recognised = Recognised::default();
    let outcome = matching::search(&request, &factors, &d, &mut recognised, &|what| progress.step(what));
    matching::report(&recognised, &factors, &d, file.label(), report);
    let first = recognised.first().map(|first| &first.schedule);
    let kept = write_schedule(arguments.schedule_out.as_ref(), first);
    let written = match arguments.apart.as_ref().filter(|_| outcome.is_ok()) {
        Some(path) => {
            let written = recognised.apart.as_ref().map_or(Ok(()), |apart| write_operands(path, &apart.factors));
            written.map(|()| report.notes.push(recognised.apart_note(path)))
        }
        None => Ok(()),
    };
    outcome.and(kept).and(written)
}

/// Recognises every product of a file.
fn run_all(path: &std::path::Path, request: &Request, progress: &Progress, report: &mut Report) -> Result<()> {
    let captures = Captures::open(path)?;
    let mut rows = Vec::new();
    let outcome = matching::captured(&captures, request, &mut rows, &|what| progress.step(what));
    let libraries: Vec<String> =
        captures.libraries().iter().map(|(name, version)| format!("{name} {version}")).collect();
    if !libraries.is_empty() {
        report.notes.push(format!("Captured with {}.", libraries.join(", ")));
    }
    report.holds = rows.iter().all(matching::CaptureRow::is_found);
    report.verdict = Verdict::Unmatched;
    report.answer = (!rows.is_empty()).then(|| matching::captures_answer(&rows));
    report.tables.extend(Table::of("Captured products", rows).filled());
    outcome
}
