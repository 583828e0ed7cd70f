//! `tcnum exec-check`.

use std::time::Duration;

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    options::{MAX_TIMEOUT, integer},
};
use crate::{
    Error, Result,
    device::{exec_check, exec_check_answer},
    isa::{self, Instruction},
    report::{Report, Table, Verdict},
};

/// The instructions that are offered by default: one for each form of operands.
const OFFERED: [&str; 10] = [
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "mma.m8n8k4.f64.f64.f64.f64",
    "mma.m16n8k32.f32.e4m3.e5m2.f32",
    "mma.m16n8k32.s32.s8.u8.s32.satfinite",
    "mma.sp.m16n8k32.s32.s8.u8.s32.ordered",
    "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16",
    "mfma.32x32x8.f32.f16.f16.f32",
];

/// Checks that a program speaks the protocol of exec: devices, which docs/exec.md describes.
///
/// Example: tcnum exec-check --instr mma.m16n8k16.f32.f16.f16.f32 python3 examples/exec/sequential.py
///
/// Offers the program instructions, and checks what it answers: to the greeting, to batches of several sizes, to zeros, to the
/// same tiles backward, many of whose results are rounded, to an instruction that does not exist; and that it ends when it should. Exit
/// status 1 if a check fails.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// An instruction to offer, by name or by a file that describes it, or a matrix product (gemm.m4n4k64.f32); may be repeated. Without it: one of each form of operands, of
    /// which the program may decline all but one.
    #[arg(long = "instr", value_name = "NAME")]
    instructions: Vec<String>,
    /// Seed of the tiles.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX))]
    seed: u64,
    /// Seconds that the program may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// The program and its arguments, as words or as one quoted line; options of exec-check stand before them.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

/// The instruction or the matrix product of this name, whose tiles can be drawn.
fn offer(name: &str) -> Result<Instruction> {
    let offered = isa::gemm(name).unwrap_or_else(|| isa::resolve(name))?;
    match isa::can_be_drawn(&offered) {
        true => Ok(offered),
        false => {
            Err(Error::request(format!("{offered}: tiles are drawn for k of 1, 2, 4 and so on up to 128; choose k so")))
        }
    }
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
    let named: Vec<&str> = arguments.instructions.iter().map(String::as_str).collect();
    let offered = if named.is_empty() { &OFFERED[..] } else { &named };
    let instructions = offered.iter().map(|name| offer(name)).collect::<Result<Vec<_>>>()?;
    let progress = Progress::new(&arguments.destination);
    progress.step(&format!("checking {}", arguments.command.join(" ")));
    let timeout = Duration::from_secs(arguments.timeout);
    let mut rows = Vec::new();
    let outcome = exec_check(&arguments.command, timeout, &instructions, !named.is_empty(), arguments.seed, &mut rows);
    report.seed = Some(arguments.seed);
    report.answer = exec_check_answer(&rows, outcome.is_ok());
    report.holds = rows.iter().all(|row| row.passed);
    report.verdict = Verdict::Failed;
    report.tables.push(Table::of("Checks of the exec protocol", rows));
    outcome
}
