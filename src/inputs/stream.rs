//! The endless stream of adversarial tiles.

use super::{
    batch::{Op, Source, draw},
    regime::Regime,
    values::{Distribution, Init},
};
use crate::isa::{Instruction, Tiles};

/// The tiles `first..first + count` of the stream of `seed`.
pub fn tiles(i: &Instruction, seed: u64, first: u64, count: usize) -> Tiles {
    let mut tiles = Tiles::zeros(i, 0);
    for tile in first..first + count as u64 {
        let source = Source { seed, stream: tile + 1 };
        tiles.extend(&draw(i, Op::Dot, Distribution::Corners, Init::Low, source, i.m * i.n).tiles);
    }
    tiles
}

/// The regime of a tile.
pub fn regime(_: &Instruction, _: u64, tile: u64) -> Regime {
    Regime::ALL[(tile % Regime::ALL.len() as u64) as usize]
}
