//! Where a search begins: the order in which a device sums, and what each of its steps does, as far as tiles that show them alone say.

use super::{
    apart::MOST_LANES,
    candidate::{Candidate, evaluator},
    directed::{Directed, Shown},
    extremes::{self, Which},
    fit::{Answered, Fit, ROUNDINGS},
    isolate,
    pool::Measure,
    run::Dialogue,
    starts::{self, Start},
    steps::{Own, Products, Step, SumSteps},
    structure,
};
use crate::{
    Error,
    isa::{Instruction, Tiles},
    tree::{self, Leaf, Manner, Meeting, Order},
};

/// Tiles that the order of the sum may take.
const MOST_FOR_ORDER: usize = 6000;
/// The most numbers of k in a group that are tried.
const MOST_GROUPS: usize = 8;
/// The most steps of a sum that are looked at one by one; how many outputs show one of them, and the tiles that this may take.
pub(super) const MOST_STEPS: usize = 80;
const SHOWING: usize = 640;
const MOST_SHOWING: usize = 32;
/// Outputs that show what a step does with extreme numbers, and what it may take to find that out, in products of single cases.
const EXTREME: usize = 640;
const SETTLING: u64 = 3 << 21;
/// How often what else is known is looked at for what was found wrong, and the tiles and the cases of each that are taken.
const POLISHED: usize = 8;
/// Cases that show extreme numbers, and ordinary ones, that are held against what steps may do.
const EXTREMES: usize = 4096;
const ORDINARY: usize = 1024;
const MISSED: (usize, usize) = (16, 6);
/// The work after which only those possibilities are tried that other steps have.
const FITTING: u64 = 1 << 32;

/// So many of these cases.
fn some(cases: Vec<Answered>, count: usize) -> Vec<Answered> {
    let step = cases.len().div_ceil(count).max(1);
    cases.into_iter().step_by(step).collect()
}

impl Dialogue<'_> {
    /// Where a search begins that no known rule ends: known rules and common shapes, those that sum in the order that the
    /// device has where that can be found out; and the tree of that order. What shows its steps alone is asked.
    pub(super) fn starts(&mut self, known: &[Start]) -> Vec<Start> {
        let (part, nan) = (self.search.known.part.clone(), self.nan());
        let all =
            |groups: &[usize]| known.iter().cloned().chain(starts::shapes(&part, nan, groups)).collect::<Vec<_>>();
        let Some((order, certain)) = self.order(&part) else { return all(&starts::groups(&part)) };
        let before = self.search.known.len();
        self.ask(&isolate::tiles(&part, &order, self.stream.seed));
        self.search.isolate(before);
        let mut directed = self.directed();
        // Where masks do not decide the order, groups of every size may be.
        let undecided = |meeting: &&Meeting| meeting.manner == Manner::Undecided && meeting.parts.len() > 2;
        let groups = match order.meetings().iter().any(undecided) {
            true => starts::groups(&part),
            false => structure::groups(&order, MOST_GROUPS),
        };
        let all = all(&groups);
        let mut fitting = structure::in_order(all.clone(), &order, &part);
        let steps = directed.as_mut().and_then(|directed| self.fit(directed, &order, nan));
        if let Some(steps) = steps {
            let mut settled = steps.clone();
            self.settle(&mut settled, before);
            for steps in [settled, steps] {
                for rule in structure::shaped(&fitting, &steps).into_iter().chain(steps.rule(&part)) {
                    if !self.search.fitted.contains(&rule) {
                        self.search.fitted.push(rule);
                    }
                }
            }
            self.in_order.clone_from(&fitting);
        }
        fitting.extend(structure::trees(&order, &part, nan));
        self.search.in_pairs = order.meetings().iter().all(|meeting| meeting.manner == Manner::Pair);
        if !certain {
            let others = all.iter().filter(|start| !fitting.iter().any(|own| own.rule == start.rule));
            fitting.extend(others.cloned().collect::<Vec<_>>());
        }
        if fitting.is_empty() { all } else { fitting }
    }

    /// What draws tiles that show steps, with the exponents that each term may have.
    fn directed(&mut self) -> Option<Directed> {
        let mut directed = Directed::new(&self.search.known.part, self.stream.seed);
        let asker = self.asker.as_mut()?;
        if let Err(error) = directed.find_ranges(&mut |cases| asker.ask_cases(cases)) {
            if error.exit_status() == 3 {
                self.failure = Some(error.to_string());
            }
            return None;
        }
        Some(directed)
    }

    /// What each step of an order does, the last one first, by tiles that show it alone; what that takes is limited.
    fn fit(&mut self, directed: &mut Directed, order: &Order, nan: u64) -> Option<SumSteps> {
        let part = self.search.known.part.clone();
        let mut steps = SumSteps::of(order, nan)?;
        if steps.steps.len() > MOST_STEPS {
            return None;
        }
        let before = self.search.known.work();
        let mut found: Vec<Own> = Vec::new();
        for number in 0..steps.steps.len() {
            for shown in [Shown::Sum, Shown::Products] {
                let cases = self.shown(directed, &steps.steps[number], shown, SHOWING)?;
                if cases.is_empty() {
                    continue;
                }
                let now = steps.steps[number].own;
                let fit = Fit { part: &part, steps: &steps, number };
                // What another step does comes first.
                let alike = found.iter().map(|other| match (shown, other.late) {
                    (Shown::Sum, Some(_)) => *other,
                    (Shown::Sum, None) => Own { products: Products::Exact, ..*other },
                    (Shown::Products, _) => Own { products: other.products, ..now },
                });
                let same = alike.into_iter().find(|own| fit.misses(*own, &cases) == 0);
                let own = match same {
                    Some(own) => own,
                    None if self.search.known.work() - before > FITTING => continue,
                    None => {
                        let mut fitted = match shown {
                            Shown::Sum => fit.sum(&cases, true)?,
                            Shown::Products => fit.products(&cases)?,
                        };
                        // What is rounded in a wider format may be rounded otherwise to D.
                        if number == 0 && shown == Shown::Sum && !fitted.fits(cases.len()) {
                            for rounding in ROUNDINGS {
                                let mut other = steps.clone();
                                other.overall.rounding = rounding;
                                let again = Fit { part: &part, steps: &other, number }.sum(&cases, false)?;
                                let cases = fitted.cases + again.cases;
                                if again.misses < fitted.misses {
                                    fitted = again;
                                    steps.overall = other.overall;
                                }
                                fitted.cases = cases;
                            }
                        }
                        self.search.known.spend(fitted.cases * part.stored_k() as u64);
                        fitted.own
                    }
                };
                steps.steps[number].own = own;
            }
            let own = steps.steps[number].own;
            if !found.contains(&own) {
                found.push(own);
            }
        }
        Some(steps)
    }

    /// What steps whose ordinary results are known, by the tiles from this one on, do with very small and very large numbers.
    fn settle(&mut self, steps: &mut SumSteps, from: usize) {
        let part = self.search.known.part.clone();
        // Ordinary results have to stay right.
        let ordinary = some(self.search.known.cases(from), ORDINARY);
        let before = self.search.known.len();
        let each = (EXTREME.div_ceil(part.m * part.n)).min(2 * MOST_SHOWING);
        for (number, step) in steps.steps.iter().enumerate() {
            let tiles = extremes::tiles(&part, step, self.stream.seed ^ number as u64, each);
            if !self.ask(&tiles) {
                return;
            }
        }
        let cases = [ordinary, some(self.search.known.cases(before), EXTREMES)].concat();
        // This has a limit of its own, and leaves the climbs what they have.
        extremes::settle(steps, &part, &cases, Which::Extremes, SETTLING / part.stored_k() as u64);
        self.polish(steps, cases);
    }

    /// Lets steps do what explains what else is known, too; `cases` show what they do with extreme numbers. What it took, in products of
    /// single cases.
    fn polish(&mut self, steps: &mut SumSteps, mut cases: Vec<Answered>) -> u64 {
        let part = self.search.known.part.clone();
        let most = SETTLING / part.stored_k() as u64;
        let mut taken = extremes::settle_zeros(steps, &part, &cases);
        let (mut seen, mut best): (Vec<SumSteps>, Option<(usize, SumSteps)>) = (Vec::new(), None);
        for round in 0..=POLISHED {
            let Some(own) = steps.rule(&part).and_then(|rule| evaluator(&rule, &part)) else { break };
            let count = self.search.known.misses(&own).iter().map(|(_, count)| count).sum::<usize>();
            if best.as_ref().is_none_or(|(least, _)| count < *least) {
                best = Some((count, steps.clone()));
            }
            let mut missed = self.search.known.missed(&own, MISSED);
            missed.retain(|case| extremes::says_something(&part, case));
            if missed.is_empty() || taken > most || round == POLISHED {
                break;
            }
            cases.extend(missed);
            seen.push(steps.clone());
            taken += extremes::settle(steps, &part, &cases, Which::All, most);
            taken += extremes::settle_zeros(steps, &part, &cases);
            if seen.contains(steps) {
                break;
            }
        }
        if let Some((_, best)) = best {
            *steps = best;
        }
        self.settled = Some((steps.clone(), cases));
        taken * part.stored_k() as u64
    }

    /// The rule of what the steps do, if they can do what explains all that is known by now.
    pub(super) fn polished(&mut self) -> Option<Candidate> {
        let (mut steps, cases) = self.settled.take().filter(|_| self.search.known.work() < self.search.known.most)?;
        let taken = self.polish(&mut steps, cases);
        self.search.known.spend(taken);
        let rules = structure::shaped(&self.in_order, &steps).into_iter().chain(steps.rule(&self.search.known.part));
        rules.into_iter().find_map(|rule| Candidate::new(rule, &self.search.known, Measure::All, 0))
    }

    /// Cases that show what a step does, about so many of them, with the answers.
    pub(super) fn shown(
        &mut self,
        directed: &mut Directed,
        step: &Step,
        shown: Shown,
        outputs: usize,
    ) -> Option<Vec<Answered>> {
        let part = self.search.known.part.clone();
        let all = Leaf::all(&part);
        let mut tiles = Tiles::zeros(&part, 0);
        for _ in 0..outputs.div_ceil(part.m * part.n).min(MOST_SHOWING) {
            if let Some(tile) = directed.tile(step, &all, shown) {
                tiles.extend(&tile);
            }
        }
        // Products that may be summed apart from others.
        if shown == Shown::Sum {
            (2..=MOST_LANES).filter_map(|places| directed.apart(step, places)).for_each(|tile| tiles.extend(&tile));
        }
        let before = self.search.known.len();
        if tiles.count == 0 {
            return Some(Vec::new());
        }
        self.ask(&tiles).then(|| self.search.known.cases(before))
    }

    /// The order in which the device sums, if masks find one that nothing contradicts for certain; and whether nothing does at all.
    fn order(&mut self, part: &Instruction) -> Option<(Order, bool)> {
        let asker = self.asker.as_mut()?;
        let most = (asker.left() / 2).min(MOST_FOR_ORDER);
        let from = asker.executions;
        let found = tree::find(part, &mut |cases| {
            if (asker.executions - from) as usize > most {
                return Err(Error::request("the order takes too many tiles"));
            }
            asker.ask_cases(cases)
        });
        match found {
            // What comes through although it should be lost may be too near for that; what is lost is not.
            Ok(found) if found.contradictions.iter().all(|contradiction| contradiction.kept) => {
                Some((found.order, found.contradictions.is_empty()))
            }
            Ok(_) => None,
            Err(error) => {
                if error.exit_status() == 3 {
                    self.failure = Some(error.to_string());
                }
                None
            }
        }
    }
}
