//! Execution of the steps of a schedule.

use super::{Factors, Schedule};
use crate::{
    Error, Result,
    base::threads,
    device::{Chains, Device, LocalExecution},
    isa::{Codes, Instruction, Tiles},
};

/// Smallest and largest side of a model's tiles: operands are decoded once for all elements of a tile.
const SIDES: (usize, usize) = (16, 64);
/// Tiles that a thread computes side by side, where there is enough work for all threads.
const TOGETHER: usize = 4;
/// Bytes of tiles that another device gets at a time, about.
const MOST_BYTES: usize = 32 << 20;

/// Executor of the steps of a schedule.
pub struct Executor<'a> {
    /// The instruction; for a model, with other numbers of rows and columns.
    pub(super) tile: Instruction,
    /// Tiles of D that are computed side by side.
    pub(super) together: usize,
    pub(super) by: ExecutedBy<'a>,
}

/// Who executes.
pub(super) enum ExecutedBy<'a> {
    /// The threads of this program.
    Threads(LocalExecution),
    /// A device that does one thing at a time.
    Device(&'a mut dyn Device),
    /// Kernels that sum all elements of this one product at once.
    Chains(Box<dyn Chains + 'a>),
}

impl<'a> Executor<'a> {
    /// An executor that sums all elements of the one product whose operands `chains` holds.
    pub fn chained(chains: Box<dyn Chains + 'a>, schedule: &Schedule) -> Executor<'a> {
        Executor { tile: schedule.instruction.clone(), together: 1, by: ExecutedBy::Chains(chains) }
    }

    /// Kernels that sum all elements of this product at once, if device and schedule allow it.
    ///
    /// # Errors
    /// The device does not have the instruction, or fails.
    pub fn at_once(device: &mut dyn Device, schedule: &Schedule, factors: &Factors) -> Result<Option<Executor<'a>>> {
        let factors = &*factors.rounded(schedule)?;
        if schedule.not_at_once(factors).is_some() {
            return Ok(None);
        }
        let shape = factors.shape();
        let promoted = schedule.promote.is_some();
        let Factors { a, b, .. } = factors;
        let Some(products) = device.products() else { return Ok(None) };
        let chains = products.chains(&schedule.instruction, promoted, shape, &a.codes, &b.codes)?;
        Ok(chains.map(|chains| Executor::chained(chains, schedule)))
    }

    /// The fastest executor for this one product.
    ///
    /// # Errors
    /// The device does not have the instruction, or fails.
    pub fn for_product(device: &'a mut dyn Device, schedule: &Schedule, factors: &Factors) -> Result<Executor<'a>> {
        match Executor::at_once(device, schedule, factors)? {
            Some(executor) => Ok(executor),
            None => Executor::of(device, schedule, factors.a.rows, factors.b.columns),
        }
    }

    /// Seconds of the sums of all elements at once, without moving matrices; `None` for other executors.
    pub fn seconds_of_sums(&self) -> Option<f64> {
        match &self.by {
            ExecutedBy::Chains(chains) => Some(chains.seconds()),
            ExecutedBy::Threads(_) | ExecutedBy::Device(_) => None,
        }
    }

    /// An executor on a device, for a D of this shape.
    ///
    /// # Errors
    /// The device does not have the instruction, or fails.
    pub fn of(device: &'a mut dyn Device, schedule: &Schedule, rows: usize, columns: usize) -> Result<Executor<'a>> {
        let i = &schedule.instruction;
        device.prepare(i)?;
        if let Some(model) = device.model() {
            let (side, together) = shares(rows, columns);
            let tile = Instruction { m: side.min(rows), n: side.min(columns), ..i.clone() };
            let evaluator = model.evaluator(&tile)?;
            let by = ExecutedBy::Threads(Box::new(move |tiles| evaluator.execute_here(tiles)));
            return Ok(Executor { tile, together, by });
        }
        if let Some(local) = device.local() {
            let execute = local.execution(i)?;
            let (side, together) = shares(rows, columns);
            let together = together * (side * side).div_ceil(i.m * i.n);
            return Ok(Executor { tile: i.clone(), together, by: ExecutedBy::Threads(execute) });
        }
        let together = (MOST_BYTES / i.tile_bytes()).max(1);
        Ok(Executor { tile: i.clone(), together, by: ExecutedBy::Device(device) })
    }
}

/// Side of square tiles of D, and how many are computed side by side, so that every thread has some.
fn shares(rows: usize, columns: usize) -> (usize, usize) {
    let threads = threads::count();
    let tiles = |side: usize| rows.div_ceil(side) * columns.div_ceil(side);
    let mut side = SIDES.1;
    while side > SIDES.0 && tiles(side) < 2 * threads {
        side /= 2;
    }
    (side, if tiles(side) >= 4 * TOGETHER * threads { TOGETHER } else { 1 })
}

/// The outputs of tiles.
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
