//! The operands of pieces of D that are computed together.

use super::{
    narrow::FactorRange,
    terms::{DecodedRow, GroupFactors},
    word::{LANES, PIECES, TURNS},
};

/// Decoded elements of A and of B, and which of them each piece takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<'a> {
    pub(super) a: DecodedRow<'a, TURNS>,
    pub(super) b: DecodedRow<'a, LANES>,
    /// Their values in binary32, where sums take them.
    pub(super) a_values: &'a [[f32; TURNS]],
    pub(super) b_values: &'a [[f32; LANES]],
    /// The exponents of those elements, where values in binary32 serve as they are.
    pub(super) range: Option<FactorRange>,
    /// Scales of the same elements, where those are not scaled already.
    pub(super) scales: Option<GroupFactors<'a>>,
    /// Where the elements of A and of B begin that a piece takes.
    pub(super) starts: &'a [(usize, usize); PIECES],
    /// Whether an element may be infinite or NaN.
    pub(super) special: bool,
    /// How many pieces there are.
    pub(super) count: usize,
    /// The elements of the group, from there.
    pub(super) group: (usize, usize),
    /// Bits after the binary point of exact products.
    pub(super) fraction_bits: i32,
}

impl<'a> Pieces<'a> {
    /// Products of the group.
    #[inline(always)]
    pub(super) fn terms(&self) -> usize {
        self.group.1 - self.group.0
    }

    /// What the group takes of A and of B for one piece; for one that is not there, anything.
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

    /// Whether `N` pieces from one on take the same elements of B, so that those are loaded once.
    #[inline(always)]
    pub(super) fn share_columns<const N: usize>(&self, first: usize) -> bool {
        self.starts[first..][..N].iter().all(|(_, start)| *start == self.starts[first].1)
    }

    /// The factors of the group for one piece.
    #[inline(always)]
    pub(super) fn factors(&self, piece: usize) -> GroupFactors<'a> {
        self.part(self.a, self.b, piece)
    }

    /// Their scales.
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
