//! Where a search begins: the order in which a device sums, and what each of its steps does with ordinary and with extreme numbers.

use super::{
    candidate::{Candidate, evaluator},
    directed::Directed,
    extremes::{self, Which},
    fit::Answered,
    isolate,
    pool::Measure,
    run::Dialogue,
    starts::{self, Start},
    steps::SumSteps,
    structure,
};
use crate::{
    Error,
    base::interrupt,
    isa::Instruction,
    tree::{self, Manner, Meeting, Order},
};

/// Tiles that the order of the sum may take.
const MOST_FOR_ORDER: usize = 6000;
/// The most numbers of k in a group that are tried.
const MOST_GROUPS: usize = 8;
/// Outputs that show what a step does with extreme numbers, the tiles that this may take, and what it may take to find it out, in products
/// of single cases.
const EXTREME: usize = 640;
const MOST_EXTREME: usize = 64;
pub(super) const SETTLING: u64 = 3 << 21;
/// How often what else is known is looked at for what was found wrong, and the tiles and the cases of each that are taken.
const POLISHED: usize = 8;
/// Cases that show extreme numbers, and ordinary ones, that are held against what steps may do.
pub(super) const EXTREMES: usize = 4096;
const ORDINARY: usize = 1024;
const MISSED: (usize, usize) = (16, 6);

/// So many of these cases.
pub(super) fn some(cases: Vec<Answered>, count: usize) -> Vec<Answered> {
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
        // Integers are added in no order, or in groups of every size.
        if part.d.is_integer() {
            return all(&starts::groups(&part));
        }
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
        let (order, steps, others) = match &mut directed {
            Some(directed) => self.fit_any(directed, order, nan),
            None => (order, None, Vec::new()),
        };
        let mut fitting = structure::in_order(all.clone(), &order, &part);
        if let Some(steps) = steps {
            let mut settled = steps.clone();
            self.settle(&mut settled, before);
            self.search.fitted = if self.products_missed { self.in_phases(&steps, &settled) } else { Vec::new() };
            for steps in [settled, steps].into_iter().chain(others) {
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
    pub(super) fn directed(&mut self) -> Option<Directed> {
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

    /// What steps whose ordinary results are known, by the tiles from this one on, do with very small and very large numbers.
    fn settle(&mut self, steps: &mut SumSteps, from: usize) {
        let part = self.search.known.part.clone();
        // Ordinary results have to stay right.
        let ordinary = some(self.search.known.cases(from), ORDINARY);
        let before = self.search.known.len();
        let each = (EXTREME.div_ceil(part.m * part.n)).min(MOST_EXTREME);
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
            if missed.is_empty() || taken > most || round == POLISHED || interrupt::pending().is_some() {
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

    /// The order in which the device sums, if masks find one that nothing contradicts for certain; and whether nothing does at all.
    fn order(&mut self, part: &Instruction) -> Option<(Order, bool)> {
        let asker = self.asker.as_mut()?;
        let most = (asker.left() / 2).min(MOST_FOR_ORDER);
        let from = asker.executions();
        let found = tree::find(part, &mut |cases| {
            if (asker.executions() - from) as usize > most {
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
