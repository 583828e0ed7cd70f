//! Programs of longer instructions, reduced to the operands of a shorter one.

use crate::{
    arithmetic::{ElementaryOperation, Program, Scaling, Source, ZeroSign},
    isa::Instruction,
};

/// Reduces `program` to the k of `short`, with zeros for all further operands, where that is known.
///
/// A zero changes neither the alignment of a sum nor its value, as long as the signs of zeros do not count. Steps whose products are all
/// zero, and fused multiply-adds of zeros, are not reduced.
pub(super) fn without_zeros(program: &Program, short: &Instruction) -> Option<Program> {
    let stored = short.stored_k();
    let mut program = Program { instruction: short.clone(), ..program.clone() };
    let signed = program.operations().filter_map(ElementaryOperation::destination).any(|to| to.zero == ZeroSign::Ieee);
    if signed {
        return None;
    }
    let used: Vec<Source> =
        program.operations().flat_map(ElementaryOperation::sources).chain([program.output.value]).collect();
    for (number, step) in program.steps.iter_mut().enumerate() {
        match &mut step.operation {
            ElementaryOperation::Multiply(multiply) => {
                let first = multiply.factors.iter().position(|factors| factors.k >= stored);
                let alone = |source: &Source| matches!(source, Source::Product(step, at) if *step == number && Some(*at) >= first);
                let full_runs = !matches!(multiply.scaling, Scaling::Sums(run) if !stored.is_multiple_of(run));
                if first.is_some() && (used.iter().any(alone) || !full_runs) {
                    return None;
                }
                multiply.factors.retain(|factors| factors.k < stored);
                if multiply.factors.is_empty() {
                    return None;
                }
            }
            ElementaryOperation::Fma { factors, .. } if factors.k >= stored => return None,
            _ => {}
        }
    }
    Some(program)
}
