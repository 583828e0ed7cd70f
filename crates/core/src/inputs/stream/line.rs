//! Properties that elements share along k, along rows and along columns.

use super::{
    bits::{GOLDEN, fraction_of},
    code::Fraction,
    fields::Ranges,
    parameters::{ExponentSplit, MINUS, NO_TERM, PAIR, Parameters, SPREAD},
};

/// First number of lines among the numbers of elements.
const LINES: u32 = 0x60000;

/// Properties of the elements with one index along k: A's column and B's row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) a: Factor,
    pub(super) b: Factor,
    /// Slot whose random bits the elements have: the first of a pair.
    pub(super) source: u32,
    /// Mask of the gaps that rows and columns add.
    pub(super) spread: u32,
    /// Sign of A's elements.
    pub(super) sign: u32,
    /// 1 for the second of a pair.
    pub(super) odd: u32,
    pub(super) dropout: u32,
}

/// One factor of the products of a line. Masks, not conditions: elements are made without branches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factor {
    /// All ones unless the factor is zero.
    pub(super) present: u64,
    /// All ones if the factor is any finite number, else zero.
    pub(super) any: u64,
    pub(super) exponent: i32,
    pub(super) fraction: Fraction,
}

impl Line {
    /// Line of a role: an index along k of dense forms, a stored index of sparse ones.
    #[inline]
    pub(super) fn new(plan: &Parameters, shape: &Ranges, role: u32) -> Line {
        let turned = role << plan.rotate | role >> (shape.slot_bits() - plan.rotate);
        let slot = turned.wrapping_mul(plan.multiply).wrapping_add(plan.add) & (shape.stored - 1);
        let lead = slot < plan.leads;
        let byte = |word: u64| (word >> (8 * slot)) as u32 & 255;
        let flags = if lead { byte(plan.flags) } else { plan.rest };
        let pair = (flags / PAIR) & 1;
        let source = slot & !pair;
        let hash = plan.hash(LINES + source);
        let choice = hash.wrapping_mul(GOLDEN);
        let gap = if lead { byte(plan.gaps) as i32 } else { plan.rest_gap + fraction_of(hash, plan.rest_span) as i32 };
        let no_term = if lead { gap == NO_TERM } else { plan.rest_span == 0 };
        let (a, b) = split(plan, shape, plan.base - gap, choice);
        // In a zero product A, B or both are zero; the other factor is arbitrary.
        let (zero_a, zero_b) = (no_term && choice >> 30 != 1, no_term && matches!(choice >> 30, 1 | 2));
        let any = plan.any || no_term;
        let factor =
            |zero: bool, exponent, fraction| Factor { present: mask(!zero), any: mask(any), exponent, fraction };
        Line {
            a: factor(zero_a, a, Fraction::of(flags & 7, &shape.a)),
            b: factor(zero_b, b, Fraction::of(flags >> 3 & 3, &shape.b)),
            source,
            spread: if flags & SPREAD != 0 { 15 } else { 0 },
            sign: ((flags / MINUS) & 1) ^ (slot & pair),
            odd: slot & pair,
            dropout: if lead { 0 } else { plan.dropout },
        }
    }
}

/// All ones or none.
#[inline]
pub(super) fn mask(on: bool) -> u64 {
    u64::from(on).wrapping_neg()
}

/// Splits the exponent of a product between its factors, within their ranges.
fn split(plan: &Parameters, shape: &Ranges, product: i32, choice: u32) -> (i32, i32) {
    let (a, b) = (&shape.a, &shape.b);
    let low = (product - b.high).clamp(a.low, a.high);
    let width = (product - b.low).clamp(low, a.high) - low;
    let few = width.min((choice >> 28) as i32);
    let above = match plan.split {
        ExponentSplit::Anyhow => fraction_of(choice, width as u32 + 1) as i32,
        ExponentSplit::ALow => few,
        ExponentSplit::BLow => width - few,
        ExponentSplit::Evenly => width / 2,
    };
    (low + above, product - low - above)
}

/// Variation of elements by rows or columns, with an entry for each.
#[derive(Debug, Clone, Default)]
pub(super) struct Sides {
    pub(super) sign: Vec<u32>,
    /// Decrements of the exponents of spread slots.
    pub(super) spread: Vec<u32>,
    /// Increments of all exponents.
    pub(super) shift: Vec<i32>,
}

impl Sides {
    /// Sets the sides of `count` rows or columns; `key` and `spread` are the plan's.
    pub(super) fn set(&mut self, plan: &Parameters, count: usize, key: u32, spread: u32) {
        let hash = |at: usize| (2 * at as u32 + 1).wrapping_mul(key);
        self.sign.clear();
        self.sign.extend((0..count).map(|at| hash(at) >> 31));
        self.spread.clear();
        self.spread.extend((0..count).map(|at| hash(at) >> 24 & spread));
        self.shift.clear();
        self.shift.extend((0..count).map(|at| (hash(at) >> 28 & plan.shift) as i32));
    }
}
