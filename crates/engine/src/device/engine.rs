//! Verification campaigns: a device generates, executes and compares operands, and returns counts.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Result, arithmetic::Model, inputs::Sequence, isa::Instruction};

/// The work of a campaign: executes every tile of `sequence` on a device and compares it with `model`.
#[derive(Debug, Clone, Copy)]
pub struct CampaignWork<'a> {
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The operands.
    pub sequence: Sequence,
    /// Arithmetic to compare with.
    pub model: &'a Model,
}

/// Campaigns as a capability of a device. Other devices execute tile by tile.
pub trait Campaigns {
    /// Announces the work that [`Campaigns::engine`] gets next, in order, to be prepared meanwhile.
    fn announce(&mut self, _work: &[CampaignWork]) {}

    /// Prepares the engine for `work`; `None` if the device cannot do it.
    ///
    /// # Errors
    /// As [`super::Device::prepare`]; a request error if the model does not cover the instruction.
    fn engine(&mut self, work: &CampaignWork) -> Result<Option<Box<dyn Engine>>>;
}

/// Runs ranges of one [`CampaignWork`].
pub trait Engine {
    /// Compares every output of the tiles `tiles` of the sequence, in every bit.
    ///
    /// Counts depend on the work and the range alone, so counts of adjacent ranges add up. Ranges come in any order,
    /// have any length, and may repeat.
    ///
    /// # Errors
    /// The device fails.
    fn run(&mut self, tiles: Range<u64>) -> Result<Verified>;
}

/// The result of comparing a range of tiles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// One count for each of [`Sequence::regimes`], in order.
    pub regimes: Vec<Count>,
    /// Differing outputs, in any order.
    /// All are listed if the engine has room for them, else any subset. Every engine has room for the outputs of one
    /// tile.
    pub mismatches: Vec<Mismatch>,
}

/// An output that differs, ordered by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mismatch {
    /// Place of the output.
    pub spot: Spot,
    /// Device's code.
    pub device: u64,
    /// Model's code.
    pub model: u64,
}

/// Counts of one regime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// Outputs compared.
    pub compared: u64,
    /// Outputs whose codes differ.
    pub differing: u64,
}

/// The place of one output in a sequence of tiles, ordered by tile, row and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// Number of the tile.
    pub tile: u64,
    /// Row of D.
    pub row: u32,
    /// Column of D.
    pub column: u32,
}

impl Verified {
    /// An empty result for `regimes` regimes.
    pub fn nothing(regimes: usize) -> Verified {
        Verified { regimes: vec![Count::default(); regimes], mismatches: Vec::new() }
    }

    /// Adds another result, and lists at most `room` mismatches.
    pub fn add(&mut self, other: &Verified, room: usize) {
        for (count, other) in self.regimes.iter_mut().zip(&other.regimes) {
            count.add(*other);
        }
        let free = room.saturating_sub(self.mismatches.len());
        self.mismatches.extend(other.mismatches.iter().take(free));
    }

    /// Outputs compared.
    pub fn compared(&self) -> u64 {
        self.regimes.iter().map(|count| count.compared).sum()
    }

    /// Outputs that differ.
    pub fn differing(&self) -> u64 {
        self.regimes.iter().map(|count| count.differing).sum()
    }

    /// Returns true if every differing output is listed.
    pub fn is_whole(&self) -> bool {
        self.mismatches.len() as u64 == self.differing()
    }
}

impl Count {
    /// Adds another count.
    pub fn add(&mut self, other: Count) {
        self.compared += other.compared;
        self.differing += other.differing;
    }
}
