//! Roundings of f32 operands to those of an instruction, and which of them D can come from.

use std::collections::BTreeMap;

use super::{
    Suspects,
    candidates::in_formats,
    elements::{error, few},
};
use crate::{
    Result,
    format::{Format, Rounding},
    isa::Instruction,
    product::{Factors, Matrix, OperandRounding, Schedule, schedule::ScaleBlocks},
};

/// Largest error of D against operands that were rounded in one way, over the error of the best way.
///
/// The right operands are usually some hundred times nearer than others.
const WORSE: f64 = 16.0;
/// Roundings of f32 to tf32: the unit's own, which ignores the low bits, and those of programs.
const TO_TF32: [Option<Rounding>; 3] = [None, Some(Rounding::Rne), Some(Rounding::Rna)];
/// The rounding of f32 to other formats.
const TO_OTHERS: [Option<Rounding>; 1] = [Some(Rounding::Rne)];
/// No rounding.
const NONE: [Option<Rounding>; 1] = [None];

/// The formats of A and B, and the rounding to them.
type Form = ([&'static str; 2], Option<&'static str>);

/// The roundings that D can come from.
pub(super) struct Roundings {
    format: &'static Format,
    /// The mean error of D against sums of operands of each form.
    errors: BTreeMap<Form, f64>,
}

impl Roundings {
    /// Compares D with sums of operands that are rounded for each of some instructions.
    ///
    /// # Errors
    /// [`Interrupted`](crate::Error::Interrupted).
    pub(super) fn of<'i>(
        suspects: &Suspects,
        factors: &Factors,
        d: &Matrix,
        blocks: Option<&ScaleBlocks>,
        instructions: impl Iterator<Item = &'i Instruction>,
    ) -> Result<Roundings> {
        let mut roundings = Roundings { format: factors.a.format, errors: BTreeMap::new() };
        let (factors, d) = few(factors, d, blocks);
        for i in instructions {
            for rounding in roundings.all(&factors, i).iter().copied() {
                let form = form(i, rounding);
                if roundings.errors.contains_key(&form) {
                    continue;
                }
                // The unit's own rounding ignores the low bits.
                let operands = OperandRounding { format: roundings.format, rounding: rounding.unwrap_or(Rounding::Rz) };
                let schedule = Schedule { operands: Some(operands), ..Schedule::new(i.clone())? };
                roundings.errors.insert(form, error(suspects, &in_formats(&factors, &schedule)?, &d)?);
            }
        }
        Ok(roundings)
    }

    /// The roundings for an instruction.
    pub(super) fn possible(&self, factors: &Factors, i: &Instruction) -> Vec<Option<OperandRounding>> {
        let least = self.errors.values().copied().fold(f64::INFINITY, f64::min);
        let near = |rounding: &Option<Rounding>| {
            self.errors.get(&form(i, *rounding)).is_none_or(|error| error.is_nan() || *error <= WORSE * least)
        };
        let of = |rounding: Rounding| OperandRounding { format: self.format, rounding };
        self.all(factors, i).iter().filter(|rounding| near(rounding)).map(|rounding| rounding.map(of)).collect()
    }

    fn all(&self, factors: &Factors, i: &Instruction) -> &'static [Option<Rounding>] {
        let changed = |matrix: &Matrix, wanted: &Format| {
            let padding = wanted.float().map_or(0, |float| (1u64 << float.padding_bits) - 1);
            matrix.format != wanted && matrix.codes.iter().any(|code| code & padding != 0)
        };
        match (i.a.name, changed(&factors.a, i.a) || changed(&factors.b, i.b)) {
            ("tf32", true) => &TO_TF32,
            ("tf32", false) => &NONE,
            _ if (factors.a.format, factors.b.format) == (i.a, i.b) => &NONE,
            _ => &TO_OTHERS,
        }
    }
}

fn form(i: &Instruction, rounding: Option<Rounding>) -> Form {
    ([i.a.name, i.b.name], rounding.map(|rounding| rounding.name()))
}
