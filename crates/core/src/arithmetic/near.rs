//! Properties of an instruction on which near values of keys depend.

use super::language::setting::Place;
use crate::{
    format::{Class, Format},
    isa::Instruction,
};

impl Place {
    /// Place of a rule for `instruction`.
    pub fn of(instruction: &Instruction) -> Place {
        let Instruction { d, scale, .. } = instruction;
        Place { d, stored_k: instruction.stored_k(), has_scales: scale.is_some(), nans: nans(d) }
    }
}

/// Some NaNs of a format without repetition: both signs, all bits set and only the first set.
fn nans(d: &Format) -> Vec<u64> {
    let (all, sign) = (d.code_mask(), 1u64 << (d.bits - 1));
    // Code of exponent all ones and fraction zero.
    let infinity = (all >> 1) & !((1 << d.fraction_bits()) - 1);
    let quiet = d.float().map_or(0, |_| infinity | 1 << d.fraction_bits().saturating_sub(1));
    let mut codes: Vec<u64> = Vec::new();
    for code in [quiet, quiet | sign, all & !sign, all].into_iter().filter(|code| d.decode(*code).class == Class::Nan) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}
