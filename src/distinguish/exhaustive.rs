//! Every input, of instructions that have few.

use super::answers::Inputs;
use crate::isa::{Case, Instruction};

/// The most bits that the operands of one output have together.
const MOST_BITS: u32 = 20;
/// Inputs that are asked about at a time.
const BATCH: u64 = 1 << 14;

/// Every input of an instruction, if they are few; of sparse and of block-scaled ones they are not.
pub(super) fn inputs(i: &Instruction) -> Option<impl Iterator<Item = Inputs> + use<>> {
    let bits = (i.a.bits + i.b.bits) * u32::try_from(i.k).ok()? + i.c.bits;
    if bits > MOST_BITS || i.sparse.is_some() || i.scale.is_some() {
        return None;
    }
    let i = i.clone();
    let case = move |mut number: u64| {
        let mut take = |bits: u32| {
            let code = number & ((1 << bits) - 1);
            number >>= bits;
            code
        };
        let a = (0..i.k).map(|_| take(i.a.bits)).collect();
        let b = (0..i.k).map(|_| take(i.b.bits)).collect();
        Case::dense(a, b, take(i.c.bits))
    };
    let all = 1u64 << bits;
    let batches = (0..all).step_by(BATCH as usize);
    Some(batches.map(move |from| Inputs::Cases((from..all.min(from + BATCH)).map(&case).collect())))
}
