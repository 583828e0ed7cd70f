//! Rules that sum in a given order: which of the common shapes do, and a tree of nodes that does.

use std::collections::BTreeMap;

use super::{
    starts::Start,
    steps::{Own, Products, SumSteps},
};
use crate::{
    arithmetic::{CPosition, Join, Lanes, Rule, Step, ZeroSign},
    isa::Instruction,
    order::{Leaf, Manner, Meeting, Order, of_program},
};

/// The numbers of k that groups may have in an order, at most so many besides 1 and all: as many products as steps add most often, or
/// as there are behind them.
pub(super) fn groups(order: &Order, most: usize) -> Vec<usize> {
    let products = |leaf: &&Leaf| **leaf != Leaf::C;
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let all = order.leaves().iter().filter(products).count();
    for meeting in order.meetings() {
        let own = meeting.parts.iter().filter(|part| matches!(part, Order::Leaf(Leaf::Product(_)))).count();
        let below = meeting.parts.iter().map(|part| part.leaves().iter().filter(products).count());
        for count in below.chain([own]).filter(|count| (2..all).contains(count)) {
            *counts.entry(count).or_insert(0) += 1;
        }
    }
    // The most frequent, of those alike the largest.
    let mut groups: Vec<(usize, usize)> = counts.into_iter().map(|(group, count)| (count, group)).collect();
    groups.sort_by(|x, y| y.cmp(x));
    groups.truncate(most);
    let mut groups: Vec<usize> = groups.into_iter().map(|(_, group)| group).chain([1, all]).collect();
    groups.sort_by(|x, y| y.cmp(x));
    groups.dedup();
    groups
}

/// Those of `starts` that sum in the order that was found, as far as it is decided.
pub(super) fn in_order(starts: Vec<Start>, order: &Order, part: &Instruction) -> Vec<Start> {
    let fits = |start: &Start| {
        let own = super::candidate::evaluator(&start.rule, part)?;
        let own = of_program(own.program())?;
        Some(agrees(order, &own) || at_once(order).is_some_and(|order| agrees(&order, &own)))
    };
    starts.into_iter().filter(|start| fits(start) == Some(true)).collect()
}

/// The terms of a step, in ascending order.
fn of_step(step: &Meeting) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = step.parts.iter().flat_map(Order::leaves).collect();
    leaves.sort();
    leaves
}

/// Where c is added to what is summed in no order that can be seen: all at once, which cannot be told from it if nothing is lost before.
fn at_once(order: &Order) -> Option<Order> {
    let Order::Meeting(meeting) = order else { return None };
    let [c @ Order::Leaf(Leaf::C), Order::Meeting(rest)] = &meeting.parts[..] else { return None };
    let parts = std::iter::once(c).chain(&rest.parts).cloned().collect();
    (rest.manner == Manner::Undecided).then_some(Order::Meeting(Meeting { parts, manner: Manner::Undecided }))
}

/// Shapes with what the steps of the device do, as far as all steps that the shape has alike do the same.
pub(super) fn shaped(shapes: &[Start], steps: &SumSteps) -> Vec<Rule> {
    let owns = || steps.steps.iter().map(|step| step.own);
    let aligned = most(owns().filter(|own| own.cut.is_some()));
    let added: Vec<Own> = owns().filter(|own| own.cut.is_none()).collect();
    let mut all: Vec<Rule> = Vec::new();
    for shape in shapes {
        let mut rule = shape.rule.clone();
        // What sums several terms, and what adds two.
        let (sum, addition) = match rule.step {
            Step::Fused => (aligned, most(added.iter().copied())),
            Step::Exact => (most(added.iter().copied()), most(added.iter().copied())),
            // The additions of a shape are its last steps, those of its groups come before.
            _ => (added.last().copied(), added.first().copied()),
        };
        let Some(sum) = sum else { continue };
        // Steps before the last one may round otherwise.
        let is_plain = (rule.c, rule.join) == (CPosition::First, Join::Chain);
        rule.result = Some(sum.target.rounded());
        if let Some(last) = steps.steps.first().filter(|last| is_plain && last.own.target != sum.target) {
            (rule.result, rule.between) = (Some(last.own.target.rounded()), Some(sum.target.rounded()));
        }
        rule.alignment = sum.cut.or(rule.alignment);
        rule.output = steps.output().or(rule.output);
        if let (Some((period, cut)), Some(lanes)) = (sum.lanes, &mut rule.lanes) {
            *lanes = Lanes { period, bits: cut.bits, rounding: cut.rounding };
        }
        if let (Some(own), Some(late)) = (sum.late, &mut rule.late) {
            *late = own.late();
        }
        let is_sum = matches!(rule.step, Step::Fused | Step::Exact);
        rule.zero = sum.zero.filter(|zero| is_sum && *zero != ZeroSign::Positive).or(rule.zero);
        match sum.products {
            Products::Rounded(target) => rule.product = Some(target.rounded()),
            Products::Normalised => rule.normalised = Some(true),
            _ => {}
        }
        if let (Some(own), Some(addition)) = (addition, &mut rule.addition) {
            *addition = own.target.rounded();
        }
        if !all.contains(&rule) {
            all.push(rule);
        }
    }
    all
}

/// What most of them are.
fn most(owns: impl Iterator<Item = Own>) -> Option<Own> {
    let mut counted: Vec<(Own, usize)> = Vec::new();
    for own in owns {
        match counted.iter_mut().find(|(other, _)| *other == own) {
            Some((_, count)) => *count += 1,
            None => counted.push((own, 1)),
        }
    }
    counted.into_iter().rev().max_by_key(|(_, count)| *count).map(|(own, _)| own)
}

/// Whether a sum has the order that was found of another: where that leaves a step undecided, the steps before it.
fn agrees(found: &Order, own: &Order) -> bool {
    match (found, own) {
        (Order::Meeting(found), own) if found.manner == Manner::Undecided => {
            let mut before = found.parts.iter().filter(|part| matches!(part, Order::Meeting(_)));
            of_step(found) == own.leaves().into_iter().collect::<Vec<_>>() && before.all(|part| has(own, part))
        }
        (Order::Leaf(found), Order::Leaf(own)) => found == own,
        (Order::Meeting(found), Order::Meeting(own)) => {
            found.parts.len() == own.parts.len()
                && found.parts.iter().zip(&own.parts).all(|(found, own)| agrees(found, own))
        }
        _ => false,
    }
}

/// Whether one of the steps of a sum sums what this part does, in its order.
fn has(own: &Order, part: &Order) -> bool {
    let leaves = part.leaves();
    let mut same = None;
    own.visit(&mut |step| {
        if same.is_none() && step.leaves() == leaves {
            same = Some(step);
        }
    });
    same.is_some_and(|step| agrees(part, step))
}
