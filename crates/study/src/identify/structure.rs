//! Rules that sum in a given order: the common shapes that do, with the arithmetic of a device.

use std::collections::BTreeMap;

use super::{
    starts::Start,
    steps::{Products, StepArithmetic, SumSteps},
};
use crate::{
    arithmetic::{CPosition, Join, Lanes, Rule, Step, ZeroSign},
    isa::Instruction,
    order::{Leaf, Manner, Meeting, Order, of_program},
};

/// The numbers of k that the groups of an order may have, the largest first.
///
/// They are 1, all, and at most `most` others: the most frequent numbers of products that steps add themselves, or that their parts hold.
pub(super) fn groups(order: &Order, most: usize) -> Vec<usize> {
    let products = |leaf: &&Leaf| **leaf != Leaf::C;
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let all = order.leaves().iter().filter(products).count();
    for meeting in order.meetings() {
        let direct = meeting.parts.iter().filter(|part| matches!(part, Order::Leaf(Leaf::Product(_)))).count();
        let below = meeting.parts.iter().map(|part| part.leaves().iter().filter(products).count());
        for count in below.chain([direct]).filter(|count| (2..all).contains(count)) {
            *counts.entry(count).or_insert(0) += 1;
        }
    }
    // The most frequent numbers are kept; among equally frequent ones, the largest.
    let mut groups: Vec<(usize, usize)> = counts.into_iter().map(|(group, count)| (count, group)).collect();
    groups.sort_by(|x, y| y.cmp(x));
    groups.truncate(most);
    let mut groups: Vec<usize> = groups.into_iter().map(|(_, group)| group).chain([1, all]).collect();
    groups.sort_by(|x, y| y.cmp(x));
    groups.dedup();
    groups
}

/// The `starts` that sum in the order that was found, as far as the order is decided.
pub(super) fn in_order(starts: Vec<Start>, order: &Order, part: &Instruction) -> Vec<Start> {
    let fits = |start: &Start| {
        let evaluator = super::candidate::evaluator(&start.rule, part)?;
        let candidate = of_program(evaluator.program())?;
        Some(agrees(order, &candidate) || at_once(order).is_some_and(|order| agrees(&order, &candidate)))
    };
    starts.into_iter().filter(|start| fits(start) == Some(true)).collect()
}

/// The terms of a step, in ascending order.
fn of_step(step: &Meeting) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = step.parts.iter().flat_map(Order::leaves).collect();
    leaves.sort();
    leaves
}

/// The order with c inside the undecided step whose sum it is added to.
///
/// If nothing is lost before c is added, no output distinguishes the two orders.
fn at_once(order: &Order) -> Option<Order> {
    let Order::Meeting(meeting) = order else { return None };
    let [c @ Order::Leaf(Leaf::C), Order::Meeting(rest)] = &meeting.parts[..] else { return None };
    let parts = std::iter::once(c).chain(&rest.parts).cloned().collect();
    (rest.manner == Manner::Undecided).then_some(Order::Meeting(Meeting { parts, manner: Manner::Undecided }))
}

/// Shapes with the arithmetic of the device's steps.
///
/// A shape has one arithmetic for its sums and one for its additions, so that steps of a kind are taken to be alike.
pub(super) fn shaped(shapes: &[Start], steps: &SumSteps) -> Vec<Rule> {
    let arithmetics = || steps.steps.iter().map(|step| step.arithmetic);
    let aligned = most(arithmetics().filter(|arithmetic| arithmetic.cut.is_some()));
    let added: Vec<StepArithmetic> = arithmetics().filter(|arithmetic| arithmetic.cut.is_none()).collect();
    let mut all: Vec<Rule> = Vec::new();
    for shape in shapes {
        let mut rule = shape.rule.clone();
        // The arithmetic of the steps that sum several terms, and of the steps that add two.
        let (sum, addition) = match rule.step {
            Step::Fused => (aligned, most(added.iter().copied())),
            Step::Exact => (most(added.iter().copied()), most(added.iter().copied())),
            // The additions that join the groups of a shape are its last steps; the additions within groups come before.
            _ => (added.last().copied(), added.first().copied()),
        };
        let Some(sum) = sum else { continue };
        // Steps before the last one may round otherwise.
        let is_plain = (rule.c, rule.join) == (CPosition::First, Join::Chain);
        rule.result = Some(sum.target.rounded());
        if let Some(last) = steps.steps.first().filter(|last| is_plain && last.arithmetic.target != sum.target) {
            (rule.result, rule.between) = (Some(last.arithmetic.target.rounded()), Some(sum.target.rounded()));
        }
        rule.alignment = sum.cut.or(rule.alignment);
        rule.output = steps.output().or(rule.output);
        if let (Some((period, cut)), Some(lanes)) = (sum.lanes, &mut rule.lanes) {
            *lanes = Lanes { period, bits: cut.bits, rounding: cut.rounding };
        }
        if let (Some(late_sum), Some(late)) = (sum.late, &mut rule.late) {
            *late = late_sum.late();
        }
        let is_sum = matches!(rule.step, Step::Fused | Step::Exact);
        rule.zero = sum.zero.filter(|zero| is_sum && *zero != ZeroSign::Positive).or(rule.zero);
        match sum.products {
            Products::Rounded(target) => rule.product = Some(target.rounded()),
            Products::Normalised => rule.normalised = Some(true),
            _ => {}
        }
        if let (Some(arithmetic), Some(addition)) = (addition, &mut rule.addition) {
            *addition = arithmetic.target.rounded();
        }
        if !all.contains(&rule) {
            all.push(rule);
        }
    }
    all
}

/// The most frequent of these arithmetics.
fn most(arithmetics: impl Iterator<Item = StepArithmetic>) -> Option<StepArithmetic> {
    let mut counted: Vec<(StepArithmetic, usize)> = Vec::new();
    for arithmetic in arithmetics {
        match counted.iter_mut().find(|(other, _)| *other == arithmetic) {
            Some((_, count)) => *count += 1,
            None => counted.push((arithmetic, 1)),
        }
    }
    counted.into_iter().rev().max_by_key(|(_, count)| *count).map(|(arithmetic, _)| arithmetic)
}

/// True if a sum adds its terms in the order that was found.
/// If that order leaves a step undecided, only the steps before it are compared.
fn agrees(measured: &Order, candidate: &Order) -> bool {
    match (measured, candidate) {
        (Order::Meeting(measured), candidate) if measured.manner == Manner::Undecided => {
            let mut before = measured.parts.iter().filter(|part| matches!(part, Order::Meeting(_)));
            of_step(measured) == candidate.leaves().into_iter().collect::<Vec<_>>()
                && before.all(|part| has(candidate, part))
        }
        (Order::Leaf(measured), Order::Leaf(candidate)) => measured == candidate,
        (Order::Meeting(measured), Order::Meeting(candidate)) => {
            measured.parts.len() == candidate.parts.len()
                && measured.parts.iter().zip(&candidate.parts).all(|(measured, candidate)| agrees(measured, candidate))
        }
        _ => false,
    }
}

/// True if a step of a sum adds the terms of this part, in the order of the part.
fn has(candidate: &Order, part: &Order) -> bool {
    let leaves = part.leaves();
    let mut same = None;
    candidate.visit(&mut |step| {
        if same.is_none() && step.leaves() == leaves {
            same = Some(step);
        }
    });
    same.is_some_and(|step| agrees(part, step))
}
