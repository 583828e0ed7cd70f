//! Which curves a request means.

use super::Init;
use crate::{
    Error, Result,
    device::{Device, Execution},
    format::{self, Format},
    isa::{self, Instruction},
};

/// The instructions of the published figure.
const DEFAULT: [&str; 3] =
    ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"];

/// Which instructions are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// These instructions, and the instruction that stands for each of these formats; if there is neither, the
    /// instructions of the published figure: mma.m16n8k8 with f32 accumulators and bf16, f16 and tf32 operands.
    Named {
        /// Names of instructions.
        instructions: Vec<String>,
        /// Names of formats.
        formats: Vec<String>,
    },
    /// Every instruction that the device executes.
    All,
}

/// The instructions that `selection` means, each once, with how `device` executes it.
///
/// # Errors
/// A request error for an unknown name, an instruction that is not executed yet or that the device does not have;
/// the device's own errors.
pub fn instructions(selection: &Selection, device: &mut dyn Device) -> Result<Vec<(Instruction, Execution)>> {
    let named: Vec<Instruction> = match selection {
        Selection::All => return all(device),
        Selection::Named { instructions, formats } if instructions.is_empty() && formats.is_empty() => {
            DEFAULT.iter().map(|name| isa::find(name)).collect::<Result<_>>()?
        }
        Selection::Named { instructions, formats } => {
            let by_name = instructions.iter().map(|name| isa::find(name));
            let by_format = formats.iter().map(|name| format::find(name).and_then(for_format));
            by_name.chain(by_format).collect::<Result<_>>()?
        }
    };
    let mut found: Vec<(Instruction, Execution)> = Vec::new();
    for instruction in named {
        if let Some(missing) = instruction.missing() {
            return Err(Error::request(format!("{instruction} cannot be run: {missing}")));
        }
        if found.iter().all(|(known, _)| *known != instruction) {
            let execution = device.prepare(&instruction)?;
            found.push((instruction, execution));
        }
    }
    Ok(found)
}

/// Every executed instruction that the device has.
fn all(device: &mut dyn Device) -> Result<Vec<(Instruction, Execution)>> {
    let mut found = Vec::new();
    for instruction in isa::all().iter().filter(|i| i.missing().is_none()) {
        match device.prepare(instruction) {
            Ok(execution) => found.push((instruction.clone(), execution)),
            Err(Error::Request { .. }) => (),
            Err(error) => return Err(error),
        }
    }
    if found.is_empty() {
        return Err(Error::request(format!("{} has none of the instructions", device.identity().name)));
    }
    Ok(found)
}

/// The instruction that stands for an operand format: the unqualified `mma` form with the widest D, of the
/// published shape m16n8k8 if it exists, else the first in the table.
fn for_format(format: &'static Format) -> Result<Instruction> {
    isa::all()
        .iter()
        .filter(|i| i.a == format && i.b == format && i.missing().is_none())
        .filter(|i| i.family() == "mma" && i.qualifiers().next().is_none())
        .min_by_key(|i| (std::cmp::Reverse(i.d.bits), (i.m, i.n, i.k) != (16, 8, 8)))
        .cloned()
        .ok_or_else(|| {
            Error::request(format!(
                "no executed instruction has operands of format {format}; `tcnum instructions` lists those there are"
            ))
        })
}

/// The curves of `instruction` for the wanted initialisations: where these coincide and both are wanted, only `low`.
pub fn inits(instruction: &Instruction, wanted: &[Init]) -> Vec<Init> {
    if wanted.len() > 1 && Init::coincide(instruction) { vec![Init::Low] } else { wanted.to_vec() }
}
