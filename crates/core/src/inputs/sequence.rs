//! Numbered sequences of tiles, each tile a function of its number, for runs of any length.

use super::{Regime, exhaustive, stream};
use crate::isa::{Instruction, Tiles};

/// Sequence of tiles of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// Adversarial operands, without end (see [`stream`]).
    Random {
        /// The seed.
        seed: u64,
    },
    /// All pairs of codes of A and B (see [`exhaustive`]).
    Multiply {
        /// Position among the stored elements of a row of A.
        position: usize,
    },
}

impl Sequence {
    /// Names of the regimes of its tiles, in the order of [`Sequence::regime`].
    pub fn regimes(self) -> Vec<&'static str> {
        match self {
            Sequence::Random { .. } => Regime::ALL.iter().map(|regime| regime.name()).collect(),
            Sequence::Multiply { .. } => vec!["multiply"],
        }
    }

    /// Regime of a tile, as an index into [`Sequence::regimes`]: one for all its dot-product-adds.
    pub fn regime(self, i: &Instruction, tile: u64) -> usize {
        match self {
            Sequence::Random { seed } => {
                let regime = stream::regime(i, seed, tile);
                Regime::ALL.iter().position(|other| *other == regime).expect("ALL has every regime")
            }
            Sequence::Multiply { .. } => 0,
        }
    }

    /// Tiles `first..first + count`.
    pub fn tiles(self, i: &Instruction, first: u64, count: usize) -> Tiles {
        match self {
            Sequence::Random { seed } => stream::tiles(i, seed, first, count),
            Sequence::Multiply { position } => exhaustive::tiles(i, position, first, count),
        }
    }
}
