//! Orders that masks cannot decide, because no operands of the formats are far enough apart: each is supposed, and what its steps do
//! then tells how well it explains what is known.

use super::{
    directed::{Directed, Shown},
    explore::MOST_STEPS,
    fit::{Answered, Fit},
    run::Dialogue,
    steps::{Own, SumSteps},
};
use crate::{base::sorting, tree::Order};

/// Orders that are supposed, and those of them that are looked at closely.
const SUPPOSED: usize = 60;
const CLOSELY: usize = 2;
/// Outputs that show what a step does.
const SHOWING: usize = 384;
/// What it may take, in products of single cases.
const WORK: u64 = 1 << 23;
/// The part of the cases of a step that it may fail where its order is looked at further.
const MISFIT: usize = 5;

impl Dialogue<'_> {
    /// Of these orders those that explain the most, the best one last.
    pub(super) fn supposed(&mut self, directed: &mut Directed, orders: &[Order], nan: u64) -> Vec<Order> {
        let mut taken = 0;
        let mut all: Vec<(SumSteps, &Order)> = Vec::new();
        for order in orders.iter().take(SUPPOSED) {
            if taken > WORK {
                break;
            }
            if let Some(steps) = self.rough(directed, order, nan, &mut taken) {
                all.push((steps, order));
            }
        }
        let judge =
            |(steps, order): &(SumSteps, &Order)| (self.missed_by(steps).unwrap_or(usize::MAX), (*order).clone());
        let mut judged: Vec<(usize, Order)> = all.iter().map(judge).collect();
        sorting::by_key(&mut judged, |(misses, _)| *misses);
        judged.truncate(CLOSELY);
        judged.into_iter().rev().map(|(_, order)| order).collect()
    }

    /// What the steps of an order do, about, as long as that explains most of what shows them.
    fn rough(&mut self, directed: &mut Directed, order: &Order, nan: u64, taken: &mut u64) -> Option<SumSteps> {
        let part = self.search.known.part.clone();
        let mut steps = SumSteps::of(order, nan)?;
        let mut found: Vec<Own> = Vec::new();
        for number in 0..steps.steps.len().min(MOST_STEPS) {
            let cases: Vec<Answered> = self.shown(directed, &steps.steps[number], Shown::Sum, SHOWING)?;
            let fit = Fit { part: &part, steps: &steps, number };
            let good = |own: &&Own| fit.misses(**own, &cases) <= cases.len() / MISFIT / 4;
            let own = match found.iter().find(good) {
                Some(own) => *own,
                None => {
                    let fitted = fit.roughly(&cases);
                    *taken += fitted.cases * part.stored_k() as u64;
                    if fitted.misses > cases.len() / MISFIT {
                        return None;
                    }
                    found.push(fitted.own);
                    fitted.own
                }
            };
            steps.steps[number].own = own;
        }
        Some(steps)
    }
}
