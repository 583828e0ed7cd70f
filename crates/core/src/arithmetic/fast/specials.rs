//! Elements of D with an infinite or NaN operand, which the reference computes.

use super::decoder::NumberDecoder;
use crate::isa::{Codes, Instruction, Tiles};

/// Decoders of A, B and C.
#[derive(Debug, Clone)]
pub(super) struct OperandSpecials {
    instruction: Instruction,
    operands: [NumberDecoder; 3],
}

impl OperandSpecials {
    /// `None` if an operand has more than 32 bits.
    pub(super) fn new(i: &Instruction) -> Option<OperandSpecials> {
        let operands = [NumberDecoder::plain(i.a)?, NumberDecoder::plain(i.b)?, NumberDecoder::plain(i.c)?];
        Some(OperandSpecials { instruction: i.clone(), operands })
    }

    /// Adds the elements of a tile that have such an operand.
    pub(super) fn elements(&self, tiles: &Tiles, tile: usize, elements: &mut Vec<usize>) {
        let Instruction { m, n, k, .. } = self.instruction;
        let stored = self.instruction.stored_k();
        let special = |of: usize, codes: &Codes, at: usize| self.operands[of].decode(codes.get(at) as u32).special != 0;
        let row = |row: usize| (0..stored).any(|at| special(0, &tiles.a, (tile * m + row) * stored + at));
        let column = |column: usize| (0..k).any(|at| special(1, &tiles.b, (tile * k + at) * n + column));
        let rows: Vec<bool> = (0..m).map(row).collect();
        let columns: Vec<bool> = (0..n).map(column).collect();
        let special_scale = self.has_special_scale(tiles, tile);
        let c = |at: usize| special(2, &tiles.c, tile * m * n + at);
        elements.extend((0..m * n).filter(|at| special_scale || rows[at / n] || columns[at % n] || c(*at)));
    }

    /// True if any scale of the tile is infinite or NaN.
    fn has_special_scale(&self, tiles: &Tiles, tile: usize) -> bool {
        let Some(scale) = self.instruction.scale else { return false };
        let blocks = self.instruction.k / scale.block;
        let any = |codes: &Option<Codes>, of_tile: usize| {
            codes.as_ref().is_some_and(|codes| {
                (tile * of_tile..(tile + 1) * of_tile).any(|at| !scale.format.decode(codes.get(at)).is_finite())
            })
        };
        any(&tiles.scale_a, self.instruction.m * blocks) || any(&tiles.scale_b, blocks * self.instruction.n)
    }
}
