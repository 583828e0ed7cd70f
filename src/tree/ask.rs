//! Orders found on a device.

use super::{FoundOrder, find};
use crate::{
    Result,
    device::{Batches, Device},
    isa::{self, Case, Instruction, Tiles},
};

/// The order of an instruction's sum, as found on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct InstructionOrder {
    /// The instruction.
    pub instruction: Instruction,
    /// Row and column of D that were asked; `None` if all elements were taken to be alike.
    pub element: Option<(usize, usize)>,
    /// The order.
    pub found: FoundOrder,
}

/// Orders found on a device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceOrders {
    /// The orders, one for each instruction.
    pub orders: Vec<InstructionOrder>,
    /// Why instructions were left out.
    pub left_out: Vec<String>,
}

/// Finds the order of each instruction's sum on `device`, and adds it to `all`.
///
/// `element` is the row and column of D to ask; a matrix product is asked element 0,0 without it. `available`: instructions that the
/// device lacks, or whose sum has no order, are left out.
///
/// # Errors
/// Those of [`find`] and of the device; the orders until then are in `all`.
pub fn find_all(
    device: &mut dyn Device,
    instructions: &[Instruction],
    element: Option<(usize, usize)>,
    available: bool,
    progress: &mut dyn FnMut(&Instruction),
    all: &mut DeviceOrders,
) -> Result<()> {
    if let Some(preparation) = device.preparation() {
        preparation.announce(instructions);
    }
    let mut batches = Batches::default();
    for i in instructions {
        progress(i);
        let element = element.or(isa::gemm(&i.name).map(|_| (0, 0)));
        let found = device.prepare(i).and_then(|_| find(i, &mut |cases| ask(device, &mut batches, i, element, cases)));
        match found {
            Err(error) if available && error.is_unavailable() => all.left_out.push(error.to_string()),
            found => all.orders.push(InstructionOrder { instruction: i.clone(), element, found: found? }),
        }
    }
    Ok(())
}

/// D of each case, with zeros in the rest of its tile.
///
/// With `element`, each case has its own tile and stands at this row and column, because elements of a matrix product may be summed
/// in different orders. Without it, cases share tiles, along the diagonal.
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
    // A model computes each element separately, so one element is enough.
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
