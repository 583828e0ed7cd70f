//! What two instructions share: the operands that both take.

use crate::{
    Error, Result,
    isa::{Case, Instruction},
};

/// The operands that two instructions of the same formats both take: of each the first m, n and k.
///
/// # Errors
/// The formats differ, or how A is stored, or what scales it has: what one takes is no input of the other.
pub fn shared(x: &Instruction, y: &Instruction) -> Result<Instruction> {
    let formats = |i: &Instruction| [i.a, i.b, i.c, i.d].map(|format| format.name);
    let differs = if formats(x) != formats(y) {
        let named = |i: &Instruction| formats(i).join(", ");
        Some(format!("A, B, C and D are {} of {x}, and {} of {y}", named(x), named(y)))
    } else if x.sparse.map(|chunk| (chunk.length, chunk.kept, chunk.together))
        != y.sparse.map(|chunk| (chunk.length, chunk.kept, chunk.together))
    {
        Some(format!("A is not stored alike in {x} and {y}"))
    } else if x.scale != y.scale {
        Some(format!("{x} and {y} do not have the same block scales"))
    } else if x.xor != y.xor {
        Some(format!("the terms of {x} and {y} are not the same function of two bits"))
    } else {
        None
    };
    match differs {
        Some(what) => {
            Err(Error::request(format!("{what}; only instructions with the same operands can be told apart")))
        }
        None => {
            let shorter = if x.k <= y.k { x } else { y };
            // Where one takes positions in any order, and the other does not, they are in order.
            let sparse = [x, y].into_iter().filter_map(|i| i.sparse).find(|chunk| !chunk.any_order).or(x.sparse);
            Ok(Instruction { m: x.m.min(y.m), n: x.n.min(y.n), sparse, ..shorter.clone() })
        }
    }
}

/// A case of a shorter instruction as one of `to`: what lies beyond its k is zero.
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
