//! Fits of all steps of an order, from the last step on, and of the order if masks leave several.

use super::{
    apart::MOST_LANES,
    candidate::evaluator,
    directed::{Directed, Shown},
    few_terms::ShownCase,
    fit::{Depth, Fit, ROUNDINGS},
    orders::{self, Undecided},
    run::Dialogue,
    steps::{Products, Step, StepArithmetic, SumSteps},
};
use crate::{
    base::interrupt,
    isa::Tiles,
    order::{Leaf, Order},
};

/// Largest number of steps of a sum that is fitted step by step.
const MOST_STEPS: usize = 80;
/// Outputs that show one step.
const SHOWING: usize = 1024;
/// Largest number of tiles for these outputs.
const MOST_SHOWING: usize = 32;
/// Products and operations that fitting the steps of one order may take.
const FITTING: u64 = 1 << 25;
/// Products and operations that fitting several orders may take.
const ORDERING: u64 = 1 << 25;
/// An order that misses at most one output in this many is taken at once.
const NEAR: usize = 256;
/// Number of orders that are kept.
const COMPARED: usize = 3;
/// Factor by which another order has to miss fewer outputs than the plain one.
const FAR: usize = 2;

impl Dialogue<'_> {
    /// Fits the steps of an order; returns the order, its steps, and the steps of other orders.
    ///
    /// If masks leave open how blocks are added, the order that explains the most answers is returned. If they find no blocks,
    /// one step is assumed, and the order is kept in `open` for a later try.
    pub(super) fn fit_any(
        &mut self,
        directed: &mut Directed,
        order: Order,
        nan: u64,
    ) -> (Order, Option<SumSteps>, Vec<SumSteps>) {
        let mut fitting = Vec::new();
        match orders::undecided(&order) {
            None => {}
            Some(Undecided::Blocks) => {
                let orders = [vec![order.clone()], orders::alternatives(&order)].concat();
                fitting = self.fit_all(directed, &orders, nan);
            }
            Some(Undecided::Products) => self.open = Some(order.clone()),
        }
        if let Some((0, ..)) = fitting.first() {
            let (_, order, steps) = fitting.swap_remove(0);
            return (order, Some(steps), Vec::new());
        }
        let most = self.work.spent() + FITTING;
        let thorough = self.fit(directed, &order, nan, (Depth::Twice, most));
        let Some(thorough) = thorough else { return (order, None, Vec::new()) };
        if fitting.is_empty() {
            return (order, Some(thorough), Vec::new());
        }
        let (mut best, mut others) = ((self.missed_by(&thorough), order, thorough), Vec::new());
        for (misses, order, steps) in fitting {
            others.push(steps.clone());
            // A plain order is given up for one that explains far more.
            if FAR * misses < best.0 || order == best.1 && misses < best.0 {
                best = (misses, order, steps);
            }
        }
        (best.1, Some(best.2), others)
    }

    /// Fits several orders; returns the nearest ones, each with its steps.
    ///
    /// Each comes with the number of answers that it misses. An order that misses few enough for one common cause is returned alone, with 0
    /// misses.
    pub(super) fn fit_all(
        &mut self,
        directed: &mut Directed,
        orders: &[Order],
        nan: u64,
    ) -> Vec<(usize, Order, SumSteps)> {
        let most = self.work.spent() + ORDERING;
        let mut fitting: Vec<(usize, Order, SumSteps)> = Vec::new();
        for order in orders.iter().cloned() {
            if self.work.spent() > most || interrupt::pending().is_some() {
                break;
            }
            let Some(steps) = self.fit(directed, &order, nan, (Depth::Usual, most)) else { continue };
            let misses = self.missed_by(&steps);
            if misses <= self.bench.answers.outputs() / NEAR {
                return vec![(0, order, steps)];
            }
            fitting.push((misses, order, steps));
        }
        fitting.sort_by_key(|(misses, ..)| *misses);
        fitting.truncate(COMPARED);
        fitting
    }

    /// The number of known answers that these steps do not give.
    fn missed_by(&self, steps: &SumSteps) -> usize {
        let part = &self.bench.answers.part;
        let evaluator = evaluator(&steps.rule(part), part);
        if evaluator.as_ref().is_some_and(|evaluator| !evaluator.is_fast()) {
            self.work.spend_cases(self.bench.answers.outputs());
        }
        evaluator.map_or(usize::MAX, |evaluator| self.bench.answers.misses(&evaluator))
    }

    /// Fits the steps of an order, the last one first, to tiles that show each step alone.
    ///
    /// After `most` work, only the arithmetic of other steps is tried for a step. In the usual depth every step has to be explained; else
    /// the result is `None`.
    fn fit(
        &mut self,
        directed: &mut Directed,
        order: &Order,
        nan: u64,
        (depth, most): (Depth, u64),
    ) -> Option<SumSteps> {
        let part = self.bench.answers.part.clone();
        let mut steps = SumSteps::of(order, nan)?;
        if steps.steps.len() > MOST_STEPS {
            return None;
        }
        let mut arithmetics: Vec<StepArithmetic> = Vec::new();
        for number in 0..steps.steps.len() {
            if depth == Depth::Usual && self.work.spent() > most || interrupt::pending().is_some() {
                return None;
            }
            // The cases that show the alignment and the rounding, and the number of them that stay unexplained.
            let mut sums = (Vec::new(), 0);
            for shown in [Shown::Sum, Shown::Products] {
                let cases = self.shown(directed, &steps.steps[number], shown, SHOWING)?;
                if cases.is_empty() {
                    continue;
                }
                let now = steps.steps[number].arithmetic;
                let fit = Fit { part: &part, steps: &steps, number, depth };
                // Steps are often alike, so the arithmetic of the steps found before is tried first.
                let alike = arithmetics.iter().map(|other| match (shown, other.late) {
                    (Shown::Sum, Some(_)) => *other,
                    (Shown::Sum, None) => StepArithmetic { products: Products::Exact, ..*other },
                    (Shown::Products, _) => StepArithmetic { products: other.products, ..now },
                });
                let mut tried = 0;
                let same = alike.into_iter().find(|arithmetic| {
                    let (misses, work) = fit.fails(*arithmetic, &cases, 0);
                    tried += work;
                    misses == 0
                });
                self.work.spend(tried);
                let arithmetic = match same {
                    Some(arithmetic) => {
                        if shown == Shown::Sum {
                            sums = (cases, 0);
                        }
                        arithmetic
                    }
                    None if self.work.spent() > most => continue,
                    None => {
                        let mut fitted = match shown {
                            Shown::Sum => fit.sum(&cases)?,
                            Shown::Products => fit.full_products(&sums, &cases)?,
                        };
                        // A result that was rounded in a wider format may be converted to D with another rounding.
                        let narrow = part.d.bits < 32 || depth > Depth::Usual;
                        if number == 0 && shown == Shown::Sum && narrow && !fitted.fits(cases.len()) {
                            for rounding in ROUNDINGS {
                                let mut other = steps.clone();
                                other.output = rounding;
                                let depth = depth.min(Depth::Formats);
                                let again = Fit { part: &part, steps: &other, number, depth }.sum(&cases)?;
                                let work = fitted.work + again.work;
                                if again.misses < fitted.misses {
                                    fitted = again;
                                    steps.output = other.output;
                                }
                                fitted.work = work;
                            }
                        }
                        self.work.spend(fitted.work);
                        if depth == Depth::Usual && shown == Shown::Sum && !fitted.fits(cases.len()) {
                            return None;
                        }
                        if shown == Shown::Sum {
                            sums = (cases, fitted.misses);
                        }
                        fitted.arithmetic
                    }
                };
                steps.steps[number].arithmetic = arithmetic;
            }
            let arithmetic = steps.steps[number].arithmetic;
            if !arithmetics.contains(&arithmetic) {
                arithmetics.push(arithmetic);
            }
        }
        Some(steps)
    }

    /// Asks about `outputs` cases that show what a step does; returns them with the answers.
    pub(super) fn shown(
        &mut self,
        directed: &mut Directed,
        step: &Step,
        shown: Shown,
        outputs: usize,
    ) -> Option<Vec<ShownCase>> {
        let part = self.bench.answers.part.clone();
        let all = Leaf::all(&part);
        let mut tiles = Tiles::zeros(&part, 0);
        for _ in 0..outputs.div_ceil(part.m * part.n).min(MOST_SHOWING) {
            if let Some(tile) = directed.tile(step, &all, shown) {
                tiles.extend(&tile);
            }
        }
        // Two products at these distances show if the step has lanes.
        if shown == Shown::Sum {
            (2..=MOST_LANES).filter_map(|places| directed.apart(step, places)).for_each(|tile| tiles.extend(&tile));
        }
        let before = self.bench.answers.tile_count();
        if tiles.count == 0 {
            return Some(Vec::new());
        }
        let of_tile = |tile: &[_]| ShownCase::of_tile(&part, tile);
        self.ask(&tiles).then(|| self.bench.answers.cases(before).chunks(part.m * part.n).flat_map(of_tile).collect())
    }
}
