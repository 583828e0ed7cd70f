//! All inputs of an instruction, where there are few.

use super::answers::InputBatch;
use crate::isa::{Case, Instruction};

/// Largest number of operand bits of one output for which all inputs are tried.
const MOST_BITS: u32 = 20;
/// Inputs in a batch.
const BATCH: u64 = 1 << 14;

/// All inputs of a dense instruction without scales; `None` where there are too many.
pub(super) fn inputs(i: &Instruction) -> Option<impl Iterator<Item = InputBatch> + use<>> {
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
    Some(batches.map(move |from| InputBatch::Cases((from..all.min(from + BATCH)).map(&case).collect())))
}
