//! Products of which a unit multiplies only pieces of the factors' significands at a time, and adds them in phases.

use toml::{Table, Value};

use super::{
    candidate::evaluator,
    directed::{Directed, Shown},
    fit::Answered,
    run::Dialogue,
    steps::{Overall, Products, Step, SumSteps},
};
use crate::{
    arithmetic::Evaluator,
    base::{parallel, sorting},
    format::Format,
    isa::Instruction,
};

/// Outputs that show products with all their bits; the part of them that a rule may miss whose products are whole.
const SHOWING: usize = 256;
const WHOLE: usize = 64;
/// Cases by which rules are sifted, those that whole products do not explain and others, of which one may miss this part; and how many
/// rules are kept.
const TELLING: usize = 24;
const OTHERS: usize = 8;
const MISSED: usize = 4;
const KEPT: usize = 3;

/// The pairs of pieces, by their numbers, in the order in which phases add them.
type Phases = &'static [[usize; 2]];
/// Phases where both factors, A alone, and B alone have two pieces: what is left out is not multiplied at all.
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
const OF_A: [Phases; 3] = [&[[0, 0], [1, 0]], &[[1, 0], [0, 0]], &[[0, 0]]];
const OF_B: [Phases; 3] = [&[[0, 0], [0, 1]], &[[0, 1], [0, 0]], &[[0, 0]]];

impl Dialogue<'_> {
    /// The rules of what steps do that explain the most where products that have all their bits are not what their sums say: with the
    /// factors cut into pieces. `overall` is what all steps have in common.
    pub(super) fn in_phases(&mut self, directed: &mut Directed, steps: &SumSteps, overall: Overall) -> Vec<Table> {
        let part = self.search.known.part.clone();
        let mut exact = SumSteps { overall, ..steps.clone() };
        exact.steps.iter_mut().for_each(|step| step.own.products = Products::Exact);
        let with_products = |step: &&Step| step.parts.iter().any(|part| part.product().is_some());
        let (Some(step), Some(fitted), Some(whole)) =
            (steps.steps.iter().find(with_products).cloned(), steps.rule(&part), exact.rule(&part))
        else {
            return Vec::new();
        };
        let cases = self.shown(directed, &step, Shown::Products, SHOWING).unwrap_or_default();
        let missed = |rule: &Table, most: usize, cases: &[Answered]| {
            let own: Evaluator = evaluator(rule, &part)?;
            let mut missed = cases.iter().filter(|(case, answer)| own.dot(case) != *answer);
            Some(missed.by_ref().take(most + 1).count()).filter(|count| *count <= most)
        };
        let Some(own) = evaluator(&fitted, &part) else { return Vec::new() };
        let (wrong, right): (Vec<Answered>, Vec<Answered>) =
            cases.iter().cloned().partition(|(case, answer)| own.dot(case) != *answer);
        if wrong.len() <= cases.len() / WHOLE {
            return Vec::new();
        }
        let all = cut(&whole, &part);
        let few: Vec<Answered> = wrong.into_iter().take(TELLING).chain(right.into_iter().take(OTHERS)).collect();
        self.search.known.spend((all.len() * few.len() * part.stored_k()) as u64);
        let left = parallel::map(all, |rule| missed(&rule, few.len() / MISSED, &few).map(|_| rule));
        let counted = left.into_iter().flatten().filter_map(|rule| Some((missed(&rule, cases.len(), &cases)?, rule)));
        let mut counted: Vec<(usize, Table)> = counted.collect();
        sorting::by_key(&mut counted, |(count, _)| *count);
        counted.truncate(KEPT);
        counted.into_iter().map(|(_, rule)| rule).collect()
    }
}

/// A tree with the factors of its products cut into two pieces at most, everywhere and in every usual order. None where it has
/// products that are not summed.
fn cut(rule: &Table, i: &Instruction) -> Vec<Table> {
    let precision = |format: &Format| format.float().map(|float| i64::from(float.precision()));
    let (Some(a), Some(b)) = (precision(i.a), precision(i.b)) else { return Vec::new() };
    let cuts = |of: i64| (1..of).map(move |first| vec![first, of - first]);
    let mut all = Vec::new();
    for of_a in std::iter::once(vec![a]).chain(cuts(a)) {
        for of_b in std::iter::once(vec![b]).chain(cuts(b)) {
            let phases: &[Phases] = match (of_a.len(), of_b.len()) {
                (1, 1) => &[],
                (2, 1) => &OF_A,
                (1, _) => &OF_B,
                _ => &BOTH,
            };
            let split = |widths: &[i64]| Value::Array(widths.iter().map(|width| Value::Integer(*width)).collect());
            let split = Table::from_iter([("a".to_string(), split(&of_a)), ("b".to_string(), split(&of_b))]);
            let mut with = |phases: Option<Phases>| {
                let mut own = rule.clone();
                own.insert("split".into(), Value::Table(split.clone()));
                if let Some(phases) = phases {
                    let Some(nodes) = own.get_mut("node").and_then(Value::as_table_mut) else { return };
                    *nodes = nodes.iter().flat_map(|(name, node)| phased(name, node, phases)).collect();
                }
                all.push(own);
            };
            if !phases.is_empty() {
                with(None);
            }
            phases.iter().for_each(|phases| with(Some(phases)));
        }
    }
    all
}

/// The nodes that add the products of a node in phases: the last one has its name.
fn phased(name: &str, node: &Value, phases: Phases) -> Vec<(String, Value)> {
    let whole = || vec![(name.to_string(), node.clone())];
    let Some(table) = node.as_table().filter(|table| table.contains_key("products")) else { return whole() };
    if table.get("kind").and_then(Value::as_str) != Some("sum") {
        return whole();
    }
    let place = |phase: usize| if phase + 1 == phases.len() { name.to_string() } else { format!("{name}f{phase}") };
    let one = |(phase, [a, b]): (usize, &[usize; 2])| {
        let mut own = table.clone();
        let pair = [a, b].map(|piece| Value::Integer(*piece as i64));
        own.insert("pieces".into(), Value::Array(vec![Value::Array(pair.to_vec())]));
        if phase > 0 {
            own.insert("terms".into(), Value::Array(vec![place(phase - 1).into()]));
        }
        (place(phase), Value::Table(own))
    };
    phases.iter().enumerate().map(one).collect()
}
