//! Choosing instructions from `--instr`, `--fmt` and `--all`.

use clap::Args;

use crate::{
    Error, Result, format,
    isa::{self, Instruction},
};

/// Which instructions a command runs.
#[derive(Args, Debug, Clone)]
pub struct Selection {
    /// An instruction, by its canonical name or vendor's full spelling; may be repeated.
    #[arg(long = "instr", value_name = "NAME")]
    pub instructions: Vec<String>,
    /// The mma instructions of this operand format with the largest k, one for each format of D; may be repeated.
    #[arg(long = "fmt", value_name = "FORMAT")]
    pub formats: Vec<String>,
    /// Every instruction that can be executed.
    #[arg(long, conflicts_with_all = ["instructions", "formats"])]
    pub all: bool,
}

impl Selection {
    /// The chosen instructions: those of `--instr`, then those of `--fmt`, or all of them; `default` stands for
    /// `--fmt` where nothing was chosen.
    ///
    /// # Errors
    /// Unknown names, with the nearest; instructions that no kernel executes yet; formats that no executed
    /// instruction multiplies.
    pub fn instructions(&self, default: &[&str]) -> Result<Vec<Instruction>> {
        let executed = || isa::all().iter().filter(|i| i.missing().is_none());
        if self.all {
            return Ok(executed().cloned().collect());
        }
        let mut chosen = Vec::new();
        for name in &self.instructions {
            let instruction = isa::find(name)?;
            if let Some(missing) = instruction.missing() {
                return Err(Error::request(format!(
                    "{instruction} cannot be executed: {missing}. It exists on {}",
                    instruction.architectures()
                )));
            }
            chosen.push(instruction);
        }
        let nothing = self.instructions.is_empty() && self.formats.is_empty();
        let formats: Vec<&str> =
            if nothing { default.to_vec() } else { self.formats.iter().map(String::as_str).collect() };
        for name in formats {
            chosen.extend(of_format(name, executed())?);
        }
        Ok(chosen)
    }
}

/// The plain `mma` instructions whose A and B have the format, with the largest k for each pair of C and D formats.
fn of_format<'a>(name: &str, executed: impl Iterator<Item = &'a Instruction>) -> Result<Vec<Instruction>> {
    let format = format::find(name)?;
    let plain = |i: &&Instruction| i.family() == "mma" && i.a == format && i.b == format && i.qualifiers().count() == 0;
    let mut chosen: Vec<&Instruction> = Vec::new();
    for instruction in executed.filter(plain).filter(|i| i.c == i.d) {
        match chosen.iter_mut().find(|other| other.d == instruction.d) {
            Some(other) if other.k < instruction.k => *other = instruction,
            Some(_) => {}
            None => chosen.push(instruction),
        }
    }
    if chosen.is_empty() {
        return Err(Error::request(format!(
            "no executed mma instruction multiplies {format} operands; those of f16, bf16, tf32, f64, e4m3, e5m2, s8 and u8 \
             are, and `tcnum instructions` lists all"
        )));
    }
    Ok(chosen.into_iter().cloned().collect())
}
