//! The steps of a sum, their carry bits and their normalisation.

use super::{Finding, Leading, Measurement, UNKNOWN_WIDTH, UNSUITED, shows, unknown};
use crate::{
    Result,
    bench::{Term, TermAnswer, power, term},
    format::Finite,
    order::{Leaf, Manner, Order},
};

/// The steps of a sum, the last one first.
#[derive(Default)]
pub(super) struct OrderSteps {
    pub all: Vec<OrderStep>,
}

/// A step of a sum.
pub(super) struct OrderStep {
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

impl OrderStep {
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

impl OrderSteps {
    /// The steps of an order.
    pub(super) fn of(order: &Order) -> OrderSteps {
        let mut all = Vec::new();
        let mut open = vec![(order, None)];
        while let Some((order, outer)) = open.pop() {
            let Order::Meeting(meeting) = order else { continue };
            let part = |below: &Order| {
                let mut leaves = below.leaves().into_iter();
                let direct = matches!(below, Order::Leaf(_)) || below.is_exact();
                Some(StepPart { first: leaves.next()?, second: leaves.next(), direct })
            };
            let parts: Vec<StepPart> = meeting.parts.iter().filter_map(part).collect();
            for (at, below) in meeting.parts.iter().enumerate().rev().filter(|(_, below)| !below.is_exact()) {
                let other = parts.iter().enumerate().find(|(other, _)| *other != at).map(|(_, part)| part.first);
                open.push((below, other));
            }
            all.push(OrderStep { parts, manner: meeting.manner, outer });
        }
        OrderSteps { all }
    }

    /// True if a step adds its parts without loss.
    pub(super) fn is_exact(&self) -> bool {
        self.all.iter().any(|step| step.manner == Manner::Exact)
    }

    /// The inner step with the most parts whose sum a later term can cancel.
    pub(super) fn inner(&self) -> Option<&OrderStep> {
        let inner = self.all.get(1..).unwrap_or_default();
        inner.iter().rev().filter(|step| step.outer.is_some()).max_by_key(|step| step.parts.len())
    }

    /// The step that aligns the most products.
    pub(super) fn aligned(&self) -> Option<&OrderStep> {
        let several = |step: &&OrderStep| step.aligns() && step.parts.len() > 2;
        self.all.iter().rev().filter(several).max_by_key(|step| (step.products().len(), step.has_c()))
    }

    /// The step that adds c.
    pub(super) fn with_c(&self) -> Option<&OrderStep> {
        self.all.iter().find(|step| step.has_c())
    }

    /// A product of the step that adds c.
    pub(super) fn beside_c(&self) -> Leaf {
        let products = self.with_c().map(|step| step.products()).unwrap_or_default();
        products.first().copied().unwrap_or(Leaf::Product(0))
    }
}

/// Why a sum has no step that aligns terms and may lose some.
fn unaligned(all: &Measurement) -> Result<Finding> {
    unknown(if all.steps.is_exact() { "sums are exact" } else { "no step has three terms" })
}

/// Measures carry bits with more and more products of 9/4 * 2^e.
pub(super) fn carry(all: &mut Measurement) -> Result<Finding> {
    let Some(step) = all.steps.aligned() else { return unaligned(all) };
    let products = step.products();
    let counts: Vec<usize> =
        (1..=products.len()).filter(|count| count.is_power_of_two() || *count == products.len()).collect();
    let exponent = all.bench.top() - 2;
    let sums: Vec<Vec<Term>> = counts
        .iter()
        .map(|count| products[..*count].iter().map(|leaf| term(*leaf, false, 3, 3, exponent)).collect())
        .collect();
    let exact = |answer: &TermAnswer, number: i32| {
        answer.is(Finite::exact(false, 9 * counts[number as usize - 1] as u128, exponent))
    };
    let kept = Leading::asked(&mut all.bench, &sums, exact)?;
    let Some(answer) = kept.shown() else { return unknown(UNSUITED) };
    let count = counts[kept.count - 1];
    let needed = (9 * count as u32 / 4).ilog2();
    shows(format!("{needed}{}", if count == products.len() { " or more" } else { "" }), &answer)
}

/// Measures normalisation: products and sums with a carry, plus a term that alignment just keeps.
pub(super) fn normalisation(all: &mut Measurement) -> Result<Finding> {
    let Some(step) = all.steps.aligned() else { return unaligned(all) };
    let Some(cut) = all.cuts.of_products() else { return unknown(UNKNOWN_WIDTH) };
    let (e, mut leaves) = (all.bench.top(), all.cuts.leaves(step));
    let small = |leaf| power(leaf, false, e - cut.bits);
    let last = Finite::exact(false, 1, e - cut.bits);
    let mut words = Vec::new();
    let mut witness = None;
    if let [x, y, z, ..] = leaves[..] {
        let sum = vec![term(x, false, 3, 3, e - 2), term(y, true, 3, 3, e - 2), small(z)];
        let Some(answer) = all.bench.sum(sum)? else { return unknown(UNSUITED) };
        if !answer.is(last) {
            words.push("products");
        }
        witness = Some(answer);
    }
    if step.has_c() && all.cuts.alike() {
        leaves.insert(2.min(leaves.len()), Leaf::C);
    }
    if let [x, y, v, w, z, ..] = leaves[..] {
        let sum = vec![power(x, false, e), power(y, false, e), power(v, true, e), power(w, true, e), small(z)];
        if let Some(answer) = all.bench.sum(sum)?
            && !answer.is(last)
        {
            words.push("sums");
            witness = Some(answer);
        }
    }
    match witness {
        Some(answer) => shows(if words.is_empty() { "none".into() } else { words.join(", ") }, &answer),
        None => unknown("no step has three products"),
    }
}
