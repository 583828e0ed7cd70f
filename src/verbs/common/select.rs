//! `--instr`, `--fmt` and `--all`.

use clap::Args;

pub(crate) use crate::device::selection::{available, left_out, model, with_instruction};
use crate::{
    Result,
    device::{Device, DeviceName, selection::InstructionChoice},
    isa::Instruction,
    report::{Report, Verdict},
};

/// Instructions that a verb runs.
#[derive(Args, Debug, Clone)]
pub(crate) struct Selection {
    /// Instruction: name, PTX or machine code, or a TOML file (repeatable)
    #[arg(long = "instr", value_name = "NAME", help_heading = "What")]
    pub instructions: Vec<String>,
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
