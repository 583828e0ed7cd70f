//! Choice of the instruction for each sum of a scheme.

use super::{PartSum, Scheme};
use crate::{
    Error, Result,
    base::{available::if_available, distinct::distinct},
    device::{Device, ExecutionKind},
    isa::{self, Instruction},
};

/// Preferred families, in this order; other families follow in the order of the tables.
const FAMILIES: [&str; 4] = ["mma", "mfma", "wmma", "wgmma"];

/// A scheme on a device: the instruction of each sum, and the kinds of execution.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemeUnit {
    /// The instructions, one for each sum.
    pub instructions: Vec<Instruction>,
    /// The kinds of execution, each once.
    pub executions: Vec<ExecutionKind>,
}

impl SchemeUnit {
    /// The instructions of a scheme on a device: the shape of `like`, or the first that the device has.
    ///
    /// The order is mma, mfma, wmma, wgmma, others; within a family the largest k comes first.
    ///
    /// # Errors
    /// A request error: a format that `like` lacks, or a device that has no instruction; the errors of the device.
    pub fn of(scheme: &Scheme, device: &mut dyn Device, like: Option<&Instruction>) -> Result<SchemeUnit> {
        let mut unit = SchemeUnit { instructions: Vec::new(), executions: Vec::new() };
        for sum in &scheme.sums {
            let formats = scheme.formats(sum);
            let known = unit.instructions.iter().find(|instruction| [instruction.a, instruction.b] == formats).cloned();
            let instruction = match (known, like) {
                (Some(known), _) => known,
                (None, Some(like)) => of_shape(scheme, sum, like)?,
                (None, None) => first(scheme, sum, device)?,
            };
            let kind = device.prepare(&instruction)?.kind;
            if !unit.executions.contains(&kind) {
                unit.executions.push(kind);
            }
            unit.instructions.push(instruction);
        }
        Ok(unit)
    }

    /// The unit of each scheme on each device; `None` where it lacks an instruction, unless `required`.
    ///
    /// # Errors
    /// As [`SchemeUnit::of`].
    pub fn of_each(
        schemes: &[Scheme],
        devices: &mut [Box<dyn Device>],
        like: Option<&Instruction>,
        required: bool,
    ) -> Result<Vec<Vec<Option<SchemeUnit>>>> {
        let one = |scheme: &Scheme, device: &mut Box<dyn Device>| {
            let unit = SchemeUnit::of(scheme, device.as_mut(), like);
            if required { unit.map(Some) } else { if_available(unit) }
        };
        schemes.iter().map(|scheme| devices.iter_mut().map(|device| one(scheme, device)).collect()).collect()
    }

    /// The names of the instructions, each once.
    pub fn names(&self) -> Vec<String> {
        distinct(self.instructions.iter().map(|instruction| instruction.name.clone()))
    }
}

/// True if an instruction computes a sum of a scheme.
fn computes(scheme: &Scheme, sum: &PartSum, i: &Instruction) -> bool {
    [i.a, i.b] == scheme.formats(sum)
        && i.d == scheme.accumulator
        && i.c == i.d
        && !i.is_sparse()
        && i.scale.is_none()
        && !i.saturate
        && !i.xor
}

/// The instruction itself; for integers, the one of its shape that multiplies the digits of a sum.
fn of_shape(scheme: &Scheme, sum: &PartSum, like: &Instruction) -> Result<Instruction> {
    let shape = |i: &Instruction| (i.family().to_string(), i.m, i.n, i.k);
    let alike = |i: &&Instruction| scheme.is_integer() && shape(i) == shape(like);
    let mut candidates = std::iter::once(like).chain(isa::all().iter().filter(alike));
    candidates.find(|i| computes(scheme, sum, i)).cloned().ok_or_else(|| {
        let [a, b] = scheme.formats(sum);
        Error::unavailable(format!(
            "{like} does not multiply {a} by {b} and add in {}, as the scheme {} does",
            scheme.accumulator, scheme.name
        ))
    })
}

fn first(scheme: &Scheme, sum: &PartSum, device: &mut dyn Device) -> Result<Instruction> {
    let rank = |i: &Instruction| FAMILIES.iter().position(|family| *family == i.family()).unwrap_or(FAMILIES.len());
    let mut candidates: Vec<&Instruction> = isa::all().iter().filter(|i| computes(scheme, sum, i)).collect();
    candidates.sort_by_key(|i| (rank(i), std::cmp::Reverse(i.k)));
    for candidate in candidates {
        if if_available(device.has(candidate))?.is_some() {
            return Ok(candidate.clone());
        }
    }
    let [a, b] = scheme.formats(sum);
    Err(Error::unavailable(format!(
        "{} has no instruction for the scheme {}, which multiplies {a} by {b} and adds in {}",
        device.identity().name,
        scheme.name,
        scheme.accumulator
    )))
}
