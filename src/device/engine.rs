//! Campaigns on a device: operands generated, executed and compared with a model by the million, where only counts come back.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Result, arithmetic::Model, inputs::Sequence, isa::Instruction};

/// What a campaign compares: every tile of `sequence`, executed by a device, with what `model` makes of it.
#[derive(Debug, Clone, Copy)]
pub struct CampaignWork<'a> {
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The operands.
    pub sequence: Sequence,
    /// The arithmetic to compare with.
    pub model: &'a Model,
}

/// Comparison with a model by the million, without a detour through this program's memory. A device without it executes tile by tile.
pub trait Campaigns {
    /// Announces what [`Campaigns::engine`] will be asked for, in this order, so that the device can get ready meanwhile.
    fn announce(&mut self, _work: &[CampaignWork]) {}

    /// What generates, executes, evaluates and compares; `None` if the device has nothing of the kind for this work.
    ///
    /// # Errors
    /// As [`super::Device::prepare`]; a request error if the model does not cover the instruction.
    fn engine(&mut self, work: &CampaignWork) -> Result<Option<Box<dyn Engine>>>;
}

/// Runs parts of one [`CampaignWork`].
pub trait Engine {
    /// Compares every output of the tiles `tiles` of the sequence, in every bit.
    ///
    /// The counts are functions of the work and the range alone, and so are additive: the counts of two adjacent
    /// ranges are together those of their union. Ranges come in any order and of any length, and may come again.
    ///
    /// # Errors
    /// The device fails.
    fn run(&mut self, tiles: Range<u64>) -> Result<Verified>;
}

/// What comparing a range of tiles found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// One count for each of [`Sequence::regimes`], in that order.
    pub regimes: Vec<Count>,
    /// Where outputs differ, in any order: all of them, if they are no more than the engine has room for, else any of
    /// them or none. An engine has room for the outputs of one tile at least, so the list for a range of one tile is whole.
    pub spots: Vec<Spot>,
}

/// Outputs of one regime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// Dot-product-adds whose outputs were compared.
    pub compared: u64,
    /// Those whose codes differ.
    pub differing: u64,
}

/// One output of a sequence of tiles. The order is that of tile, row, column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// The tile.
    pub tile: u64,
    /// The row of D.
    pub row: u32,
    /// The column of D.
    pub column: u32,
}

impl Verified {
    /// Nothing, of a sequence with so many regimes.
    pub fn nothing(regimes: usize) -> Verified {
        Verified { regimes: vec![Count::default(); regimes], spots: Vec::new() }
    }

    /// Adds what was found elsewhere, and lists no more than `room` places.
    pub fn add(&mut self, other: &Verified, room: usize) {
        for (own, other) in self.regimes.iter_mut().zip(&other.regimes) {
            own.add(*other);
        }
        let free = room.saturating_sub(self.spots.len());
        self.spots.extend(other.spots.iter().take(free));
    }

    /// Outputs that were compared.
    pub fn compared(&self) -> u64 {
        self.regimes.iter().map(|count| count.compared).sum()
    }

    /// Outputs that differ.
    pub fn differing(&self) -> u64 {
        self.regimes.iter().map(|count| count.differing).sum()
    }

    /// Whether every output that differs is listed.
    pub fn is_whole(&self) -> bool {
        self.spots.len() as u64 == self.differing()
    }
}

impl Count {
    /// Adds another count.
    pub fn add(&mut self, other: Count) {
        self.compared += other.compared;
        self.differing += other.differing;
    }
}
