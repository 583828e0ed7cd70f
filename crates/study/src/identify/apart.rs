//! Steps that align twice: products in lanes, or a term that is added late to the sum of the products.
//!
//! Products whose places have the same remainder share a lane. The effects of one alignment show only through the other one, so both are
//! searched together: the search begins where neither loses bits that D shows, and changes one setting after the other.

use super::{
    few_terms::ShownCase,
    fit::{BITS, Fit, Fitted, ROUNDINGS, cuts},
    steps::{Late, Own, Part, Products},
};
use crate::{arithmetic::Alignment, format::Rounding, isa::Case, order::Leaf};

/// Largest number of lanes that is tried.
pub(super) const MOST_LANES: usize = 5;
/// Fewest cases with products of a single lane by which lanes are fitted.
const FEWEST: usize = 16;
/// A first fit that fails more than one case in this many is given up.
const MISFIT: usize = 8;
/// Bits of an alignment that loses nothing that D shows, if D has at most 24 bits.
/// The fast evaluator has no room for more.
const WIDE: i32 = 48;
/// Bits of such an alignment if D has more than 24 bits.
const WIDEST: i32 = 60;
/// Cost above which no further number of lanes is tried, in products and operations.
const MOST: u64 = 12_000_000;
/// Largest number of passes over all settings of a step.
const ROUNDS: usize = 4;

/// The other values of one setting of a step.
type Knob<'a> = &'a dyn Fn(&Own) -> Vec<Own>;

impl Fit<'_> {
    /// Fits a step with lanes, or with a term that is added after the products.
    ///
    /// The best fit is kept in `all`. Steps with more than one term that is not a product are left alone.
    pub(super) fn apart(&self, cases: &[ShownCase], all: &mut Fitted) {
        let step = self.step();
        let products: Vec<usize> = step.parts.iter().filter_map(Part::product).collect();
        let others: Vec<usize> = (0..step.parts.len()).filter(|at| step.parts[*at].product().is_none()).collect();
        let other = match others[..] {
            [] => None,
            [other] => Some(other),
            _ => return,
        };
        if products.is_empty() || products.len() + others.len() < 2 {
            return;
        }
        let is_there = |leaf: &Leaf, case: &Case| match leaf {
            Leaf::C => case.c != 0,
            Leaf::Product(k) => case.a[*k] != 0,
        };
        let without = |shown: &&ShownCase| {
            other.is_none_or(|other| !step.leaves[other].iter().any(|leaf| is_there(leaf, &shown.case)))
        };
        let alone: Vec<ShownCase> = cases.iter().filter(without).cloned().collect();
        let target = all.own.target;
        let wide = self.wide();
        let plain = Own { cut: Some(wide), lanes: None, late: None, target, ..step.own };
        if other.is_some() {
            self.added_late(plain, &alone, cases, all);
        }
        for period in 2..=MOST_LANES.min(products.len()) {
            let lane = |k: usize| products.iter().position(|own| *own == k).map(|place| place % period);
            let in_one = |shown: &&ShownCase| {
                let mut lanes = products.iter().filter(|k| shown.case.a[**k] != 0).map(|k| lane(*k));
                let first = lanes.next();
                lanes.all(|lane| Some(lane) == first)
            };
            let same: Vec<ShownCase> = alone.iter().filter(in_one).cloned().collect();
            if all.misses == 0 || all.work > MOST || same.len() < FEWEST || same.len() == alone.len() {
                continue;
            }
            let from = Own { lanes: Some((period, wide)), ..plain };
            let lanes = self.best_of_both(from, [&inner, &outer], [&same, &alone], all);
            if lanes.misses > alone.len() / MISFIT {
                continue;
            }
            self.descended(lanes.own, &[&inner, &outer, &|own| self.rounded(own)], cases, all);
            if other.is_some() && all.misses > 0 {
                self.added_late(lanes.own, &alone, cases, all);
            }
        }
    }

    /// An alignment that loses nothing that D shows.
    fn wide(&self) -> Alignment {
        let wide = self.part.d.float().is_some_and(|float| float.precision() > 24);
        Alignment::new(if wide { WIDEST } else { WIDE }, Rounding::Rne)
    }

    /// Fits the step with its other term added late, after the sum of the products.
    fn added_late(&self, own: Own, alone: &[ShownCase], cases: &[ShownCase], all: &mut Fitted) {
        let Alignment { bits, rounding, .. } = self.wide();
        let late = Late { sum: bits, other: bits, rounding, drop: None, floor: None };
        // With normalised products the exponent of their sum may be smaller.
        for products in [own.products, Products::Normalised] {
            let from = Own { late: Some(late), products, ..own };
            let found = self.best_of_both(from, [&inner, &sums], [alone, alone], all);
            if found.misses <= alone.len().div_ceil(MISFIT) {
                let knobs: [Knob; 6] = [&others_of, &drops, &sums, &inner, &outer, &|own| self.rounded(own)];
                self.descended(found.own, &knobs, cases, all);
            }
            if all.fits(cases.len()) {
                break;
            }
        }
    }

    /// Finds the best values of two settings that hide each other, and tries both orders of changing them.
    /// The cases in `few` give a start, which all `cases` then improve.
    fn best_of_both(
        &self,
        from: Own,
        [first, second]: [Knob; 2],
        [few, cases]: [&[ShownCase]; 2],
        all: &mut Fitted,
    ) -> Fitted {
        let mut best = Fitted { own: from, misses: usize::MAX, work: 0 };
        let rounded = |own: &Own| self.rounded(own);
        for knobs in [[second, &rounded, first], [first, &rounded, second]] {
            let mut own = Fitted { own: from, misses: usize::MAX, work: 0 };
            self.descended(from, &knobs, few, &mut own);
            let start = own.own;
            (own.own, own.misses) = (from, usize::MAX);
            self.descended(start, &knobs, cases, &mut own);
            all.work += own.work;
            if own.misses < best.misses {
                best = own;
            }
            if best.fits(cases.len()) {
                break;
            }
        }
        best
    }

    /// Changes one setting after the other for the better, as long as that helps.
    /// The outcome goes to `best` if it fails fewer cases.
    fn descended(&self, from: Own, knobs: &[Knob], cases: &[ShownCase], best: &mut Fitted) {
        let (misses, work) = self.fails(from, cases, cases.len());
        let mut now = Fitted { own: from, misses, work };
        for _ in 0..ROUNDS {
            let before = now.misses;
            for knob in knobs {
                if now.misses > 0 {
                    let owns = knob(&now.own);
                    self.nearer(&owns, cases, &mut now);
                }
            }
            if now.misses == before {
                break;
            }
        }
        best.work += now.work;
        if now.misses < best.misses {
            (best.own, best.misses) = (now.own, now.misses);
        }
    }

    /// Other formats and roundings of the result.
    fn rounded(&self, own: &Own) -> Vec<Own> {
        let [usual, _] = self.targets();
        usual.into_iter().map(|target| Own { target, ..*own }).collect()
    }
}

/// Other alignments of the products.
fn inner(own: &Own) -> Vec<Own> {
    cuts().map(|cut| Own { cut: Some(cut), ..*own }).collect()
}

/// Other alignments of lanes.
fn outer(own: &Own) -> Vec<Own> {
    let Some((period, _)) = own.lanes else { return Vec::new() };
    cuts().map(|cut| Own { lanes: Some((period, cut)), ..*own }).collect()
}

/// Other widths and roundings of the sum to which a term is added late.
fn sums(own: &Own) -> Vec<Own> {
    let Some(late) = own.late else { return Vec::new() };
    cuts().map(|cut| Own { late: Some(Late { sum: cut.bits, rounding: cut.rounding, ..late }), ..*own }).collect()
}

/// Other widths of the late term, each with every rounding.
fn others_of(own: &Own) -> Vec<Own> {
    let Some(late) = own.late else { return Vec::new() };
    BITS.flat_map(|other| ROUNDINGS.map(|rounding| Late { other, rounding, ..late }))
        .map(|late| Own { late: Some(late), ..*own })
        .collect()
}

/// Other distances at which the late term is dropped, each with every rounding.
/// Rounding down shows in small terms, unless they are dropped, so the two settings change together.
fn drops(own: &Own) -> Vec<Own> {
    let Some(late) = own.late else { return Vec::new() };
    dropped_otherwise(late).map(|late| Own { late: Some(late), ..*own }).collect()
}

/// Late terms like this one, with other distances at which they are dropped and other roundings.
pub(super) fn dropped_otherwise(late: Late) -> impl Iterator<Item = Late> {
    dropped().flat_map(move |drop| ROUNDINGS.map(|rounding| Late { drop, rounding, ..late }))
}

/// Distances below the largest exponent beyond which a term is dropped; `None` for no limit.
fn dropped() -> impl Iterator<Item = Option<i32>> {
    std::iter::once(None).chain((-5..=60).map(Some))
}
