//! Operands of pieces of D that are computed together.

use super::{
    narrow::FactorRange,
    terms::{DecodedRow, GroupFactors},
    word::{LANES, PIECES, TURNS},
};

/// Decoded elements of A and of B, and those that each piece takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<'a> {
    pub(super) a: DecodedRow<'a, TURNS>,
    pub(super) b: DecodedRow<'a, LANES>,
    /// Values in binary32, if sums take them.
    pub(super) a_values: &'a [[f32; TURNS]],
    pub(super) b_values: &'a [[f32; LANES]],
    /// Exponents of those elements, if values in binary32 can be used unchanged.
    pub(super) range: Option<FactorRange>,
    /// Scales of the same elements, unless those are scaled already.
    pub(super) scales: Option<GroupFactors<'a>>,
    /// First elements of A and of B of each piece.
    pub(super) starts: &'a [(usize, usize); PIECES],
    /// True if an element may be infinite or NaN.
    pub(super) special: bool,
    /// Number of pieces.
    pub(super) count: usize,
    /// Elements of the group, from there.
    pub(super) group: (usize, usize),
    /// Fraction bits of exact products.
    pub(super) fraction_bits: i32,
}

impl<'a> Pieces<'a> {
    /// Number of products of the group.
    #[inline(always)]
    pub(super) fn terms(&self) -> usize {
        self.group.1 - self.group.0
    }

    /// Elements of A and of B of the group for one piece; arbitrary for a missing piece.
    #[inline(always)]
    pub(super) fn of_group<'b, T>(
        &self,
        piece: usize,
        a: &'b [[T; TURNS]],
        b: &'b [[T; LANES]],
    ) -> (&'b [[T; TURNS]], &'b [[T; LANES]]) {
        let ((a_start, b_start), (from, count)) = (self.starts[piece], (self.group.0, self.terms()));
        (&a[a_start + from..][..count], &b[b_start + from..][..count])
    }

    /// True if `N` pieces from `first` on take the same elements of B, so that those are loaded once.
    #[inline(always)]
    pub(super) fn share_columns<const N: usize>(&self, first: usize) -> bool {
        self.starts[first..][..N].iter().all(|(_, start)| *start == self.starts[first].1)
    }

    /// Factors of the group for one piece.
    #[inline(always)]
    pub(super) fn factors(&self, piece: usize) -> GroupFactors<'a> {
        self.part(self.a, self.b, piece)
    }

    /// Scales of the group for one piece.
    #[inline(always)]
    pub(super) fn scales(&self, piece: usize) -> Option<GroupFactors<'a>> {
        self.scales.map(|scales| self.part(scales.a, scales.b, piece))
    }

    #[inline(always)]
    fn part(&self, a: DecodedRow<'a, TURNS>, b: DecodedRow<'a, LANES>, piece: usize) -> GroupFactors<'a> {
        let ((a_start, b_start), (from, to)) = (self.starts[piece], self.group);
        GroupFactors { a: a.part(a_start + from, a_start + to), b: b.part(b_start + from, b_start + to) }
    }
}
