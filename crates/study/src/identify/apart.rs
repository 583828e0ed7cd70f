//! Steps that align twice: products by remainder apart (lanes), or the sum of the products with what is added late. Each alignment shows
//! through the other, so that both are looked for together, one thing after the other, from where the one or the other hides nothing.

use super::{
    few_terms::ShownCase,
    fit::{BITS, Fit, Fitted, ROUNDINGS, cuts},
    steps::{Late, Own, Part, Products},
};
use crate::{arithmetic::Alignment, format::Rounding, isa::Case, order::Leaf};

/// The most lanes.
pub(super) const MOST_LANES: usize = 5;
/// The fewest cases that say something of lanes, and the part of cases of which a step may fail one where it is worth looking on.
const FEWEST: usize = 16;
const MISFIT: usize = 8;
/// Bits of an alignment that hides nothing of what D shows: where D has at most 24, no more than the fast evaluator has room for.
const WIDE: i32 = 48;
const WIDEST: i32 = 60;
/// Products and operations after which no more lanes are looked for.
const MOST: u64 = 12_000_000;
/// How often all is gone through.
const ROUNDS: usize = 4;

/// One thing that a step may do otherwise.
type Knob<'a> = &'a dyn Fn(&Own) -> Vec<Own>;

impl Fit<'_> {
    /// What a step does that aligns what is not a product after the products, or products by remainder apart.
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

    /// An alignment that hides nothing.
    fn wide(&self) -> Alignment {
        let wide = self.part.d.float().is_some_and(|float| float.precision() > 24);
        Alignment::new(if wide { WIDEST } else { WIDE }, Rounding::Rne)
    }

    /// The same step where what is not a product is added late.
    fn added_late(&self, own: Own, alone: &[ShownCase], cases: &[ShownCase], all: &mut Fitted) {
        let Alignment { bits, rounding, .. } = self.wide();
        let late = Late { sum: bits, other: bits, rounding, drop: None, floor: None };
        // The exponent of a sum that is normalised may be smaller.
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

    /// The best of what two alignments may be, from where the one hides nothing or the other does not: by cases for the start, then by all.
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

    /// One thing after the other is changed for the better, as long as that helps; `best` is what that ends with, if it fails fewer
    /// cases.
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

/// Other widths and roundings of a sum to which something is added late.
fn sums(own: &Own) -> Vec<Own> {
    let Some(late) = own.late else { return Vec::new() };
    cuts().map(|cut| Own { late: Some(Late { sum: cut.bits, rounding: cut.rounding, ..late }), ..*own }).collect()
}

/// Other widths of what is added late, also with the other roundings.
fn others_of(own: &Own) -> Vec<Own> {
    let Some(late) = own.late else { return Vec::new() };
    BITS.flat_map(|other| ROUNDINGS.map(|rounding| Late { other, rounding, ..late }))
        .map(|late| Own { late: Some(late), ..*own })
        .collect()
}

/// Other exponents below which what is added late is left out, also with the other roundings: what rounds down shows in small terms,
/// but for those that are left out.
fn drops(own: &Own) -> Vec<Own> {
    let Some(late) = own.late else { return Vec::new() };
    dropped_otherwise(late).map(|late| Own { late: Some(late), ..*own }).collect()
}

/// The same with other exponents below which it is left out, and other roundings.
pub(super) fn dropped_otherwise(late: Late) -> impl Iterator<Item = Late> {
    dropped().flat_map(move |drop| ROUNDINGS.map(|rounding| Late { drop, rounding, ..late }))
}

/// How far below the largest exponent a term may be left out; and not at all.
fn dropped() -> impl Iterator<Item = Option<i32>> {
    std::iter::once(None).chain((-5..=60).map(Some))
}
