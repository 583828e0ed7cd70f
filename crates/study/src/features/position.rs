//! The position within D.

use crate::{
    Result,
    bench::TermAnswer,
    device::{Batches, Device, ask},
    inputs::Sequence,
    isa::{Case, Instruction, MatrixShape, Tiles},
    measurement::Finding,
};

/// Number of cases asked in every element.
const CASES: usize = 4;

/// Measures whether position or neighbours change a result; returns the element to ask if they do.
pub(super) fn position(
    device: &mut dyn Device,
    batches: &mut Batches,
    i: &Instruction,
) -> Result<(Option<(usize, usize)>, Finding)> {
    let drawn = Sequence::Random { seed: 0 }.tiles(i, 0, CASES);
    let cases: Vec<Case> = (0..CASES).map(|tile| drawn.case(i, tile, 0, 0)).collect();
    let finding = |word: &str, at: usize, code: u64| {
        Ok((word.to_string(), Some(TermAnswer { case: cases[at].clone(), code, value: i.d.value(code) })))
    };
    // A model computes each element with the same program.
    if device.model().is_some() {
        let codes = ask(device, batches, i, &cases[..1], 0, 0, 1)?;
        return Ok((None, finding("none", 0, codes[0])));
    }
    let last = (i.m - 1, i.n - 1);
    // Each case is asked in all elements, then alone in the first and in the last element.
    let mut tiles = Tiles::zeros(i, 3 * CASES);
    for (at, case) in cases.iter().enumerate() {
        for row in 0..i.m {
            (0..i.n).for_each(|column| tiles.place(i, at, row, column, case));
        }
        tiles.place(i, CASES + at, 0, 0, case);
        tiles.place(i, 2 * CASES + at, last.0, last.1, case);
    }
    let outputs = batches.execute(device, i, MatrixShape { rows: i.m, columns: i.n }, &tiles)?;
    let each = i.m * i.n;
    for at in 0..CASES {
        let first = outputs.get(at * each);
        if let Some(other) = (1..each).map(|place| outputs.get(at * each + place)).find(|other| *other != first) {
            return Ok((Some((0, 0)), finding("row or column", at, other)));
        }
        for alone in [outputs.get((CASES + at) * each), outputs.get((2 * CASES + at) * each + each - 1)] {
            if alone != first {
                return Ok((Some((0, 0)), finding("neighbours", at, alone)));
            }
        }
    }
    Ok((None, finding("none", 0, outputs.get(0))))
}
