//! Slices cut into pieces for the threads of rayon's pool.

use crate::base::parallel;

/// Elements of a piece: so many that starting its thread costs nothing in comparison.
pub(super) const PIECE: usize = 1 << 16;

/// Calls `convert` on pieces of two slices of equal length and sums its results.
pub(super) fn chunks<A: Sync, B: Send>(
    inputs: &[A],
    outputs: &mut [B],
    convert: impl Fn(&[A], &mut [B]) -> usize + Sync,
) -> usize {
    let pieces = inputs.chunks(PIECE).zip(outputs.chunks_mut(PIECE));
    parallel::map(pieces, |(inputs, outputs)| convert(inputs, outputs)).iter().sum()
}
