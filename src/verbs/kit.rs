//! `tcnum kit`: a program that a stranger runs.

use std::path::PathBuf;

use clap::Args;

use super::{OutputDestination, Progress, Verb, options::integer, select::Selection, shared::Seed};
use crate::{
    Error, Result,
    base::atomic,
    kit::{self, KitInputs, Language},
    report::Report,
    trace::Trace,
};

const HELP: &str = "\
Examples:
  tcnum kit --instr mma.m16n8k32.f32.e4m3.e4m3.f32 --out kit.cu
  tcnum kit --instr mma.m16n8k32.f32.e4m3.e4m3.f32 --tiles 64 --out kit.cu
      more tiles, for a unit that computes as no known one
  tcnum kit --instr tdpbf16ps.m16n16k32.f32.bf16.bf16.f32 --out kit.c
      a program for processors; kit.hip is one for AMD GPUs
  tcnum kit --inputs questions.safetensors --out next.cu
      the inputs that `tcnum identify --ask` wrote

More: docs/kit.md";

/// Writes a program that runs the few inputs that tell arithmetics apart.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Fewest tiles of an instruction; corners and random tiles are added
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=4096_u32), help_heading = "Inputs")]
    tiles: u32,
    /// Answer the operands of this trace, such as one of `tcnum identify --ask`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tiles"], help_heading = "Inputs")]
    inputs: Option<PathBuf>,
    #[command(flatten)]
    seed: Seed,
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

/// Chooses the inputs and writes the program.
///
/// # Errors
/// No instruction or no file is named; there is no kernel for an instruction; the file cannot be written; an interruption.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let Some(file) = arguments.destination.out.as_deref() else {
        return Err(Error::request("no file is named; give --out FILE, with the ending .cu, .py, .hip or .c"));
    };
    arguments.destination.one_file()?;
    let language = Language::of(file)?;
    let kits: Vec<KitInputs> = match &arguments.inputs {
        Some(_) if !arguments.selection.is_empty() => {
            return Err(Error::request("--inputs: the file has one instruction; leave out --instr, --fmt and --all"));
        }
        Some(inputs) => vec![KitInputs::of_trace(&Trace::read_inputs(inputs)?)],
        None => {
            let instructions = arguments.selection.instructions(&[], None)?;
            if instructions.is_empty() {
                return Err(Error::request("no instruction is chosen; give --instr or --fmt"));
            }
            let progress = Progress::new(&arguments.destination);
            let chosen = instructions.iter().map(|instruction| {
                progress.step(&format!("choosing inputs of {instruction}"));
                kit::inputs(instruction, arguments.tiles as usize, *arguments.seed)
            });
            chosen.collect::<Result<Vec<_>>>()?
        }
    };
    let text = kit::program(language, &kits)?;
    atomic::write(file, text.as_bytes()).map_err(|error| error.within("--out"))?;
    report.seed = Some(*arguments.seed);
    report.answer = Some(kit::answer(&file.display().to_string(), &kits));
    report.tables = vec![kit::table(&kits)];
    Ok(())
}
