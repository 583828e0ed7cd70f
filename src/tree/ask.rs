//! Cases asked of a device.

use crate::{
    Result,
    device::{Batches, Device},
    isa::{Case, Instruction, Tiles},
};

/// The codes of D for `cases`, each executed with all else in its tile zero.
///
/// With `element`, each has a tile of its own, and stands at this row and column: different elements of a matrix product may be
/// summed in different orders. Without, cases share tiles, along the diagonal.
///
/// # Errors
/// Those of the device; an interruption.
pub fn ask(
    device: &mut dyn Device,
    batches: &mut Batches,
    instruction: &Instruction,
    element: Option<(usize, usize)>,
    cases: &[Case],
) -> Result<Vec<u64>> {
    let i = instruction;
    // A model computes each element apart, so that nothing but them need be computed.
    let alone = device.model().is_some();
    let shape = if alone { Instruction { m: 1, n: 1, ..i.clone() } } else { i.clone() };
    let (row, column) = element.filter(|_| !alone).unwrap_or((0, 0));
    let lanes = if element.is_some() { 1 } else { shape.m.min(shape.n) };
    let place = |at: usize| (at / lanes, row + at % lanes, column + at % lanes);
    let mut answers = Vec::with_capacity(cases.len());
    let mut rest = cases;
    while !rest.is_empty() {
        let (batch, after) = rest.split_at(rest.len().min(batches.size(shape.tile_bytes()).saturating_mul(lanes)));
        let mut tiles = Tiles::zeros(&shape, batch.len().div_ceil(lanes));
        for (at, case) in batch.iter().enumerate() {
            let (tile, row, column) = place(at);
            tiles.place(&shape, tile, row, column, case);
        }
        let outputs = batches.execute(device, i, (shape.m, shape.n), &tiles)?;
        answers.extend((0..batch.len()).map(|at| {
            let (tile, row, column) = place(at);
            outputs.get((tile * shape.m + row) * shape.n + column)
        }));
        rest = after;
    }
    Ok(answers)
}
