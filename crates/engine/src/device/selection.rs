//! The choice of instructions for a device, and of the model that it is compared with.

use super::{Device, DeviceName, Generation, cpu};
use crate::{
    Error, Result,
    arithmetic::{Model, named},
    format,
    isa::{self, Instruction},
};

/// Instructions by name and by operand format, or all.
#[derive(Debug, Clone, Copy)]
pub struct InstructionChoice<'a> {
    /// Names of instructions, or files that describe some.
    pub names: &'a [String],
    /// Operand formats, which stand for `mma` instructions with the largest k, or all of a processor.
    pub formats: &'a [String],
    /// All that the device may have.
    pub all: bool,
}

impl InstructionChoice<'_> {
    /// Chosen instructions, by name first; `default` lists the formats of an empty choice.
    ///
    /// # Errors
    /// Unknown names, with the nearest; formats that no `mma` instruction multiplies.
    pub fn instructions(&self, default: &[&str], device: Option<&DeviceName>) -> Result<Vec<Instruction>> {
        let on_processor = device == Some(&DeviceName::Cpu);
        if self.all && on_processor {
            return Ok(isa::all().iter().filter(|i| cpu::has(i).is_ok()).cloned().collect());
        }
        if self.all {
            let gpu = device.is_none_or(|name| matches!(name, DeviceName::Cuda(_) | DeviceName::AllGpus));
            return Ok(isa::all().iter().filter(|i| !gpu || i.missing().is_none()).cloned().collect());
        }
        let mut chosen = self.names.iter().map(|name| isa::resolve(name)).collect::<Result<Vec<_>>>()?;
        let nothing = self.names.is_empty() && self.formats.is_empty();
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

    /// The named device, else the usual one for the chosen instructions.
    pub fn device(&self, default: &[&str], named: Option<&DeviceName>) -> DeviceName {
        let on_cpu = || {
            let chosen = self.instructions(default, Some(&DeviceName::Cpu));
            // A processor says why it lacks an instruction that only processors have.
            chosen.is_ok_and(|chosen| chosen.iter().any(|i| cpu::has(i).is_ok() || i.is_of_processors()))
        };
        named.cloned().unwrap_or_else(|| DeviceName::usual(on_cpu))
    }
}

/// A device by its name in reports, and the instruction of `DEVICE/INSTRUCTION`.
///
/// # Errors
/// An unknown instruction.
pub fn with_instruction(text: &str) -> Result<(DeviceName, Option<Instruction>)> {
    // These names have no slash, so that an instruction follows the first.
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

/// The model to compare `device` with, its name, and a note where `named` does not decide it.
///
/// # Errors
/// No shipped model describes the device; no such model; a device that fails when it is asked.
pub fn model(
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

/// Removes instructions that the device lacks or the model does not cover, with a note for each.
pub fn available(
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

/// Removes instructions for which `kept` is false; their count in words, `None` if all stay.
pub fn left_out(instructions: &mut Vec<Instruction>, mut kept: impl FnMut(&Instruction) -> bool) -> Option<String> {
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

/// The plain `mma` instructions of a format, with the largest k for each pair of C and D formats.
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
            "no executed mma instruction multiplies {format} operands; f16, bf16, tf32, f64, e4m3, e5m2, s8 and u8 have one, \
             and `tcnum instructions` lists all"
        )));
    }
    Ok(chosen.into_iter().cloned().collect())
}
