//! The instruction that computes a sum.

use super::{Scheme, Sum};
use crate::{
    Error, Result,
    device::{Device, ExecutionKind},
    isa::{self, Instruction},
};

/// The families that are asked for first, in this order; then all others, in the order of the tables.
const FAMILIES: [&str; 4] = ["mma", "mfma", "wmma", "wgmma"];

/// A scheme on a device: the instruction of each sum, and how they are executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The instructions, one for each sum.
    pub instructions: Vec<Instruction>,
    /// How the device executes them: different kinds once each.
    pub executions: Vec<ExecutionKind>,
}

impl Unit {
    /// What computes a scheme on a device: of `like` the shape, if one is named, else the first that the device has: mma, mfma, wmma, wgmma,
    /// others, each with the largest k first.
    ///
    /// # Errors
    /// A request error: a format that `like` lacks, or a device that has no instruction; the errors of the device.
    pub fn of(scheme: &Scheme, device: &mut dyn Device, like: Option<&Instruction>) -> Result<Unit> {
        let mut unit = Unit { instructions: Vec::new(), executions: Vec::new() };
        for sum in &scheme.sums {
            let formats = scheme.formats(sum);
            let known = unit.instructions.iter().find(|own| [own.a, own.b] == formats).cloned();
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
}

/// Whether an instruction computes a sum of a scheme.
fn computes(scheme: &Scheme, sum: &Sum, i: &Instruction) -> bool {
    [i.a, i.b] == scheme.formats(sum)
        && i.d == scheme.accumulator
        && i.c == i.d
        && !i.is_sparse()
        && i.scale.is_none()
        && !i.saturate
        && !i.xor
}

/// The instruction itself; of integers, that of its shape which multiplies the digits of a sum.
fn of_shape(scheme: &Scheme, sum: &Sum, like: &Instruction) -> Result<Instruction> {
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

/// The first that the device has.
fn first(scheme: &Scheme, sum: &Sum, device: &mut dyn Device) -> Result<Instruction> {
    let rank = |i: &Instruction| FAMILIES.iter().position(|family| *family == i.family()).unwrap_or(FAMILIES.len());
    let mut candidates: Vec<&Instruction> = isa::all().iter().filter(|i| computes(scheme, sum, i)).collect();
    candidates.sort_by_key(|i| (rank(i), std::cmp::Reverse(i.k)));
    for candidate in candidates {
        match device.has(candidate) {
            Ok(()) => return Ok(candidate.clone()),
            Err(error) if error.is_unavailable() => (),
            Err(error) => return Err(error),
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
