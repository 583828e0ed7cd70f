//! Parameters that all elements of a tile share: regime, profile along k, and variation of elements.

use super::{
    Regime,
    bits::{GOLDEN, ParameterBits},
};

/// Fractions of significands: none, random, few bits, all, the last bit, the first bit.
pub(super) mod kind {
    pub(in super::super) const POWER: u32 = 0;
    pub(in super::super) const RANDOM: u32 = 1;
    pub(in super::super) const FEW: u32 = 2;
    pub(in super::super) const ONES: u32 = 3;
    pub(in super::super) const LAST: u32 = 4;
    pub(in super::super) const HALF: u32 = 5;
}

/// Property of a slot: its gap varies by row and column.
/// Bits 0 to 2 of the properties are the kind of A's fractions, 3 and 4 that of B's.
pub(super) const SPREAD: u32 = 32;
/// Property: the slot and its neighbour (another lowest bit) have opposite products of one magnitude.
pub(super) const PAIR: u32 = 64;
/// Property: the sign is the opposite of the other slots'.
pub(super) const MINUS: u32 = 128;
/// Gap of a slot whose products are zero.
pub(super) const NO_TERM: i32 = 255;

/// Kind of c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddendKind {
    Zero,
    /// A number with an exponent `c_gap` below the tile's.
    Number,
    /// Minus the product of slot `c_slot`, plus or minus a few units.
    Cancels,
    Largest,
    Any,
}

impl AddendKind {
    pub(super) const ALL: [AddendKind; 5] =
        [AddendKind::Zero, AddendKind::Number, AddendKind::Cancels, AddendKind::Largest, AddendKind::Any];
}

/// Split of the exponent of a product between its factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExponentSplit {
    Anyhow,
    ALow,
    BLow,
    Evenly,
}

impl ExponentSplit {
    pub(super) const ALL: [ExponentSplit; 4] =
        [ExponentSplit::Anyhow, ExponentSplit::ALow, ExponentSplit::BLow, ExponentSplit::Evenly];
}

/// Parameters of a tile.
///
/// Indices along k are permuted into slots. The first slots have a gap (the distance of the exponent of their products
/// below `base`) and properties of their own, 8 bits of `gaps` and `flags` each; all other slots share theirs.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    pub(super) key: u32,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) regime: Regime,
    pub(super) rotate: u32,
    pub(super) multiply: u32,
    pub(super) add: u32,
    pub(super) base: i32,
    pub(super) gaps: u64,
    pub(super) flags: u64,
    /// Number of first slots.
    pub(super) leads: u32,
    /// Properties, smallest gap and number of gaps of the other slots; no gap means zero products.
    pub(super) rest: u32,
    pub(super) rest_gap: i32,
    pub(super) rest_span: u32,
    /// Zeros among 4 elements of A in the other slots.
    pub(super) dropout: u32,
    pub(super) split: ExponentSplit,
    /// Masks: shift of all exponents, and decrement of those of spread slots, by rows and columns.
    pub(super) shift: u32,
    pub(super) spread_rows: u32,
    pub(super) spread_columns: u32,
    /// True if A and B are any finite codes.
    pub(super) any: bool,
    /// 1 if signs are random by element, else 0.
    pub(super) signs: u32,
    /// 1 if half the pairs differ in the last bit.
    pub(super) flips: u32,
    /// True if bits that the format ignores are random.
    pub(super) padding: bool,
    /// Special elements among 128.
    pub(super) special_a: u32,
    pub(super) special_b: u32,
    pub(super) special_c: u32,
    pub(super) c: AddendKind,
    pub(super) c_slot: u32,
    pub(super) c_gap: i32,
    pub(super) c_kind: u32,
    pub(super) c_sign: u32,
    pub(super) c_spread: bool,
    /// Patterns of sparse forms: 0 any positions, 1 each role once, 2 such for all rows alike.
    pub(super) patterns: u32,
    /// Frequency of integers at the ends of their range.
    pub(super) integers: u32,
    /// Exponents about which the scales of A and of B lie, and a mask of their variation.
    pub(super) scale_a: i32,
    pub(super) scale_b: i32,
    pub(super) scale_spread: u32,
}

impl Parameters {
    /// Gives a slot a gap (or [`NO_TERM`]) and properties.
    pub(super) fn slot(&mut self, slot: u32, gap: i32, flags: u32) {
        let gap = if gap == NO_TERM { gap } else { gap.clamp(0, NO_TERM - 1) };
        self.gaps ^= ((NO_TERM ^ gap) as u64) << (8 * slot);
        self.flags |= u64::from(flags) << (8 * slot);
        self.leads = self.leads.max(slot + 1);
    }

    /// Gives the other slots properties, and `span` gaps from `gap` on.
    pub(super) fn others(&mut self, flags: u32, gap: i32, span: i32) {
        (self.rest, self.rest_gap, self.rest_span) = (flags, gap, span as u32);
    }

    pub(super) fn c_number(&mut self, gap: i32, kind: u32) {
        (self.c, self.c_gap, self.c_kind) = (AddendKind::Number, gap, kind);
    }

    pub(super) fn c_cancels(&mut self, slot: u32) {
        (self.c, self.c_slot) = (AddendKind::Cancels, slot);
    }

    /// Gives the scales exponents with the sum `total`, and lets them vary.
    pub(super) fn scales(&mut self, total: i32, draw: &mut ParameterBits) {
        self.scale_a = total / 2;
        self.scale_b = total - self.scale_a;
        self.scale_spread = 0x7310 >> (4 * draw.below(4)) & 15;
    }

    pub(super) fn spread(&mut self, draw: &mut ParameterBits) {
        self.spread_rows = 0x7310 >> (4 * draw.below(4)) & 15;
        self.spread_columns = 0x7310 >> (4 * draw.below(4)) & 15;
    }

    /// Random bits of the element `index`.
    #[inline]
    pub(super) fn hash(&self, index: u32) -> u32 {
        let x = self.key.wrapping_add(index.wrapping_mul(GOLDEN));
        let x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
        let x = (x ^ x >> 15).wrapping_add(self.rows).wrapping_mul(0x846c_a68b);
        x ^ x >> 16
    }
}
