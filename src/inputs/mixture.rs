//! The mixture of inputs that a recording holds.

use super::{
    batch::{Batch, Op, Source, draw},
    values::{Distribution, Init},
};
use crate::isa::{Instruction, Tiles};

/// `count` tiles for a recording of `instruction`: one tile in eight of Normal(0, 1) values, one of log-uniform
/// ones, two of special values, and four of directed cases of every regime, with all k products and c.
pub fn record_batch(instruction: &Instruction, seed: u64, count: usize) -> Tiles {
    let mut tiles = Tiles::zeros(instruction, 0);
    let parts = [
        (Distribution::Normal, count.div_ceil(8)),
        (Distribution::LogUniform, count.div_ceil(8)),
        (Distribution::Special, count.div_ceil(4)),
    ];
    let rest = count.saturating_sub(parts.iter().map(|(_, n)| n).sum());
    for (distribution, wanted) in parts.into_iter().chain([(Distribution::Corners, rest)]) {
        let wanted = wanted.min(count - tiles.count);
        let samples = wanted * instruction.m * instruction.n;
        let Batch { tiles: part, .. } =
            draw(instruction, Op::Dot, distribution, Init::Low, Source { seed, stream: 0 }, samples);
        tiles.extend(&part);
    }
    tiles
}
