//! Places of scales in tiles of 128 rows and 4 columns, as cuBLAS takes them.
//!
//! A tile has 512 scales that follow one another. In it, row r and column c have the place `16 * (r mod 32) + 4 * (r div 32) + c`.
//! Tiles follow one another along a row of tiles. Rows and columns are padded to whole tiles.
//!
//! The formula is that of torchao (047c25c, `torchao/prototype/mx_formats/utils.py`, `to_blocked`), which names its source: NVIDIA's
//! cuBLAS documentation, "1D Block Scaling Factors Layout".

/// Rows and columns of a tile.
pub(super) const TILE: (usize, usize) = (128, 4);

/// The number of scales of a matrix of scales with its padding; `None` if it is too large.
pub fn padded(rows: usize, columns: usize) -> Option<usize> {
    rows.checked_next_multiple_of(TILE.0)?.checked_mul(columns.checked_next_multiple_of(TILE.1)?)
}

/// The place of the scale in this row and column of a matrix of scales with `columns` columns.
pub fn place(row: usize, column: usize, columns: usize) -> usize {
    let tiles = columns.div_ceil(TILE.1);
    let tile = row / TILE.0 * tiles + column / TILE.1;
    let (row, column) = (row % TILE.0, column % TILE.1);
    tile * TILE.0 * TILE.1 + 16 * (row % 32) + 4 * (row / 32) + column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scale_has_a_place_of_its_own() {
        for (rows, columns) in [(128, 4), (256, 12), (100, 3), (129, 5)] {
            let mut places: Vec<usize> =
                (0..rows).flat_map(|row| (0..columns).map(move |column| place(row, column, columns))).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), rows * columns);
            assert!(places.last().unwrap() < &padded(rows, columns).unwrap());
        }
        assert_eq!(
            (place(0, 1, 4), place(1, 0, 4), place(32, 0, 4), place(0, 4, 8), place(128, 0, 8)),
            (1, 16, 4, 512, 1024)
        );
        assert_eq!((padded(1, 1), padded(129, 5), padded(usize::MAX, 1)), (Some(512), Some(2048), None));
    }
}
