//! What the near values of keys depend on of an instruction.

use super::language::setting::Place;
use crate::{
    format::{Class, Format},
    isa::Instruction,
};

impl Place {
    /// The arithmetic of a rule for `instruction`.
    pub fn of(instruction: &Instruction) -> Place {
        Place { d: instruction.d, stored_k: instruction.stored_k(), nans: nans(instruction.d) }
    }
}

/// Some NaNs of a format, each once: of either sign, with all bits set and with only the first.
fn nans(d: &Format) -> Vec<String> {
    let (all, sign) = (d.code_mask(), 1u64 << (d.bits - 1));
    // The code of exponent all ones and fraction zero.
    let infinity = (all >> 1) & !((1 << d.fraction_bits()) - 1);
    let quiet = d.float().map_or(0, |_| infinity | 1 << d.fraction_bits().saturating_sub(1));
    let mut named: Vec<String> = Vec::new();
    for code in [quiet, quiet | sign, all & !sign, all].into_iter().filter(|code| d.decode(*code).class == Class::Nan) {
        let name = d.hex(code);
        if !named.contains(&name) {
            named.push(name);
        }
    }
    named
}
