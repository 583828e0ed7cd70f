//! A plan compiled for many elements of D at a time.

use super::{
    decoder::Decoder,
    floating::{Floating, Outcome, Workspace},
    integer::{Integer, integers},
    pieces::Pieces,
    scale::Scales,
    word::Batch,
};
use crate::arithmetic::{Plan, PlanStep};

/// The arithmetic of one instruction, compiled.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub(super) a: Decoder,
    pub(super) b: Decoder,
    /// The stored k of the factors in the order in which they are summed.
    pub(super) order: Vec<usize>,
    /// Whether that is the order in which they are stored.
    pub(super) ordered: bool,
    /// Bits by which the significands of A are to be shifted left.
    pub(super) lifted: u32,
    pub(super) scales: Option<Scales>,
    arithmetic: Arithmetic,
}

#[derive(Debug, Clone)]
enum Arithmetic {
    Integer(Integer),
    Floating(Box<Floating>),
}

impl Kernel {
    /// `None` if the plan needs what the kernel does not have.
    pub(super) fn new(plan: &Plan) -> Option<Kernel> {
        let i = &plan.instruction;
        let [a, b] = [i.a, i.b].map(|format| Decoder::new(format, plan.operand_subnormals, plan.unpack));
        let (a, b) = (a?, b?);
        let order = plan.groups.concat();
        let (arithmetic, scales) = match &plan.step {
            PlanStep::Integer(wrap) => (Arithmetic::Integer(Integer::new(i, *wrap)?), None),
            step => {
                let scales = match (i.scale, step) {
                    (None, _) => None,
                    (Some(scale), PlanStep::Fused(fused)) => Some(Scales::new(scale, fused.scale_sums, [&a, &b])?),
                    _ => return None,
                };
                (Arithmetic::Floating(Box::new(Floating::new(plan, [&a, &b], scales.as_ref())?)), scales)
            }
        };
        let lifted = match &arithmetic {
            Arithmetic::Integer(_) => 0,
            Arithmetic::Floating(floating) => floating.lifted(),
        };
        Some(Kernel { ordered: order.iter().copied().eq(0..order.len()), order, lifted, scales, arithmetic, a, b })
    }

    /// D for some pieces, with the elements of C.
    pub(super) fn run(&self, pieces: &Pieces, c: &Batch<u32>, workspace: &mut Workspace) -> Outcome {
        match &self.arithmetic {
            Arithmetic::Integer(integer) => integers(integer, pieces, c),
            Arithmetic::Floating(floating) => floating.run(pieces, c, workspace),
        }
    }
}
