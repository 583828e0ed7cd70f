//! `tcnum exec-check`.

use clap::Args;

use super::{OutputDestination, Progress, Verb, options::Timeout, shared::Seed};
use crate::{
    Result,
    comparison::Nans,
    device::{ExecDevice, exec_check, exec_check_answer, exec_check_declined_all, offered},
    report::{Report, Table, Verdict},
    verify::random::{self, RandomRequest},
};

/// Roundings whose frequencies are tested, of a unit that draws random bits.
const RANDOM_CASES: u64 = 1 << 15;

const HELP: &str = "\
Examples:
  tcnum exec-check python3 examples/exec/sequential.py
  tcnum exec-check --instr mma.m16n8k16.f32.f16.f16.f32 python3 examples/exec/sequential.py
More: docs/exec.md";

/// Checks that a program speaks the protocol of exec: devices.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    /// Instruction or product (gemm.m4n4k64.f32) to offer (repeatable)
    #[arg(long = "instr", value_name = "NAME", help_heading = "What")]
    instructions: Vec<String>,
    #[command(flatten)]
    timeout: Timeout,
    /// Program and arguments, as words or one quoted line; stands last
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        help_heading = "Device"
    )]
    command: Vec<String>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// Checks.
///
/// # Errors
/// Unknown instructions; a program that cannot be started.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let Arguments { instructions, timeout, command, seed, destination } = arguments;
    let (named, offered) = (!instructions.is_empty(), offered(instructions)?);
    let progress = Progress::new(destination);
    progress.step(&format!("checking {}", command.join(" ")));
    let mut rows = Vec::new();
    let outcome = exec_check(command, timeout.duration(), &offered, named, **seed, &mut rows);
    report.seed = Some(**seed);
    report.answer = exec_check_answer(&rows, outcome.is_ok());
    let nothing = exec_check_declined_all(&rows);
    report.holds = !nothing && rows.iter().all(|row| row.passed);
    report.verdict = if nothing { Verdict::Nothing } else { Verdict::Failed };
    report.tables.push(Table::of("Checks of the exec protocol", rows));
    let request = RandomRequest { bits: None, cases: RANDOM_CASES, seed: **seed, nans: Nans::ByCode };
    for (instruction, model) in outcome? {
        progress.step(&format!("counting roundings of {instruction}"));
        let mut device = ExecDevice::of_words(command, timeout.duration())?;
        random::verify(&mut device, &model, &instruction, request, report)?;
    }
    Ok(())
}
