//! Pieces of a tensor that fit in a cache: whole blocks, of whole rows or of a part of one.

use std::ops::Range;

use super::tensor::PART;
use crate::{
    Result,
    base::{interrupt, parallel},
};

/// Pieces that are worked on before what they gave is taken: memory is bounded by it.
pub(super) const TOGETHER: usize = 128;
/// Parts of a piece, over which sums are; a piece is read and written as a whole.
const PARTS: usize = 4;

/// Values that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TensorPiece {
    /// The place of the first in the tensor.
    pub(super) start: usize,
    /// Number of values.
    pub(super) count: usize,
    /// Values of a row of the piece: a row of the tensor, or the part of one.
    pub(super) row: usize,
    /// Values of a part; the last may have fewer.
    part: usize,
}

impl TensorPiece {
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let (count, part) = (self.count, self.part);
        (0..count).step_by(part).map(move |start| start..count.min(start + part))
    }
}

/// Pieces of a tensor of `count` values in rows of `row`; rows are cut at multiples of `block`.
pub(super) fn pieces(count: usize, row: usize, block: usize) -> impl Iterator<Item = TensorPiece> {
    let cut = PART.next_multiple_of(block.max(1));
    let (part, band, columns) = match row > cut {
        true => (cut, row, PARTS * cut),
        false => {
            let part = (PART / row.max(1)).max(1) * row.max(1);
            (part, PARTS * part, usize::MAX)
        }
    };
    (0..count).step_by(band).flat_map(move |from| {
        let all = band.min(count - from);
        (0..all).step_by(columns).map(move |column| {
            let count = columns.min(all - column);
            TensorPiece { start: from + column, count, row: row.min(count), part }
        })
    })
}

/// Applies `work` to items, `together` of them on all threads, and `take` to the results in order.
pub(crate) fn of_each<T: Send + Sync, M: Default, R: Send>(
    mut items: impl Iterator<Item = T>,
    together: usize,
    work: impl Fn(&T, &mut M) -> Result<R> + Sync,
    mut take: impl FnMut(&T, R),
) -> Result<()> {
    loop {
        interrupt::check()?;
        let some: Vec<T> = items.by_ref().take(together).collect();
        if some.is_empty() {
            return Ok(());
        }
        let results = parallel::map_with(&some, M::default, |memory, item| work(item, memory));
        for (item, result) in some.iter().zip(results) {
            take(item, result?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_tensor_and_cut_no_block() {
        for (count, row) in
            [(0, 0), (0, 5), (1, 1), (33, 33), (7 * PART, 7), (3 * (PART + 5), PART + 5), (5 * PART, 5 * PART)]
        {
            let (mut next, all) = (0, pieces(count, row, 32));
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
