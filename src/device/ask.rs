//! Asking a device for the outputs of single cases.

use super::{Device, Spot};
use crate::{
    Error, Result,
    isa::{Case, Codes, Instruction, Tiles},
};

/// What a device answers to each tile: as many outputs as the tiles have.
///
/// # Errors
/// The device fails, or answers short.
pub(crate) fn execute(device: &mut dyn Device, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
    let outputs = device.execute(i, tiles)?;
    whole(device, outputs, tiles.count * i.m * i.n)
}

/// What a device answers to tiles of the first `m` rows and `n` columns, as [`Device::execute_part`].
///
/// # Errors
/// The device fails, or answers short.
pub(crate) fn execute_part(
    device: &mut dyn Device,
    i: &Instruction,
    (m, n): (usize, usize),
    tiles: &Tiles,
) -> Result<Codes> {
    let outputs = device.execute_part(i, m, n, tiles)?;
    whole(device, outputs, tiles.count * m * n)
}

fn whole(device: &dyn Device, outputs: Codes, asked: usize) -> Result<Codes> {
    match outputs.len() == asked {
        true => Ok(outputs),
        false => {
            Err(Error::device(format!("{} answered {} outputs of {asked}", device.identity().name, outputs.len())))
        }
    }
}

/// What a device answers to each case, all else in its tile being zero (of other cases, where several share a tile): the first of
/// each tile in the row and column of `spot`, up to `lanes` more on the diagonal from there.
///
/// # Errors
/// The device fails, or answers short.
pub fn ask(device: &mut dyn Device, i: &Instruction, cases: &[Case], spot: &Spot, lanes: usize) -> Result<Vec<u64>> {
    let place = |at: usize| {
        let (row, column) = (spot.row as usize + at % lanes, spot.column as usize + at % lanes);
        (at / lanes, row % i.m, column % i.n)
    };
    let mut tiles = Tiles::zeros(i, cases.len().div_ceil(lanes));
    for (at, case) in cases.iter().enumerate() {
        let (tile, row, column) = place(at);
        tiles.place(i, tile, row, column, case);
    }
    let outputs = execute(device, i, &tiles)?;
    let output = |at: usize| {
        let (tile, row, column) = place(at);
        outputs.get((tile * i.m + row) * i.n + column)
    };
    Ok((0..cases.len()).map(output).collect())
}
