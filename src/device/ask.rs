//! The outputs of a device for single cases.

use super::{Batches, Device, Spot};
use crate::{
    Result,
    isa::{Case, Instruction, Tiles},
};

/// Executes cases on a device, the rest of each tile being zero, and returns their outputs.
/// Each tile takes up to `lanes` cases, on the diagonal from the row and column of `spot`.
///
/// # Errors
/// The device fails or answers short; an interruption.
pub fn ask(device: &mut dyn Device, i: &Instruction, cases: &[Case], spot: &Spot, lanes: usize) -> Result<Vec<u64>> {
    let mut batches = Batches::default();
    let place = |at: usize| {
        let (row, column) = (spot.row as usize + at % lanes, spot.column as usize + at % lanes);
        (at / lanes, row % i.m, column % i.n)
    };
    let mut tiles = Tiles::zeros(i, cases.len().div_ceil(lanes));
    for (at, case) in cases.iter().enumerate() {
        let (tile, row, column) = place(at);
        tiles.place(i, tile, row, column, case);
    }
    let outputs = batches.execute(device, i, (i.m, i.n), &tiles)?;
    let output = |at: usize| {
        let (tile, row, column) = place(at);
        outputs.get((tile * i.m + row) * i.n + column)
    };
    Ok((0..cases.len()).map(output).collect())
}
