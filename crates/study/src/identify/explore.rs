//! The start of a search: the order in which a device sums, and what each step of the sum does.

use super::{
    candidate::program,
    directed::Directed,
    extreme, orders,
    repair::Repair,
    run::Dialogue,
    starts::{self, Start},
    steps::SumSteps,
    structure,
};
use crate::{
    Error,
    arithmetic::Rule,
    base::{interrupt, parallel},
    isa::Case,
    measurement::Measurement,
    order::{FoundOrder, Manner, Meeting, Order},
};

/// Largest number of tiles that the measurement may take.
const MOST_MEASURED: usize = 6000;
/// Largest number of group sizes that are tried.
const MOST_GROUPS: usize = 8;
/// Outputs that show a step with extreme numbers.
const EXTREME: usize = 640;
/// Largest number of tiles for these outputs.
const MOST_EXTREME: usize = 64;
/// Cases by which many rules are ranked first.
const SIFTED: usize = 24;
/// Number of shapes that the first ranking keeps.
const KEPT: usize = 48;
/// Cases by which the kept rules are ranked again.
const COMPARED: usize = 192;
/// Number of shapes in shorthand that are repaired.
const REPAIRED: usize = 3;
/// Number of trees, and of rules with factors in pieces, that are kept and repaired.
const TREES: usize = 3;
/// Cases that guide a repair.
const GUIDES: usize = 3000;
/// Missed tiles, and missed cases of each, that are added to these cases in each round.
const ADDED: (usize, usize) = (32, 6);
/// Largest number of rounds of a repair.
const ROUNDS: usize = 16;

impl Dialogue<'_> {
    /// Finds the rule that misses the fewest outputs, and their number.
    /// The candidates follow from the order of the sum and from what its steps do.
    pub(super) fn reach(&mut self, known: &[Start]) -> Option<(usize, Rule)> {
        let is_first = self.hypotheses.is_none();
        if is_first {
            self.hypotheses = Some(self.begin(known));
        }
        let (rules, order) = self.hypotheses.clone()?;
        let mut best = self.nearest(rules);
        // The unit may multiply the factors in pieces.
        if let (Some((1.., rule)), Some(steps), true) = (&best, &self.fitted, is_first) {
            let rules = self.in_phases(steps, rule);
            let other = self.nearest(rules);
            best = [best, other].into_iter().flatten().min_by_key(|(misses, _)| *misses);
        }
        self.work.begin_stage(1);
        // A step is fitted to the few cases that show it, and the rest of the rule follows.
        if let (Some((misses @ 1.., rule)), Some(steps)) = (&best, &self.fitted)
            && let Some((number, steps)) = self.refitted(steps, rule, *misses)
        {
            let (part, node) = (&self.bench.answers.part, format!("n{number}"));
            for rule in [steps.rule(part), steps.rule_of_sums(part)] {
                self.work.begin_stage(2);
                let other = self.repaired_around(rule, Some(&node));
                best = [best, Some(other)].into_iter().flatten().min_by_key(|(misses, _)| *misses);
            }
        }
        // Masks can see one step as two, and an open order can stand for several; these orders are tried last.
        let flattened = order.as_ref().and_then(orders::flattened);
        let open = self.open.take().map(|order| orders::alternatives(&order));
        let others = [flattened.map(|order| vec![order]), open];
        for orders in others.into_iter().flatten() {
            if best.as_ref().is_some_and(|(misses, _)| *misses == 0) {
                break;
            }
            let mut rules = self.of_orders(known, &orders);
            let other = self.nearest(rules.clone());
            best = [best, other].into_iter().flatten().min_by_key(|(misses, _)| *misses);
            self.hypotheses.iter_mut().for_each(|(all, _)| all.append(&mut rules));
        }
        best
    }

    /// Repairs the best of these rules; returns the nearest one and the number of outputs that it misses.
    fn nearest(&mut self, rules: Vec<Rule>) -> Option<(usize, Rule)> {
        let mut best: Option<(usize, Rule)> = None;
        for (number, rule) in self.ranked(rules).into_iter().enumerate() {
            if best.as_ref().is_some_and(|(misses, _)| *misses == 0) || interrupt::pending().is_some() {
                break;
            }
            self.work.begin_stage(if number < 2 { 2 } else { 4 });
            let repaired = self.repaired(rule);
            if best.as_ref().is_none_or(|(misses, _)| repaired.0 < *misses) {
                best = Some(repaired);
            }
        }
        // The work of the nearest rule's stage may have ended before its last changes.
        self.work.begin_stage(1);
        best.map(|(misses, rule)| if misses > 0 { self.repaired(rule) } else { (misses, rule) })
    }

    /// Ranks the rules that the language allows, and keeps the ones that explain the most cases.
    /// Many rules are ranked by a few cases first.
    fn ranked(&self, rules: Vec<Rule>) -> Vec<Rule> {
        let mut rules = rules;
        for (count, kept) in [(SIFTED, KEPT), (COMPARED, REPAIRED)] {
            if rules.len() <= kept && count == SIFTED {
                continue;
            }
            let (part, cases) = (&self.bench.answers.part, self.bench.answers.spread_cases(count));
            let missed = parallel::map(&rules, |rule| {
                let program = program(rule, part)?;
                Some(cases.iter().filter(|(case, answer)| program.dot(case) != *answer).count())
            });
            self.work.spend_cases(cases.len() * rules.len());
            let missed = missed.into_iter().zip(rules);
            let mut ranked: Vec<(usize, Rule)> = missed.filter_map(|(missed, rule)| Some((missed?, rule))).collect();
            ranked.sort_by_key(|(missed, _)| *missed);
            // Trees say more than shorthand, and pieces of significands more than both, so each kind has places of its own.
            let mut room = [kept, TREES, TREES];
            let kind = |rule: &Rule| match rule.split {
                Some(_) => 2,
                None => usize::from(!rule.nodes.is_empty()),
            };
            ranked.retain(|(_, rule)| {
                let left = &mut room[kind(rule)];
                let fits = *left > 0;
                *left = left.saturating_sub(1);
                fits
            });
            rules = ranked.into_iter().map(|(_, rule)| rule).collect();
        }
        rules
    }

    /// Repairs a rule by all answers; returns the number of outputs that it misses, and the rule.
    pub(super) fn repaired(&self, rule: Rule) -> (usize, Rule) {
        self.repaired_around(rule, None)
    }

    /// Repairs a rule as [`Self::repaired`]; the form, alignment and result of a node are kept.
    fn repaired_around(&self, rule: Rule, kept: Option<&str>) -> (usize, Rule) {
        let misses = |rule: &Rule| {
            let evaluator = super::candidate::evaluator(rule, &self.bench.answers.part);
            evaluator.map_or((usize::MAX, Vec::new()), |evaluator| {
                (self.bench.answers.misses(&evaluator), self.bench.answers.missed(&evaluator, ADDED.0, ADDED.1))
            })
        };
        let mut cases = self.bench.answers.spread_cases(GUIDES);
        let (mut least, mut missed) = misses(&rule);
        let mut best = rule;
        for _ in 0..ROUNDS {
            if least == 0 || missed.is_empty() || interrupt::pending().is_some() {
                break;
            }
            cases.append(&mut missed);
            let Some(repair) = Repair::of(best.clone(), &self.bench.answers.part, (&self.work, &cases), kept) else {
                break;
            };
            let rule = repair.run().rule;
            if rule == best {
                break;
            }
            // The cases that contradict a change take part in the next choice among changes, whether this one helped or not.
            let (count, contradicting) = misses(&rule);
            missed = contradicting;
            if count < least {
                (least, best) = (count, rule);
            }
        }
        (least, best)
    }

    /// The rules with which a search begins, and the order of the sum, if masks find one.
    ///
    /// They are known rules and common shapes in the order of the device, with what its steps do, and the tree of that order.
    fn begin(&mut self, known: &[Start]) -> (Vec<Rule>, Option<Order>) {
        let (part, nan) = (self.bench.answers.part.clone(), self.nan());
        let all = self.shapes(known, &starts::groups(&part));
        // A sum of integers shows no order, so groups of every size are possible.
        let Some(FoundOrder { order, ranges, .. }) = self.measured() else { return (rules_of(all), None) };
        self.ranges = ranges;
        let (order, steps, others) = self.fit_any(&mut self.directed(), order, nan);
        let mut rules = Vec::new();
        if let Some(steps) = &steps {
            self.show_extremes(steps);
            self.fitted = Some(steps.clone());
        }
        for steps in steps.iter().chain(&others) {
            rules.extend(self.written(known, &order, steps));
        }
        if rules.is_empty() {
            rules = rules_of(all);
        }
        (rules, Some(order))
    }

    /// Rules of the orders, with what their steps do.
    fn of_orders(&mut self, known: &[Start], orders: &[Order]) -> Vec<Rule> {
        let nan = self.nan();
        let fitted = self.fit_all(&mut self.directed(), orders, nan);
        fitted.iter().flat_map(|(_, order, steps)| self.written(known, order, steps)).collect()
    }

    /// Known rules and common shapes in an order, with what its steps do, and its tree.
    fn written(&self, known: &[Start], order: &Order, steps: &SumSteps) -> Vec<Rule> {
        let part = &self.bench.answers.part;
        // If masks leave the order open, groups of every size are possible.
        let undecided = |meeting: &&Meeting| meeting.manner == Manner::Undecided && meeting.parts.len() > 2;
        let groups = match order.meetings().iter().any(undecided) {
            true => starts::groups(part),
            false => structure::groups(order, MOST_GROUPS),
        };
        let shapes = structure::in_order(self.shapes(known, &groups), order, part);
        let trees = [steps.rule(part), steps.rule_of_sums(part)];
        let mut rules = structure::shaped(&shapes, steps);
        rules.extend(trees);
        rules.dedup();
        rules
    }

    /// Known rules and common shapes with groups of these sizes.
    fn shapes(&self, known: &[Start], groups: &[usize]) -> Vec<Start> {
        known.iter().cloned().chain(starts::shapes(&self.bench.answers.part, self.nan(), groups)).collect()
    }

    /// Asks the device for tiles in which the steps meet very small and very large numbers.
    fn show_extremes(&mut self, steps: &SumSteps) {
        let part = self.bench.answers.part.clone();
        let each = EXTREME.div_ceil(part.m * part.n).min(MOST_EXTREME);
        for (number, step) in steps.steps.iter().enumerate() {
            let tiles = extreme::tiles(&part, step, self.stream.seed ^ number as u64, each);
            if !self.ask(&tiles) {
                break;
            }
        }
    }

    /// The source of tiles that show steps.
    fn directed(&self) -> Directed {
        Directed::new(&self.bench.answers.part, self.stream.seed, self.ranges.clone())
    }

    /// Measures the sum; returns its order, if masks find one that nothing contradicts for certain.
    fn measured(&mut self) -> Option<FoundOrder> {
        let part = self.bench.answers.part.clone();
        let bench = &mut self.bench;
        let most = (bench.left() / 2).min(MOST_MEASURED);
        let from = bench.executions();
        let mut ask = |cases: &[Case]| {
            if (bench.executions() - from) as usize > most {
                return Err(Error::request("the measurement takes too many tiles"));
            }
            bench.codes(cases)
        };
        let mut measurement = Measurement::new(&part, &mut ask);
        let (outcome, order) = (measurement.measure(), measurement.order.take());
        if let Err(error) = outcome
            && error.exit_status() == 3
        {
            self.failure = Some(error.to_string());
            return None;
        }
        // A term that survives although it should be lost may be too near the others; a lost term is certain.
        order.filter(|order| order.contradictions.iter().all(|contradiction| contradiction.kept))
    }
}

fn rules_of(starts: Vec<Start>) -> Vec<Rule> {
    starts.into_iter().map(|start| start.rule).collect()
}
