//! The steps of a sum, their carry bits and their normalisation.

use super::{FeatureCells, UNKNOWN_WIDTH, UNSUITED, alignment::AlignmentCuts, order::is_exact, shows};
use crate::{
    Result,
    bench::{Term, TermBench, power, term},
    format::Finite,
    order::{Leaf, Manner, Order},
};

/// The steps of a sum, the last one first.
pub(super) struct FeatureSteps {
    pub all: Vec<FeatureStep>,
}

/// A step of a sum.
pub(super) struct FeatureStep {
    pub parts: Vec<StepPart>,
    pub manner: Manner,
    /// A term that a later step adds.
    pub outer: Option<Leaf>,
}

/// A part of a step: a term or a sum.
pub(super) struct StepPart {
    /// Its first two terms.
    pub first: Leaf,
    pub second: Option<Leaf>,
    /// True if its terms arrive unrounded: a single term, or an exact sum.
    pub direct: bool,
}

impl FeatureStep {
    /// The products that the step adds, one for each exact sum.
    pub(super) fn products(&self) -> Vec<Leaf> {
        self.parts.iter().filter(|part| part.direct && part.first != Leaf::C).map(|part| part.first).collect()
    }

    /// True if the step adds c.
    pub(super) fn has_c(&self) -> bool {
        self.parts.iter().any(|part| part.direct && part.first == Leaf::C)
    }

    /// True if the step adds three or more parts at once and may lose small terms.
    pub(super) fn aligns(&self) -> bool {
        matches!(self.manner, Manner::Aligned | Manner::Undecided)
    }
}

impl FeatureSteps {
    /// The steps of an order.
    pub(super) fn of(order: &Order) -> FeatureSteps {
        let mut all = Vec::new();
        let mut open = vec![(order, None)];
        while let Some((order, outer)) = open.pop() {
            let Order::Meeting(meeting) = order else { continue };
            let part = |below: &Order| {
                let mut leaves = below.leaves().into_iter();
                let direct = matches!(below, Order::Leaf(_)) || is_exact(below);
                Some(StepPart { first: leaves.next()?, second: leaves.next(), direct })
            };
            let parts: Vec<StepPart> = meeting.parts.iter().filter_map(part).collect();
            for (at, below) in meeting.parts.iter().enumerate().rev().filter(|(_, below)| !is_exact(below)) {
                let other = parts.iter().enumerate().find(|(other, _)| *other != at).map(|(_, part)| part.first);
                open.push((below, other));
            }
            all.push(FeatureStep { parts, manner: meeting.manner, outer });
        }
        FeatureSteps { all }
    }

    /// The step that aligns the most products.
    pub(super) fn aligned(&self) -> Option<&FeatureStep> {
        let several = |step: &&FeatureStep| step.aligns() && step.parts.len() > 2;
        self.all.iter().rev().filter(several).max_by_key(|step| (step.products().len(), step.has_c()))
    }

    /// The step that adds c.
    pub(super) fn with_c(&self) -> Option<&FeatureStep> {
        self.all.iter().find(|step| step.has_c())
    }

    /// A product of the step that adds c.
    pub(super) fn beside_c(&self) -> Leaf {
        let products = self.with_c().map(|step| step.products()).unwrap_or_default();
        products.first().copied().unwrap_or(Leaf::Product(0))
    }
}

/// Measures carry bits and normalisation.
pub(super) fn measure(
    bench: &mut TermBench,
    steps: &FeatureSteps,
    cuts: &AlignmentCuts,
    table: &mut FeatureCells,
) -> Result<()> {
    let why = || match steps.all.iter().any(|step| step.manner == Manner::Exact) {
        true => "sums are exact".to_string(),
        false => "no step has three terms".to_string(),
    };
    let Some(step) = steps.aligned() else {
        table.put("carry bits", Err(why()));
        table.put("normalisation", Err(why()));
        return Ok(());
    };
    carry(bench, step, table)?;
    normalisation(bench, step, cuts, table)
}

/// Measures carry bits with more and more products of 9/4 * 2^e.
fn carry(bench: &mut TermBench, step: &FeatureStep, table: &mut FeatureCells) -> Result<()> {
    let products = step.products();
    let counts: Vec<usize> =
        (1..=products.len()).filter(|count| count.is_power_of_two() || *count == products.len()).collect();
    let exponent = bench.top() - 2;
    let sums: Vec<Vec<Term>> = counts
        .iter()
        .map(|count| products[..*count].iter().map(|leaf| term(*leaf, false, 3, 3, exponent)).collect())
        .collect();
    let needed = |count: usize| (9 * count as u32 / 4).ilog2();
    let mut finding = Err(UNSUITED.to_string());
    let answers = bench.sums(&sums)?;
    for (count, answer) in counts.iter().zip(&answers) {
        let Some(answer) = answer else { break };
        if !answer.is(Finite::exact(false, 9 * *count as u128, exponent)) {
            break;
        }
        let all = *count == products.len();
        finding = shows(format!("{}{}", needed(*count), if all { " or more" } else { "" }), answer);
    }
    table.put("carry bits", finding);
    Ok(())
}

/// Measures normalisation: products and sums with a carry, plus a term that alignment just keeps.
fn normalisation(
    bench: &mut TermBench,
    step: &FeatureStep,
    cuts: &AlignmentCuts,
    table: &mut FeatureCells,
) -> Result<()> {
    let Some(cut) = cuts.products.as_ref().filter(|cut| !cut.limited) else {
        table.put("normalisation", Err(UNKNOWN_WIDTH.into()));
        return Ok(());
    };
    let (e, leaves) = (bench.top(), cuts.leaves(step));
    let small = |leaf| power(leaf, false, e - cut.bits);
    let last = Finite::exact(false, 1, e - cut.bits);
    let mut words = Vec::new();
    let mut witness = None;
    if let [x, y, z, ..] = leaves[..] {
        let sum = vec![term(x, false, 3, 3, e - 2), term(y, true, 3, 3, e - 2), small(z)];
        let Some(answer) = bench.sum(sum)? else {
            table.put("normalisation", Err(UNSUITED.into()));
            return Ok(());
        };
        if !answer.is(last) {
            words.push("products");
        }
        witness = Some(answer);
    }
    let mut all = leaves.clone();
    if step.has_c() && cuts.alike() {
        all.insert(2.min(all.len()), Leaf::C);
    }
    if let [x, y, v, w, z, ..] = all[..] {
        let sum = vec![power(x, false, e), power(y, false, e), power(v, true, e), power(w, true, e), small(z)];
        if let Some(answer) = bench.sum(sum)?
            && !answer.is(last)
        {
            words.push("sums");
            witness = Some(answer);
        }
    }
    let finding = match witness {
        Some(answer) => shows(if words.is_empty() { "none".into() } else { words.join(", ") }, &answer),
        None => Err("no step has three products".into()),
    };
    table.put("normalisation", finding);
    Ok(())
}
