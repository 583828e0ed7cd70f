//! Where a sample is in the tiles.

use crate::isa::Instruction;

/// The element of D that one sample is.
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
    /// The index of this element in D codes `[count][m][n]`.
    pub fn index(&self, instruction: &Instruction) -> usize {
        (self.tile * instruction.m + self.row) * instruction.n + self.column
    }
}
