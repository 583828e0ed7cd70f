//! Choosing instructions from `--instr`, `--fmt` and `--all`.

use clap::Args;

use crate::{
    Error, Result,
    arithmetic::{Model, named},
    device::{Device, DeviceName, Generation, cpu},
    format,
    isa::{self, Instruction},
    report::{Report, Verdict},
};

/// Which instructions a command runs.
#[derive(Args, Debug, Clone)]
pub(crate) struct Selection {
    /// An instruction: its canonical name, the vendor's full spelling, the name of its machine code (HMMA.16816.F32), or a TOML file
    /// that describes one of your own (docs/exec.md); may be repeated.
    #[arg(long = "instr", value_name = "NAME")]
    pub instructions: Vec<String>,
    /// The mma instructions of this operand format with the largest k, one for each format of D; of a processor, all that multiply
    /// it; may be repeated.
    #[arg(long = "fmt", value_name = "FORMAT")]
    pub formats: Vec<String>,
    /// Every instruction; of a GPU, every one that it is programmed for; of a processor, every one that it has.
    #[arg(long, conflicts_with_all = ["instructions", "formats"])]
    pub all: bool,
}

impl Selection {
    /// The chosen instructions: those of `--instr`, then those of `--fmt`, or all that `device` may have; `default`
    /// stands for `--fmt` where nothing was chosen.
    ///
    /// # Errors
    /// Unknown names, with the nearest; formats that no `mma` instruction multiplies.
    pub(crate) fn instructions(&self, default: &[&str], device: Option<&DeviceName>) -> Result<Vec<Instruction>> {
        let on_processor = device == Some(&DeviceName::Cpu);
        if self.all && on_processor {
            return Ok(isa::all().iter().filter(|i| cpu::has(i).is_ok()).cloned().collect());
        }
        if self.all {
            let gpu = device.is_none_or(|name| matches!(name, DeviceName::Cuda(_) | DeviceName::AllGpus));
            return Ok(isa::all().iter().filter(|i| !gpu || i.missing().is_none()).cloned().collect());
        }
        let mut chosen = self.instructions.iter().map(|name| isa::resolve(name)).collect::<Result<Vec<_>>>()?;
        let nothing = self.instructions.is_empty() && self.formats.is_empty();
        let formats: Vec<&str> =
            if nothing { default.to_vec() } else { self.formats.iter().map(String::as_str).collect() };
        // A processor without a unit for the default has fused multiply-adds.
        let lacks = |name: &&str| of_processor(name).is_err();
        let formats = match on_processor && nothing && !formats.is_empty() && formats.iter().all(lacks) {
            true => vec!["f32"],
            false => formats,
        };
        for name in formats {
            match on_processor {
                true => chosen.extend(of_processor(name)?),
                false => chosen.extend(of_format(name)?),
            }
        }
        Ok(chosen)
    }

    /// The device to use: the one that is named, else the default one for the chosen instructions.
    pub(crate) fn device(&self, default: &[&str], named: Option<&DeviceName>) -> DeviceName {
        let on_cpu = || {
            let chosen = self.instructions(default, Some(&DeviceName::Cpu));
            // What only processors have, this one at least says why it lacks.
            chosen.is_ok_and(|chosen| chosen.iter().any(|i| cpu::has(i).is_ok() || i.is_of_processors()))
        };
        named.cloned().unwrap_or_else(|| DeviceName::usual(on_cpu))
    }
}

/// A device by its name in reports, and its instruction if one stands behind it: `DEVICE/INSTRUCTION`.
///
/// # Errors
/// An unknown instruction.
pub(crate) fn with_instruction(text: &str) -> Result<(DeviceName, Option<Instruction>)> {
    // The names of these have no slash, so that an instruction follows the first.
    let plain = |device: &DeviceName| match device {
        DeviceName::Cpu | DeviceName::Cuda(_) => true,
        DeviceName::Model(model) => named(model).is_some(),
        _ => false,
    };
    if let Some((device, name)) = text.split_once('/')
        && let device = DeviceName::asked(device)
        && plain(&device)
    {
        return Ok((device, Some(isa::resolve(name)?)));
    }
    if let Some((device, name)) = text.rsplit_once('/')
        && let Ok(instruction) = isa::find(name)
    {
        return Ok((DeviceName::asked(device), Some(instruction)));
    }
    Ok((DeviceName::asked(text), None))
}

/// The model to compare `device` with on `instructions`, and its name: the one that is named, else
/// that of its generation; with a note where the device names it, or where it is only the default.
///
/// # Errors
/// No shipped model describes the device; no such model; a device that fails when it is asked.
pub(crate) fn model(
    named: Option<&str>,
    device: &mut dyn Device,
    instructions: &[Instruction],
) -> Result<(String, Model, Option<String>)> {
    if let Some(name) = named {
        return Ok((name.into(), Model::load(name)?, None));
    }
    // A program says which model it wants when it is asked for an instruction that it has.
    for instruction in instructions {
        if device.identity().generation != Generation::Unknown {
            break;
        }
        match device.has(instruction) {
            Err(error) if error.is_unavailable() => {}
            outcome => {
                outcome?;
                break;
            }
        }
    }
    let generation = &device.identity().generation;
    let (name, note) = generation.model(&device.identity().name)?;
    let model = Model::load(&name).map_err(|error| match generation {
        Generation::Named(_) => error.within(format!("the model that {} names", device.identity().name)),
        _ => error,
    })?;
    Ok((name, model, note))
}

/// Leaves out what the device's generation lacks or the model of a comparison does not cover, each with one note.
pub(crate) fn available(
    instructions: &mut Vec<Instruction>,
    device: &dyn Device,
    model: Option<&Model>,
    notes: &mut Vec<String>,
) {
    if let Generation::Target(target) = device.identity().generation {
        let left_out = left_out(instructions, |i| i.support_on(target.name).is_some());
        notes.extend(left_out.map(|count| format!("Left out: {count} that {} does not have.", target.name)));
    }
    for model in device.model().into_iter().chain(model) {
        let left_out = left_out(instructions, |i| model.rule(i).is_some());
        let left_out = left_out.map(|count| {
            format!("Left out: {count} that the model '{}' does not cover; {}.", model.name, model.listed())
        });
        notes.extend(left_out);
    }
}

/// Marks the report of a command that ran none of its instructions: what it claims does not hold. A note says so, unless one says
/// already that a signal came first.
pub(crate) fn nothing(report: &mut Report, device: &dyn Device) {
    report.holds = false;
    report.verdict = Verdict::Nothing;
    if report.interrupted.is_none() {
        let name = &device.identity().name;
        report.notes.insert(0, format!("Nothing was executed: {name} ran none of the chosen instructions."));
    }
}

/// Keeps those for which `kept` is true, and returns how many were removed; `None` if none was.
pub(crate) fn left_out(
    instructions: &mut Vec<Instruction>,
    mut kept: impl FnMut(&Instruction) -> bool,
) -> Option<String> {
    let before = instructions.len();
    instructions.retain(|instruction| kept(instruction));
    match before - instructions.len() {
        0 => None,
        1 => Some("1 instruction".into()),
        count => Some(format!("{count} instructions")),
    }
}

/// The instructions of this machine's processor that multiply codes of the format.
fn of_processor(name: &str) -> Result<Vec<Instruction>> {
    let format = format::find(name)?;
    let has = |i: &&Instruction| cpu::has(i).is_ok();
    let multiplies = |i: &&Instruction| i.a == format || i.b == format;
    let chosen: Vec<Instruction> = isa::all().iter().filter(multiplies).filter(has).cloned().collect();
    if chosen.is_empty() {
        return Err(Error::request(format!(
            "no unit of this processor multiplies {format} operands; `tcnum instructions --device cpu` lists what it has"
        )));
    }
    Ok(chosen)
}

/// The plain `mma` instructions whose A and B have the format, with the largest k for each pair of C and D formats.
fn of_format(name: &str) -> Result<Vec<Instruction>> {
    let format = format::find(name)?;
    let plain = |i: &&Instruction| i.family() == "mma" && i.a == format && i.b == format && i.qualifiers().count() == 0;
    let mut chosen: Vec<&Instruction> = Vec::new();
    for instruction in isa::all().iter().filter(|i| i.missing().is_none()).filter(plain).filter(|i| i.c == i.d) {
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
