//! `--instr`, `--fmt` and `--all`.

use std::time::Duration;

use clap::Args;

use super::{progress::Progress, shared::Instructions};
pub(crate) use crate::device::selection::{available, left_out, model, with_instruction};
use crate::{
    Result, Stage,
    comparison::OneNan,
    device::{self, Device, DeviceName, selection::InstructionChoice},
    isa::Instruction,
    report::{Report, Verdict},
};

/// Instructions that a verb runs.
#[derive(Args, Debug, Clone)]
pub(crate) struct Selection {
    #[command(flatten)]
    pub(crate) instructions: Instructions,
    /// Operand format: its mma instructions of largest k (repeatable)
    #[arg(long = "fmt", value_name = "FORMAT", help_heading = "What")]
    pub formats: Vec<String>,
    /// Every instruction that the device may have
    #[arg(long, conflicts_with_all = ["instructions", "formats"], help_heading = "What")]
    pub all: bool,
}

impl Selection {
    /// True if nothing is chosen.
    pub(crate) fn is_empty(&self) -> bool {
        !self.all && self.instructions.is_empty() && self.formats.is_empty()
    }

    fn choice(&self) -> InstructionChoice<'_> {
        InstructionChoice { names: &self.instructions, formats: &self.formats, all: self.all }
    }

    /// The chosen instructions (see [`InstructionChoice::instructions`]).
    ///
    /// # Errors
    /// Unknown names; formats that no instruction multiplies.
    pub(crate) fn instructions(&self, default: &[&str], device: Option<&DeviceName>) -> Result<Vec<Instruction>> {
        self.choice().instructions(default, device)
    }

    /// The named device, else the usual one for the chosen instructions.
    pub(crate) fn device(&self, default: &[&str], named: Option<&DeviceName>) -> DeviceName {
        self.choice().device(default, named)
    }

    /// The opened device and the chosen instructions; with `--all` a note names those that it lacks.
    ///
    /// # Errors
    /// Unknown names; the device cannot be opened.
    pub(crate) fn opened(
        &self,
        named: Option<&DeviceName>,
        timeout: Duration,
        any_nan: bool,
        notes: &mut Vec<String>,
    ) -> Result<(Box<dyn Device>, Vec<Instruction>)> {
        let name = self.device(&["bf16"], named);
        let mut instructions = self.instructions(&["bf16"], Some(&name))?;
        let device = opened(&name, timeout, any_nan)?;
        if self.all {
            available(&mut instructions, device.as_ref(), None, notes);
        }
        Ok((device, instructions))
    }

    /// Asks the device about each instruction, with progress.
    ///
    /// With `--all` a refused instruction is a note. Returns what was found until
    /// an error, and the error.
    pub(crate) fn each<T>(
        &self,
        progress: &Progress,
        device: &mut dyn Device,
        instructions: &[Instruction],
        notes: &mut Vec<String>,
        ask: impl FnOnce(&mut dyn Device, &mut dyn FnMut(&Instruction, Result<T>) -> Result<()>) -> Result<()>,
    ) -> (Vec<T>, Result<()>) {
        let mut results = Vec::new();
        let (mut done, total) = (0, instructions.len() as u64);
        let what = format!("asking {}", device.identity().name);
        progress.at(Stage { what: &what, done, total });
        let outcome = ask(device, &mut |_, outcome| {
            match outcome {
                Err(error) if self.all && error.exit_status() == 2 => notes.push(error.to_string()),
                outcome => results.push(outcome?),
            }
            done += 1;
            progress.at(Stage { what: &what, done, total });
            Ok(())
        });
        (results, outcome)
    }
}

/// Opens a device; all its NaN codes count as equal if `any_nan`.
///
/// # Errors
/// The device cannot be opened.
pub(crate) fn opened(name: &DeviceName, timeout: Duration, any_nan: bool) -> Result<Box<dyn Device>> {
    let device = device::open(Some(name), timeout)?;
    Ok(if any_nan { Box::new(OneNan(device)) } else { device })
}

/// Marks the report of a command that ran none of its instructions, unless a signal came first.
pub(crate) fn nothing(report: &mut Report, device: &dyn Device) {
    report.holds = false;
    report.verdict = Verdict::Nothing;
    if report.interrupted.is_none() {
        let name = &device.identity().name;
        report.notes.insert(0, format!("Nothing was executed: {name} ran none of the chosen instructions."));
    }
}
