//! Orders found on a device.

use crate::{
    Result,
    bench::Bench,
    device::{Batches, Device},
    isa::{self, Instruction},
    order::{FoundOrder, find},
    product::ElementPlace,
};

/// The order of an instruction's sum, as found on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct InstructionOrder {
    /// The instruction.
    pub instruction: Instruction,
    /// The element of D that was asked; `None` if all elements were taken to be alike.
    pub element: Option<ElementPlace>,
    /// The order.
    pub tree: FoundOrder,
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
/// `element` is the element of D to ask; a matrix product is asked element 0,0 without it. `available`: instructions
/// that the device lacks, or whose sum has no order, are left out.
///
/// # Errors
/// Those of [`find`] and of the device; the orders until then are in `all`.
pub fn find_all(
    device: &mut dyn Device,
    instructions: &[Instruction],
    element: Option<ElementPlace>,
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
        let element = element.or(isa::gemm(&i.name).map(|_| ElementPlace { row: 0, column: 0 }));
        let tree = device.prepare(i).and_then(|_| {
            let mut bench = Bench::of(device, &mut batches, i).at(element.map(|place| (place.row, place.column)));
            find(i, &mut |cases| bench.codes(cases))
        });
        match tree {
            Err(error) if available && error.is_unavailable() => all.left_out.push(error.to_string()),
            tree => all.orders.push(InstructionOrder { instruction: i.clone(), element, tree: tree? }),
        }
    }
    Ok(())
}
