//! Mixture of inputs in a recording.

use super::{
    batch::{Batch, Op, RandomStream, draw},
    corners::Corners,
    values::{Distribution, Init},
};
use crate::isa::{Instruction, Tiles};

/// Size in bytes of the random tiles of a usual recording; at least [`RANDOM_TILES`] tiles.
const RANDOM_BYTES: usize = 32 << 10;
/// Fewest random tiles in a usual recording.
const RANDOM_TILES: usize = 4;

/// Number of tiles of a usual recording: every corner, and about 32 KiB of random tiles.
pub fn record_tiles(instruction: &Instruction) -> usize {
    Corners::of(instruction).tiles.count + (RANDOM_BYTES / instruction.tile_bytes()).max(RANDOM_TILES)
}

/// Tiles of a recording of `instruction`, `count` of them: the named corners, then random tiles.
///
/// The corners ([`Corners`]) are the same for every seed; there may be more of them than `count`. Eight random tiles
/// are one of Normal(0, 1) values, one of log-uniform ones, two of special values, and four of directed cases of every
/// regime, with all k products and c.
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
    // Other streams than the first, which begins with the corners.
    for (stream, (distribution, share)) in (1..).zip(shares) {
        let samples = share.min(count - tiles.count) * instruction.m * instruction.n;
        let source = RandomStream { seed, stream };
        let Batch { tiles: part, .. } = draw(instruction, Op::Dot, distribution, Init::Low, source, samples);
        tiles.extend(&part);
    }
    tiles
}
