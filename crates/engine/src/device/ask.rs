//! The outputs of a device for single cases.

use super::{Batches, Device};
use crate::{
    Result,
    isa::{Case, Instruction, MatrixShape, Tiles},
};

/// Executes cases on a device, the rest of each tile being zero, and returns their outputs.
/// Each tile takes up to `lanes` cases, on the diagonal from a row and a column.
///
/// # Errors
/// The device fails or answers short; an interruption.
pub fn ask(
    device: &mut dyn Device,
    batches: &mut Batches,
    i: &Instruction,
    cases: &[Case],
    row: usize,
    column: usize,
    lanes: usize,
) -> Result<Vec<u64>> {
    let reach = |from: usize, all: usize| if from + lanes <= all { from + lanes } else { all };
    let shape = Instruction { m: reach(row, i.m), n: reach(column, i.n), ..i.clone() };
    let place = |at: usize| (at / lanes, (row + at % lanes) % shape.m, (column + at % lanes) % shape.n);
    let mut answers = Vec::with_capacity(cases.len());
    let mut rest = cases;
    while !rest.is_empty() {
        let (batch, after) = rest.split_at(rest.len().min(batches.size(i.tile_bytes()).saturating_mul(lanes)));
        let mut tiles = Tiles::zeros(&shape, batch.len().div_ceil(lanes));
        for (at, case) in batch.iter().enumerate() {
            let (tile, row, column) = place(at);
            tiles.place(&shape, tile, row, column, case);
        }
        let outputs = batches.execute(device, i, MatrixShape { rows: shape.m, columns: shape.n }, &tiles)?;
        answers.extend((0..batch.len()).map(|at| {
            let (tile, row, column) = place(at);
            outputs.get((tile * shape.m + row) * shape.n + column)
        }));
        rest = after;
    }
    Ok(answers)
}
