//! Numbered sequences of tiles: the operands of a run of any length, each tile a function of its number alone.

use super::{Regime, exhaustive, stream};
use crate::isa::{Instruction, Tiles};

/// A sequence of tiles of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// Adversarial operands, without end (see [`stream`]).
    Random {
        /// The seed.
        seed: u64,
    },
    /// All pairs of codes of A and B (see [`exhaustive`]).
    Multiply {
        /// The position among the stored elements of a row of A.
        position: usize,
    },
}

impl Sequence {
    /// The names of the regimes of its tiles: what [`Sequence::regime`] counts through.
    pub fn regimes(self) -> Vec<&'static str> {
        match self {
            Sequence::Random { .. } => Regime::ALL.iter().map(|regime| regime.name()).collect(),
            Sequence::Multiply { .. } => vec!["multiply"],
        }
    }

    /// The regime of a tile, as an index into [`Sequence::regimes`]: one for all its dot-product-adds.
    pub fn regime(self, i: &Instruction, tile: u64) -> usize {
        match self {
            Sequence::Random { seed } => {
                let regime = stream::regime(i, seed, tile);
                Regime::ALL.iter().position(|other| *other == regime).expect("ALL has every regime")
            }
            Sequence::Multiply { .. } => 0,
        }
    }

    /// The tiles `first..first + count`.
    pub fn tiles(self, i: &Instruction, first: u64, count: usize) -> Tiles {
        match self {
            Sequence::Random { seed } => stream::tiles(i, seed, first, count),
            Sequence::Multiply { position } => exhaustive::tiles(i, position, first, count),
        }
    }
}
