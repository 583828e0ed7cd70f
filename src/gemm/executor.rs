//! What executes the steps of a schedule.

use super::Schedule;
use crate::{
    Error, Result,
    device::{Device, LocalExecution},
    isa::{Codes, Instruction, Tiles},
};

/// Rows and columns of the tiles of a model, which computes each element apart and so takes tiles of any shape: operands are decoded
/// once for all elements of a tile.
const SIDE: usize = 64;
/// Tiles that a thread of this program computes side by side.
const TOGETHER: usize = 4;
/// About how many bytes of tiles another device is given at a time.
const MOST_BYTES: usize = 32 << 20;

/// What executes the steps of a schedule.
pub struct Executor<'a> {
    /// The instruction, of a model with another number of rows and columns.
    pub(super) tile: Instruction,
    /// How many tiles of D are computed side by side.
    pub(super) together: usize,
    pub(super) by: ExecutedBy<'a>,
}

/// Who executes.
pub(super) enum ExecutedBy<'a> {
    /// The threads of this program.
    Threads(LocalExecution),
    /// A device that does one thing at a time.
    Device(&'a mut dyn Device),
}

impl<'a> Executor<'a> {
    /// A device, for a D of so many rows and columns.
    ///
    /// # Errors
    /// The device does not have the instruction, or fails.
    pub fn of(device: &'a mut dyn Device, schedule: &Schedule, rows: usize, columns: usize) -> Result<Executor<'a>> {
        let i = &schedule.instruction;
        device.prepare(i)?;
        if let Some(model) = device.model() {
            let tile = Instruction { m: SIDE.min(rows), n: SIDE.min(columns), ..i.clone() };
            let evaluator = model.evaluator(&tile)?;
            let by = ExecutedBy::Threads(Box::new(move |tiles| evaluator.execute_here(tiles)));
            return Ok(Executor { tile, together: TOGETHER, by });
        }
        if let Some(execute) = device.local(i)? {
            let together = TOGETHER * (SIDE * SIDE).div_ceil(i.m * i.n);
            return Ok(Executor { tile: i.clone(), together, by: ExecutedBy::Threads(execute) });
        }
        let together = (MOST_BYTES / i.tile_bytes()).max(1);
        Ok(Executor { tile: i.clone(), together, by: ExecutedBy::Device(device) })
    }
}

/// The outputs of tiles, as many as there have to be.
///
/// # Errors
/// A device error: it answered with fewer.
pub(super) fn executed(device: &mut dyn Device, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
    let d = device.execute(i, tiles)?;
    let expected = tiles.count * i.m * i.n;
    match d.len() == expected {
        true => Ok(d),
        false => Err(Error::device(format!("{} answered {} outputs of {expected}", device.identity().name, d.len()))),
    }
}
