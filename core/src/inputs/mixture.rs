//! The mixture of inputs that a recording holds.

use super::{
    batch::{Batch, Op, RandomStream, draw},
    corners::Corners,
    values::{Distribution, Init},
};
use crate::isa::{Instruction, Tiles};

/// Bytes of random tiles, inputs and outputs, in a recording of the usual size; at least [`RANDOM_TILES`].
const RANDOM_BYTES: usize = 32 << 10;
/// The fewest random tiles in a recording of the usual size.
const RANDOM_TILES: usize = 4;

/// Tiles of a recording of the usual size: every corner, and about 32 KiB of random tiles.
pub fn record_tiles(instruction: &Instruction) -> usize {
    Corners::of(instruction).tiles.count + (RANDOM_BYTES / instruction.tile_bytes()).max(RANDOM_TILES)
}

/// `count` tiles for a recording of `instruction`: the named corners ([`Corners`], the same for every seed; the
/// first of them if they are more), then random tiles: of eight one of Normal(0, 1) values, one of log-uniform ones, two
/// of special values, and four of directed cases of every regime, with all k products and c.
pub fn record_batch(instruction: &Instruction, seed: u64, count: usize) -> Tiles {
    let corners = Corners::of(instruction).tiles;
    let mut tiles = corners.slice(0, corners.count.min(count));
    let random = count - tiles.count;
    let shares = [
        (Distribution::Normal, random.div_ceil(8)),
        (Distribution::LogUniform, random.div_ceil(8)),
        (Distribution::Special, random.div_ceil(4)),
        (Distribution::Corners, random),
    ];
    // Streams other than the first, which begins with the corners again.
    for (stream, (distribution, share)) in (1..).zip(shares) {
        let samples = share.min(count - tiles.count) * instruction.m * instruction.n;
        let source = RandomStream { seed, stream };
        let Batch { tiles: part, .. } = draw(instruction, Op::Dot, distribution, Init::Low, source, samples);
        tiles.extend(&part);
    }
    tiles
}
