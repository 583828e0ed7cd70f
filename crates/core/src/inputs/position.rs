//! Position of a sample in the tiles.

use crate::isa::Instruction;

/// Position of the element of D of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Index of the tile.
    pub tile: usize,
    /// Row of D.
    pub row: usize,
    /// Column of D.
    pub column: usize,
}

impl Position {
    /// Index of this element in D codes `[count][m][n]`.
    pub fn index(&self, instruction: &Instruction) -> usize {
        (self.tile * instruction.m + self.row) * instruction.n + self.column
    }
}
