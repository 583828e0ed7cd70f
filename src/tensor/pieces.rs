//! Pieces of a tensor that fit in a cache: whole blocks, of whole rows or of a part of one.

use std::ops::Range;

use super::conversion::PART;
use crate::format::block::BlockFormat;

/// Values that are worked on before what they gave is taken: memory is bounded by it.
const TOGETHER: usize = 128 * PARTS * PART;
/// Parts of a piece, over which sums are; a piece is read and written as a whole.
const PARTS: usize = 4;

/// Values that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TensorPiece {
    /// The place of the first in the tensor.
    pub(crate) start: usize,
    /// Number of values.
    pub(crate) count: usize,
    /// Values of a row of the piece: a row of the tensor, or the part of one.
    pub(crate) row: usize,
    /// Values of a part; the last may have fewer.
    part: usize,
}

impl TensorPiece {
    pub(crate) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let (count, part) = (self.count, self.part);
        (0..count).step_by(part).map(move |start| start..count.min(start + part))
    }
}

/// Smallest number that both divide.
pub(crate) fn common_multiple(x: usize, y: usize) -> usize {
    let (mut a, mut b) = (x, y);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    x / a * y
}

/// Pieces of a tensor of `count` values in rows of `row`, and how many to work on at once.
///
/// They are whole blocks of each of some rows and columns: rows are cut only where no block has several. Blocks of several rows
/// end with a matrix of `height` rows, and so do pieces; blocks of all rows do not.
pub(crate) fn pieces<const N: usize>(
    count: usize,
    (row, height): (usize, usize),
    blocks: [(usize, usize); N],
) -> (impl Iterator<Item = TensorPiece>, usize) {
    let common = |of: fn(&(usize, usize)) -> usize| blocks.iter().map(of).fold(1, common_multiple);
    let (rows, block) = (common(|own| own.0), common(|own| own.1));
    let cut = PART.next_multiple_of(block);
    let (part, band, columns) = match row > cut && rows == 1 {
        true => (cut, row, PARTS * cut),
        false => {
            let part = (PART / row.max(1)).max(1) * row.max(1);
            (part, (PARTS * part).next_multiple_of(rows.saturating_mul(row.max(1))), usize::MAX)
        }
    };
    let matrix =
        if rows > 1 && rows < BlockFormat::WHOLE { (height * row).clamp(1, count.max(1)) } else { count.max(1) };
    let together = (TOGETHER / band.min(columns).min(matrix).max(1)).max(2);
    let bands = (0..count).step_by(matrix).flat_map(move |from| {
        let end = count.min(from + matrix);
        (from..end).step_by(band).map(move |from| (from, band.min(end - from)))
    });
    let all = bands.flat_map(move |(from, all)| {
        (0..all).step_by(columns).map(move |column| {
            let count = columns.min(all - column);
            TensorPiece { start: from + column, count, row: row.min(count), part }
        })
    });
    (all, together)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_under_one_scale_is_one_piece() {
        let whole = BlockFormat::WHOLE;
        for row in [3, 1 << 20, 1 << 24, 1 << 30] {
            let (pieces, _) = pieces(2 * row, (row, 1), [(whole, whole)]);
            assert_eq!(pieces.map(|piece| (piece.start, piece.count)).collect::<Vec<_>>(), [(0, 2 * row)]);
        }
    }

    #[test]
    fn no_piece_cuts_a_block_of_several_rows() {
        for (count, row) in [(300 * 7, 7), (300 * PART, PART), (129 * 3 * PART, 3 * PART)] {
            let (mut next, (all, together)) = (0, pieces(count, (row, count / row), [(128, 128), (1, 1)]));
            for piece in all {
                assert_eq!((piece.start, piece.row), (next, row));
                assert!(piece.start.is_multiple_of(128 * row), "{piece:?}");
                assert!((2..=TOGETHER).contains(&together));
                next += piece.count;
            }
            assert_eq!(next, count);
        }
    }

    #[test]
    fn pieces_of_blocks_of_several_rows_end_with_their_matrix() {
        for (matrices, height, row) in [(3, 130, 128), (5, 1, 256), (6, 100, 7), (2, 300, PART)] {
            let (mut next, (all, _)) = (0, pieces(matrices * height * row, (row, height), [(128, 128), (1, 1)]));
            for piece in all {
                let (matrix, inside) = (piece.start / row / height, piece.start / row % height);
                assert_eq!((piece.start, piece.row), (next, row));
                assert!(
                    inside.is_multiple_of(128) && piece.count <= ((matrix + 1) * height * row) - piece.start,
                    "{piece:?}"
                );
                next += piece.count;
            }
            assert_eq!(next, matrices * height * row);
        }
    }

    #[test]
    fn pieces_make_up_the_tensor_and_cut_no_block() {
        for (count, row) in
            [(0, 0), (0, 5), (1, 1), (33, 33), (7 * PART, 7), (3 * (PART + 5), PART + 5), (5 * PART, 5 * PART)]
        {
            let (mut next, (all, _)) = (0, pieces(count, (row, 1), [(1, 32), (1, 16)]));
            for piece in all {
                assert_eq!(piece.start, next);
                assert!(piece.count > 0 && piece.count <= 2 * PARTS * PART, "{piece:?}");
                match piece.row == row {
                    true => assert!(piece.start.is_multiple_of(row) && piece.count.is_multiple_of(row)),
                    false => assert!((piece.start % row).is_multiple_of(32) && piece.count == piece.row, "{piece:?}"),
                }
                for part in piece.parts() {
                    assert_eq!(piece.start + part.start, next);
                    assert!((part.start % piece.row).is_multiple_of(32) || part.start.is_multiple_of(row), "{piece:?}");
                    next += part.len();
                }
            }
            assert_eq!(next, count);
        }
    }
}
