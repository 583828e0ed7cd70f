//! Mixture of inputs in a recording.

use super::{
    batch::{Drawing, Op, RandomStream},
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
    let mut mixture = Mixture::new(instruction, seed, count);
    let mut tiles = Tiles::zeros(instruction, 0);
    while tiles.count < count {
        tiles.extend(&mixture.next(count));
    }
    tiles
}

/// The tiles of [`record_batch`], drawn piece by piece.
pub struct Mixture<'i> {
    /// The corners that are left.
    corners: Tiles,
    /// The random parts, each with its number of tiles left.
    parts: Vec<(Drawing<'i>, usize)>,
}

impl<'i> Mixture<'i> {
    /// Begins a mixture of `count` tiles.
    pub fn new(instruction: &'i Instruction, seed: u64, count: usize) -> Mixture<'i> {
        let corners = Corners::of(instruction).tiles;
        let corners = corners.slice(0, corners.count.min(count));
        let random = count - corners.count;
        let shares = [
            (Distribution::Normal, random.div_ceil(8)),
            (Distribution::LogUniform, random.div_ceil(8)),
            (Distribution::Special, random.div_ceil(4)),
            (Distribution::Corners, random),
        ];
        let mut left = random;
        // Other streams than the first, which begins with the corners.
        let part = |(stream, (distribution, share)): (u64, (Distribution, usize))| {
            let share = share.min(left);
            left -= share;
            let source = RandomStream { seed, stream };
            (Drawing::new(instruction, Op::Dot, distribution, Init::Low, source), share)
        };
        let parts = (1..).zip(shares).map(part).collect();
        Mixture { corners, parts }
    }

    /// The next tiles, `most` at most; none at the end.
    pub fn next(&mut self, most: usize) -> Tiles {
        let part = self.parts.iter_mut().find(|(_, left)| *left > 0);
        match part.filter(|_| self.corners.count == 0) {
            Some((drawing, left)) => {
                let count = most.min(*left);
                *left -= count;
                drawing.next(count * drawing.samples_per_tile()).tiles
            }
            None => {
                let next = self.corners.slice(0, most.min(self.corners.count));
                self.corners = self.corners.slice(next.count, self.corners.count);
                next
            }
        }
    }
}
