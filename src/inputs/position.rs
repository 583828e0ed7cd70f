//! Where a sample is in the tiles.

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
