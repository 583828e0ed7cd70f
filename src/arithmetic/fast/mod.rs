//! The fast evaluator: a plan compiled into integer operations on many elements of D at a time.
//!
//! A tile's operands are decoded once. Pieces of rows of D (eight columns each) are summed with one vector lane for each
//! column; sixteen pieces are then rounded, and decoded for the next step, together. Sums take the narrowest of 32, 64 and
//! 128 bits that holds them.
//!
//! It agrees with the reference evaluator in every bit. It leaves to it: single elements where a product comes near the limit
//! beyond which it is infinite, exact sums over more than 120 bits, NaNs that are handed on; and plans with binary64
//! other than chains of fused multiply-adds, or sums of more than 128 bits.

mod chain;
mod decoder;
mod double;
mod encoder;
mod floating;
mod fused;
mod integer;
mod kernel;
mod number;
mod pieces;
mod scale;
mod stage;
mod step;
mod terms;
mod tile;
mod vectors;
mod word;

use double::{Double, chains};
use kernel::Kernel;
use tile::{Shape, Tile};

use super::Plan;
use crate::isa::Tiles;

/// The arithmetic of one instruction, compiled.
#[derive(Debug, Clone)]
pub(super) struct Fast {
    shape: Shape,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Kernel(Box<Kernel>),
    Double(Double),
}

/// Storage that one thread needs for its tiles.
#[derive(Debug, Default)]
pub(super) struct Scratch(Tile);

impl Fast {
    /// `None` if the plan needs what the fast evaluator does not have.
    pub(super) fn new(plan: &Plan) -> Option<Fast> {
        let kind = match Double::new(plan) {
            Some(double) => Kind::Double(double),
            None => Kind::Kernel(Box::new(Kernel::new(plan)?)),
        };
        Some(Fast { shape: Shape::new(&plan.instruction), kind })
    }

    /// The bytes of the D codes `[m][n]` of a tile; `reference` gives the code of an element that is left to it.
    pub(super) fn tile(
        &self,
        tiles: &Tiles,
        tile: usize,
        scratch: &mut Scratch,
        d: &mut [u8],
        reference: impl Fn(usize) -> u64,
    ) {
        match &self.kind {
            Kind::Kernel(kernel) => scratch.0.run(kernel, &self.shape, tiles, tile, d),
            Kind::Double(double) => chains(double, tiles, tile, d, &mut scratch.0.unknown),
        }
        let width = self.shape.width;
        for &at in &scratch.0.unknown {
            d[at * width..][..width].copy_from_slice(&reference(at).to_le_bytes()[..width]);
        }
    }
}
