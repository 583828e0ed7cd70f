//! The operands that two instructions share.

use crate::{
    Error, Result,
    isa::{Case, Instruction},
};

/// The operands that both instructions take: the first m, n and k of each.
///
/// # Errors
/// The instructions differ in formats, sparsity, block scales or the function of their terms.
pub fn shared(x: &Instruction, y: &Instruction) -> Result<Instruction> {
    let formats = |i: &Instruction| [i.a, i.b, i.c, i.d].map(|format| format.name);
    let differs = if formats(x) != formats(y) {
        let named = |i: &Instruction| formats(i).join(", ");
        Some(format!("{x} has the formats {}, and {y} has {}", named(x), named(y)))
    } else if x.sparse.map(|chunk| (chunk.length, chunk.kept, chunk.together))
        != y.sparse.map(|chunk| (chunk.length, chunk.kept, chunk.together))
    {
        Some(format!("{x} and {y} store A differently"))
    } else if x.scale != y.scale {
        Some(format!("{x} and {y} have different block scales"))
    } else if x.xor != y.xor {
        Some(format!("the terms of {x} and {y} are different functions of two bits"))
    } else {
        None
    };
    match differs {
        Some(what) => Err(Error::request(format!("{what}; only instructions with the same operands can be compared"))),
        None => {
            let shorter = if x.k <= y.k { x } else { y };
            // If one instruction needs positions in order, both get them in order.
            let sparse = [x, y].into_iter().filter_map(|i| i.sparse).find(|chunk| !chunk.any_order).or(x.sparse);
            Ok(Instruction { m: x.m.min(y.m), n: x.n.min(y.n), sparse, ..shorter.clone() })
        }
    }
}

/// Extends a case to the k of `to`; the further operands are zero.
pub(super) fn widened(case: &Case, to: &Instruction) -> Case {
    if case.b.len() == to.k {
        return case.clone();
    }
    let mut wide = Case { c: case.c, ..Case::zeros(to) };
    let slots = [
        (&mut wide.a, &case.a),
        (&mut wide.b, &case.b),
        (&mut wide.positions, &case.positions),
        (&mut wide.scale_a, &case.scale_a),
        (&mut wide.scale_b, &case.scale_b),
    ];
    for (slot, codes) in slots {
        slot[..codes.len()].copy_from_slice(codes);
    }
    wide
}
