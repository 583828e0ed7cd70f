//! Steps that align twice: products in lanes, or a term that is added late to the sum of the products.
//!
//! Products whose places have the same remainder share a lane. The effects of one alignment show only through the other one, so both are
//! searched together: the search begins where neither loses bits that D shows, and changes one setting after the other.

use super::{
    few_terms::ShownCase,
    fit::{BITS, Fit, Fitted, ROUNDINGS, cuts},
    steps::{Late, Part, Products, StepArithmetic},
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
type Knob<'a> = &'a dyn Fn(&StepArithmetic) -> Vec<StepArithmetic>;

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
        let target = all.arithmetic.target;
        let wide = self.wide();
        let plain = StepArithmetic { cut: Some(wide), lanes: None, late: None, target, ..step.arithmetic };
        if other.is_some() {
            self.added_late(plain, &alone, cases, all);
        }
        for period in 2..=MOST_LANES.min(products.len()) {
            let lane = |k: usize| products.iter().position(|product| *product == k).map(|place| place % period);
            let in_one = |shown: &&ShownCase| {
                let mut lanes = products.iter().filter(|k| shown.case.a[**k] != 0).map(|k| lane(*k));
                let first = lanes.next();
                lanes.all(|lane| Some(lane) == first)
            };
            let same: Vec<ShownCase> = alone.iter().filter(in_one).cloned().collect();
            if all.misses == 0 || all.work > MOST || same.len() < FEWEST || same.len() == alone.len() {
                continue;
            }
            let from = StepArithmetic { lanes: Some((period, wide)), ..plain };
            let lanes = self.best_of_both(from, [&inner, &outer], [&same, &alone], all);
            if lanes.misses > alone.len() / MISFIT {
                continue;
            }
            self.descended(lanes.arithmetic, &[&inner, &outer, &|arithmetic| self.rounded(arithmetic)], cases, all);
            if other.is_some() && all.misses > 0 {
                self.added_late(lanes.arithmetic, &alone, cases, all);
            }
        }
    }

    /// An alignment that loses nothing that D shows.
    fn wide(&self) -> Alignment {
        let wide = self.part.d.float().is_some_and(|float| float.precision() > 24);
        Alignment::new(if wide { WIDEST } else { WIDE }, Rounding::Rne)
    }

    /// Fits the step with its other term added late, after the sum of the products.
    fn added_late(&self, arithmetic: StepArithmetic, alone: &[ShownCase], cases: &[ShownCase], all: &mut Fitted) {
        let Alignment { bits, rounding, .. } = self.wide();
        let late = Late { sum: bits, other: bits, rounding, drop: None, floor: None };
        // With normalised products the exponent of their sum may be smaller.
        for products in [arithmetic.products, Products::Normalised] {
            let from = StepArithmetic { late: Some(late), products, ..arithmetic };
            let fitted = self.best_of_both(from, [&inner, &sums], [alone, alone], all);
            if fitted.misses <= alone.len().div_ceil(MISFIT) {
                let knobs: [Knob; 6] =
                    [&others_of, &drops, &sums, &inner, &outer, &|arithmetic| self.rounded(arithmetic)];
                self.descended(fitted.arithmetic, &knobs, cases, all);
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
        from: StepArithmetic,
        [first, second]: [Knob; 2],
        [few, cases]: [&[ShownCase]; 2],
        all: &mut Fitted,
    ) -> Fitted {
        let mut best = Fitted { arithmetic: from, misses: usize::MAX, work: 0 };
        let rounded = |arithmetic: &StepArithmetic| self.rounded(arithmetic);
        for knobs in [[second, &rounded, first], [first, &rounded, second]] {
            let mut fitted = Fitted { arithmetic: from, misses: usize::MAX, work: 0 };
            self.descended(from, &knobs, few, &mut fitted);
            let start = fitted.arithmetic;
            (fitted.arithmetic, fitted.misses) = (from, usize::MAX);
            self.descended(start, &knobs, cases, &mut fitted);
            all.work += fitted.work;
            if fitted.misses < best.misses {
                best = fitted;
            }
            if best.fits(cases.len()) {
                break;
            }
        }
        best
    }

    /// Changes one setting after the other for the better, as long as that helps.
    /// The outcome goes to `best` if it fails fewer cases.
    fn descended(&self, from: StepArithmetic, knobs: &[Knob], cases: &[ShownCase], best: &mut Fitted) {
        let (misses, work) = self.fails(from, cases, cases.len());
        let mut now = Fitted { arithmetic: from, misses, work };
        for _ in 0..ROUNDS {
            let before = now.misses;
            for knob in knobs {
                if now.misses > 0 {
                    let arithmetics = knob(&now.arithmetic);
                    self.nearer(&arithmetics, cases, &mut now);
                }
            }
            if now.misses == before {
                break;
            }
        }
        best.work += now.work;
        if now.misses < best.misses {
            (best.arithmetic, best.misses) = (now.arithmetic, now.misses);
        }
    }

    /// Other formats and roundings of the result.
    fn rounded(&self, arithmetic: &StepArithmetic) -> Vec<StepArithmetic> {
        let [usual, _] = self.targets();
        usual.into_iter().map(|target| StepArithmetic { target, ..*arithmetic }).collect()
    }
}

/// Other alignments of the products.
fn inner(arithmetic: &StepArithmetic) -> Vec<StepArithmetic> {
    cuts().map(|cut| StepArithmetic { cut: Some(cut), ..*arithmetic }).collect()
}

/// Other alignments of lanes.
fn outer(arithmetic: &StepArithmetic) -> Vec<StepArithmetic> {
    let Some((period, _)) = arithmetic.lanes else { return Vec::new() };
    cuts().map(|cut| StepArithmetic { lanes: Some((period, cut)), ..*arithmetic }).collect()
}

/// Other widths and roundings of the sum to which a term is added late.
fn sums(arithmetic: &StepArithmetic) -> Vec<StepArithmetic> {
    let Some(late) = arithmetic.late else { return Vec::new() };
    cuts()
        .map(|cut| StepArithmetic { late: Some(Late { sum: cut.bits, rounding: cut.rounding, ..late }), ..*arithmetic })
        .collect()
}

/// Other widths of the late term, each with every rounding.
fn others_of(arithmetic: &StepArithmetic) -> Vec<StepArithmetic> {
    let Some(late) = arithmetic.late else { return Vec::new() };
    BITS.flat_map(|other| ROUNDINGS.map(|rounding| Late { other, rounding, ..late }))
        .map(|late| StepArithmetic { late: Some(late), ..*arithmetic })
        .collect()
}

/// Other distances at which the late term is dropped, each with every rounding.
/// Rounding down shows in small terms, unless they are dropped, so the two settings change together.
fn drops(arithmetic: &StepArithmetic) -> Vec<StepArithmetic> {
    let Some(late) = arithmetic.late else { return Vec::new() };
    dropped_otherwise(late).map(|late| StepArithmetic { late: Some(late), ..*arithmetic }).collect()
}

/// Late terms like this one, with other distances at which they are dropped and other roundings.
pub(super) fn dropped_otherwise(late: Late) -> impl Iterator<Item = Late> {
    dropped().flat_map(move |drop| ROUNDINGS.map(|rounding| Late { drop, rounding, ..late }))
}

/// Distances below the largest exponent beyond which a term is dropped; `None` for no limit.
fn dropped() -> impl Iterator<Item = Option<i32>> {
    std::iter::once(None).chain((-5..=60).map(Some))
}
