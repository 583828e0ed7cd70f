//! Two devices, compared on several instructions.

use super::{DeviceInstruction, DifferenceReason, Distinction, SearchLimits, distinguish, tables::NamedSide};
use crate::{
    Result, Stage,
    device::{Device, DeviceName},
    isa::Instruction,
};

/// Two devices, and the instructions on which they are compared.
pub struct DevicePair {
    /// The names by which the devices were asked for.
    pub names: [DeviceName; 2],
    /// The devices.
    pub devices: [Box<dyn Device>; 2],
    /// The instruction of each device, for each comparison.
    pub instructions: Vec<[Instruction; 2]>,
}

/// The comparison of two devices on one instruction each.
pub struct InstructionDistinction {
    /// Both devices and instructions.
    pub sides: [NamedSide; 2],
    /// How they differ.
    pub distinction: Distinction,
    /// The cause, where rules of devices were looked for.
    pub cause: Option<DifferenceCause>,
}

/// The cause of a difference of devices: the keys in which their identified rules differ.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceCause {
    /// A reason for each key; empty where one rule was found for both.
    pub reasons: Vec<DifferenceReason>,
    /// For each side whose rule is only the nearest: the outputs that the rule misses, in words.
    pub nearest: [Option<String>; 2],
}

impl DevicePair {
    /// Compares the devices on each pair of instructions, and adds each comparison to `distinctions`.
    ///
    /// # Errors
    /// A device that fails, or an interruption; the comparisons until then are in `distinctions`.
    pub fn distinguish(
        &mut self,
        limits: &SearchLimits,
        progress: &mut dyn FnMut(Stage),
        distinctions: &mut Vec<InstructionDistinction>,
    ) -> Result<()> {
        let [x, y] = &self.names;
        let total = self.instructions.len() as u64;
        for (number, [one, other]) in self.instructions.iter().enumerate() {
            progress(Stage { what: &format!("comparing {x}/{one} with {y}/{other}"), done: number as u64, total });
            let [first, second] = &mut self.devices;
            let sides = [NamedSide::new(x, first.as_ref(), one), NamedSide::new(y, second.as_ref(), other)];
            let distinction = distinguish(
                DeviceInstruction { device: first.as_mut(), instruction: one },
                DeviceInstruction { device: second.as_mut(), instruction: other },
                limits,
            )?;
            let stopped = distinction.stopped.clone();
            distinctions.push(InstructionDistinction { sides, distinction, cause: None });
            stopped.map_or(Ok(()), Err)?;
        }
        Ok(())
    }
}
