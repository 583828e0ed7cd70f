//! Units of a run, at whose ends it stops, and ranges of tiles, which are compared at a time.

use std::ops::Range;

use super::Run;
use crate::{Result, isa::Instruction};

/// Dot-product-adds of a unit, about.
const UNIT: u64 = 1 << 16;

/// Tiles of a unit: 2^16 dot-product-adds, at least one tile.
pub(super) fn unit_tiles(i: &Instruction) -> u64 {
    (UNIT / (i.m * i.n) as u64).max(1)
}

/// The units of a part of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Tiles of a unit.
    unit: u64,
    /// The first tile beyond the part.
    pub(super) end: u64,
}

impl Cut {
    pub(super) fn new(run: &Run) -> Result<Cut> {
        Ok(Cut::of(run, &run.instruction()?))
    }

    /// As [`Cut::new`], for a known instruction.
    pub(super) fn of(run: &Run, i: &Instruction) -> Cut {
        Cut { unit: unit_tiles(i), end: run.range(i).end }
    }

    /// About `size` tiles from the tile `start`: whole units, or some tiles of one.
    pub(super) fn range(&self, start: u64, size: u64) -> Range<u64> {
        let whole = size / self.unit * self.unit;
        let end = match whole == 0 || !start.is_multiple_of(self.unit) {
            true => self.unit_end(start).min(start.saturating_add(size)),
            false => start.saturating_add(whole),
        };
        start..self.end.min(end).max(start)
    }

    /// The end of the unit of a tile.
    pub(super) fn unit_end(&self, tile: u64) -> u64 {
        self.end.min((tile / self.unit + 1) * self.unit)
    }

    /// True if a unit ends before this tile.
    pub(super) fn is_unit_end(&self, tile: u64) -> bool {
        tile.is_multiple_of(self.unit) || tile >= self.end
    }

    /// True if a range has tiles of one unit only.
    pub(super) fn is_within_unit(&self, range: &Range<u64>) -> bool {
        range.end <= self.unit_end(range.start)
    }
}
