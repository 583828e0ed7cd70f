//! Pieces of a tensor that fit in a cache: whole blocks, of whole rows or of a part of one.

use std::ops::Range;

use super::conversion::PART;
use crate::format::block::BlockFormat;

/// Values converted at a time; bounds the memory.
const TOGETHER: usize = 128 * PARTS * PART;
/// Parts of a piece.
const PARTS: usize = 4;

/// Some rows of a tensor, or parts of them; rows are counted over all matrices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorPiece {
    /// The rows.
    pub rows: Range<usize>,
    /// The columns.
    pub columns: Range<usize>,
}

impl TensorPiece {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Place of the first value in a tensor of so many columns.
    pub fn start(&self, columns: usize) -> usize {
        self.rows.start * columns + self.columns.start
    }
}

/// Smallest number that both divide.
pub fn common_multiple(x: usize, y: usize) -> usize {
    let (mut a, mut b) = (x, y);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    x / a * y
}

/// A division of a tensor into pieces: bands of rows that end with a matrix, cut into columns.
#[derive(Debug, Clone, Copy)]
pub struct PieceGrid {
    /// Rows of the tensor, over all matrices.
    pub rows: usize,
    /// Columns of the tensor.
    pub columns: usize,
    /// Rows with whose multiples pieces end.
    pub matrix: usize,
    /// Rows of a piece, at most.
    pub high: usize,
    /// Columns of a piece, at most.
    pub wide: usize,
}

impl PieceGrid {
    /// The pieces in their order.
    pub fn pieces(&self) -> impl Iterator<Item = TensorPiece> + use<> {
        let PieceGrid { rows, columns, .. } = *self;
        let [matrix, high, wide] = [self.matrix, self.high, self.wide].map(|extent| extent.max(1));
        let bands = (0..rows).step_by(matrix).flat_map(move |first| {
            let end = rows.min(first + matrix);
            (first..end).step_by(high).map(move |row| row..end.min(row.saturating_add(high)))
        });
        bands.flat_map(move |rows| {
            (0..columns)
                .step_by(wide)
                .map(move |column| TensorPiece { rows: rows.clone(), columns: column..columns.min(column + wide) })
        })
    }
}

/// The pieces of a tensor that is converted.
///
/// They are whole blocks of each of some rows and columns: rows are cut only where no block has several. Blocks of several rows
/// end with a matrix, and so do pieces; blocks of all rows do not.
#[derive(Debug)]
pub struct Pieces {
    grid: PieceGrid,
    /// Values of a part of a piece; the last may have fewer.
    part: usize,
    /// Pieces to work on at once.
    pub together: usize,
}

impl Pieces {
    /// The pieces of `count` values in rows of `columns` and matrices of `height` rows.
    pub fn new<const N: usize>(count: usize, columns: usize, height: usize, blocks: [(usize, usize); N]) -> Pieces {
        let common = |of: fn(&(usize, usize)) -> usize| blocks.iter().map(of).fold(1, common_multiple);
        let (block_rows, block_columns) = (common(|block| block.0), common(|block| block.1));
        let rows = count / columns.max(1);
        let cut = PART.next_multiple_of(block_columns);
        let (part, high, wide) = match columns > cut && block_rows == 1 {
            true => (cut, 1, PARTS * cut),
            false => {
                let few = (PART / columns.max(1)).max(1);
                (few * columns.max(1), (PARTS * few).next_multiple_of(block_rows), columns.max(1))
            }
        };
        let several = block_rows > 1 && block_rows < BlockFormat::WHOLE;
        let matrix = if several { height.clamp(1, rows.max(1)) } else { rows.max(1) };
        let values = high.min(matrix) * wide.min(columns);
        let together = (TOGETHER / values.max(1)).max(2);
        Pieces { grid: PieceGrid { rows, columns, matrix, high, wide }, part, together }
    }

    /// The pieces in their order.
    pub fn iter(&self) -> impl Iterator<Item = TensorPiece> + use<> {
        self.grid.pieces()
    }

    /// The parts of a piece, over which sums are; a piece is read and written at once.
    pub fn parts(&self, piece: &TensorPiece) -> impl Iterator<Item = Range<usize>> + use<> {
        let (count, part) = (piece.len(), self.part);
        (0..count).step_by(part).map(move |start| start..count.min(start + part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_under_one_scale_is_one_piece() {
        let all = BlockFormat::WHOLE;
        for row in [3, 1 << 20, 1 << 24, 1 << 30] {
            let pieces = Pieces::new(2 * row, row, 1, [(all, all)]);
            assert_eq!(pieces.iter().collect::<Vec<_>>(), [TensorPiece { rows: 0..2, columns: 0..row }]);
        }
    }

    #[test]
    fn no_piece_cuts_a_block_of_several_rows() {
        for (count, row) in [(300 * 7, 7), (300 * PART, PART), (129 * 3 * PART, 3 * PART)] {
            let pieces = Pieces::new(count, row, count / row, [(128, 128), (1, 1)]);
            let mut next = 0;
            for piece in pieces.iter() {
                assert_eq!((piece.rows.start, piece.columns.clone()), (next, 0..row));
                assert!(piece.rows.start.is_multiple_of(128), "{piece:?}");
                assert!((2..=TOGETHER).contains(&pieces.together));
                next = piece.rows.end;
            }
            assert_eq!(next * row, count);
        }
    }

    #[test]
    fn pieces_of_blocks_of_several_rows_end_with_their_matrix() {
        for (matrices, height, row) in [(3, 130, 128), (5, 1, 256), (6, 100, 7), (2, 300, PART)] {
            let mut next = 0;
            for piece in Pieces::new(matrices * height * row, row, height, [(128, 128), (1, 1)]).iter() {
                assert_eq!((piece.rows.start, piece.columns.clone()), (next, 0..row));
                assert!(
                    (next % height).is_multiple_of(128) && piece.rows.end <= (next / height + 1) * height,
                    "{piece:?}"
                );
                next = piece.rows.end;
            }
            assert_eq!(next, matrices * height);
        }
    }

    #[test]
    fn pieces_make_up_the_tensor_and_cut_no_block() {
        for (count, row) in
            [(0, 0), (0, 5), (1, 1), (33, 33), (7 * PART, 7), (3 * (PART + 5), PART + 5), (5 * PART, 5 * PART)]
        {
            let pieces = Pieces::new(count, row, 1, [(1, 32), (1, 16)]);
            let mut next = 0;
            for piece in pieces.iter() {
                assert_eq!(piece.start(row), next);
                assert!(!piece.is_empty() && piece.len() <= 2 * PARTS * PART, "{piece:?}");
                assert!(piece.columns == (0..row) || piece.rows.len() == 1, "{piece:?}");
                assert!(piece.columns.start.is_multiple_of(32), "{piece:?}");
                for part in pieces.parts(&piece) {
                    assert_eq!(piece.start(row) + part.start, next);
                    let column = part.start % piece.columns.len();
                    assert!(column.is_multiple_of(32), "{piece:?}");
                    next += part.len();
                }
            }
            assert_eq!(next, count);
        }
    }
}
