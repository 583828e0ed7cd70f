//! Cases asked of a device.

use crate::{
    Result,
    device::{Device, execute_part},
    isa::{Case, Instruction, Tiles},
};

/// The most bytes of the tiles that are executed at a time, about.
const MOST_BYTES: usize = 32 << 20;

/// The codes of D for `cases`, each executed with all else in its tile zero.
///
/// With `element`, each has a tile of its own, and stands at this row and column: different elements of a matrix product may be
/// summed in different orders. Without, cases share tiles, along the diagonal.
///
/// # Errors
/// Those of the device.
pub fn ask(
    device: &mut dyn Device,
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
    let mut answers = Vec::with_capacity(cases.len());
    let together = (MOST_BYTES / shape.tile_bytes()).max(1) * lanes;
    for cases in cases.chunks(together) {
        let mut tiles = Tiles::zeros(&shape, cases.len().div_ceil(lanes));
        let place = |at: usize| (at / lanes, row + at % lanes, column + at % lanes);
        for (at, case) in cases.iter().enumerate() {
            let (tile, row, column) = place(at);
            tiles.place(&shape, tile, row, column, case);
        }
        let outputs = execute_part(device, i, (shape.m, shape.n), &tiles)?;
        answers.extend((0..cases.len()).map(|at| {
            let (tile, row, column) = place(at);
            outputs.get((tile * shape.m + row) * shape.n + column)
        }));
    }
    Ok(answers)
}
