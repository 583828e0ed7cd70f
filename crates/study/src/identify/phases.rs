//! Products that a unit computes from pieces of the factors' significands, and adds in phases.

use super::{
    candidate::{evaluator, program},
    repair::spread,
    run::Dialogue,
    steps::{Products, SumSteps},
};
use crate::{
    arithmetic::{Node, NodeKind, Rule, Split},
    base::{interrupt, parallel},
    bench::Answered,
    format::Format,
    isa::Instruction,
};

/// Tiles that the nearest rule misses, and missed cases of each, that are examined.
const UNEXPLAINED: (usize, usize) = (48, 4);
/// Fewest missed cases that are a reason to look further.
const LEAST: usize = 12;
/// Missed cases that are compared with rules.
const TELLING: usize = 192;
/// Cases of all answers that are compared with rules.
const OTHERS: usize = 64;
/// Number of these cases by which rules are sifted first.
const SIFTED: usize = 32;
/// A rule may miss one of the first cases in this many.
const MISSED: usize = 3;
/// Number of rules that are kept.
const KEPT: usize = 3;

/// The pairs of pieces, by their numbers, in the order in which phases add them.
type Phases = &'static [[usize; 2]];
/// Phases if both factors have two pieces.
/// Pairs of pieces that are not listed are not multiplied.
const BOTH: [Phases; 9] = [
    &[[0, 0], [1, 0], [0, 1], [1, 1]],
    &[[0, 0], [0, 1], [1, 0], [1, 1]],
    &[[1, 1], [0, 1], [1, 0], [0, 0]],
    &[[1, 1], [1, 0], [0, 1], [0, 0]],
    &[[0, 0]],
    &[[0, 0], [1, 0]],
    &[[0, 0], [0, 1]],
    &[[0, 0], [1, 0], [0, 1]],
    &[[0, 0], [0, 1], [1, 0]],
];
/// Phases if only A has two pieces.
const OF_A: [Phases; 3] = [&[[0, 0], [1, 0]], &[[1, 0], [0, 0]], &[[0, 0]]];
/// Phases if only B has two pieces.
const OF_B: [Phases; 3] = [&[[0, 0], [0, 1]], &[[0, 1], [0, 0]], &[[0, 0]]];

impl Dialogue<'_> {
    /// Rules with the factors cut into pieces that best explain the cases that the nearest rule misses.
    /// Empty if the nearest rule misses few cases.
    pub(super) fn in_phases(&self, steps: &SumSteps, nearest: &Rule) -> Vec<Rule> {
        let known = &self.bench.answers;
        let part = known.part.clone();
        let mut exact = steps.clone().with_general_keys(nearest);
        exact.steps.iter_mut().for_each(|step| step.arithmetic.products = Products::Exact);
        let Some(evaluator) = evaluator(nearest, &part) else { return Vec::new() };
        let exact_rule = exact.rule(&part);
        let wrong = known.missed(&evaluator, UNEXPLAINED.0, UNEXPLAINED.1);
        if wrong.len() < LEAST {
            return Vec::new();
        }
        let cases = [spread(&wrong, TELLING), known.spread_cases(OTHERS)].concat();
        let few = spread(&cases, SIFTED);
        let missed = |rule: &Rule, most: usize, cases: &[Answered]| {
            if interrupt::pending().is_some() {
                return None;
            }
            let program = program(rule, &part)?;
            let missed = cases.iter().filter(|(case, answer)| program.dot(case) != *answer);
            Some(missed.take(most + 1).count()).filter(|count| *count <= most)
        };
        let all = cut(&exact_rule, &part);
        self.work.spend_cases(all.len() * few.len());
        let left = parallel::map(all, |rule| missed(&rule, few.len() / MISSED, &few).map(|_| rule));
        let counted = left.into_iter().flatten().filter_map(|rule| Some((missed(&rule, cases.len(), &cases)?, rule)));
        let mut counted: Vec<(usize, Rule)> = counted.collect();
        counted.sort_by_key(|(count, _)| *count);
        counted.truncate(KEPT);
        counted.into_iter().map(|(_, rule)| rule).collect()
    }
}

/// A tree with the factors of its products cut into at most two pieces, in every usual order of phases.
///
/// The cuts are at every place. Only nodes that are sums get phases. Empty if A or B is no floating-point format.
fn cut(rule: &Rule, i: &Instruction) -> Vec<Rule> {
    let precision = |format: &Format| format.float().map(|float| float.precision());
    let (Some(a), Some(b)) = (precision(i.a), precision(i.b)) else { return Vec::new() };
    let cuts = |of: u32| (1..of).map(move |first| vec![first, of - first]);
    let mut all = Vec::new();
    for of_a in std::iter::once(vec![a]).chain(cuts(a)) {
        for of_b in std::iter::once(vec![b]).chain(cuts(b)) {
            let phases: &[Phases] = match (of_a.len(), of_b.len()) {
                (1, 1) => &[],
                (2, 1) => &OF_A,
                (1, _) => &OF_B,
                _ => &BOTH,
            };
            let with = |phases: Option<Phases>| {
                let mut changed = rule.clone();
                changed.split = Some(Split { a: of_a.clone(), b: of_b.clone() });
                if let Some(phases) = phases {
                    changed.nodes = changed.nodes.iter().flat_map(|(name, node)| phased(name, node, phases)).collect();
                }
                changed
            };
            if !phases.is_empty() {
                all.push(with(None));
            }
            all.extend(phases.iter().map(|phases| with(Some(phases))));
        }
    }
    all
}

/// The nodes that add the products of a node in phases; the last one has the name of the node.
/// A node that is no sum of products is returned unchanged.
fn phased(name: &str, node: &Node, phases: Phases) -> Vec<(String, Node)> {
    if node.products.is_none() || node.kind != NodeKind::Sum {
        return vec![(name.to_string(), node.clone())];
    }
    let place = |phase: usize| if phase + 1 == phases.len() { name.to_string() } else { format!("{name}f{phase}") };
    let one = |(phase, [a, b]): (usize, &[usize; 2])| {
        let mut piece = node.clone();
        piece.pieces = Some(vec![(*a, *b)]);
        if phase > 0 {
            piece.terms = vec![place(phase - 1).into()];
        }
        (place(phase), piece)
    };
    phases.iter().enumerate().map(one).collect()
}
