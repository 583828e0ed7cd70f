//! The rules with which a search begins: known arithmetics, and common shapes.

use super::candidate::candidate;
use crate::{
    arithmetic::{
        Alignment, CPosition, Join, Lanes, Late, Model, Parts, Rounded, Rule, Start as ChainStart, Step, Wrap, shipped,
    },
    format::{self, Format, Rounding},
    isa::{self, Instruction},
};

/// Number of products that hardware often adds before scaling, if it is less than a block.
const SCALED: usize = 16;

/// Bits of the narrowest accumulator of integers that is tried.
const NARROWEST: u32 = 8;

/// A rule to begin with, and its origin.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// The rule.
    pub rule: Rule,
    /// The shipped model and the instruction that has it.
    pub known: Option<(String, String)>,
}

/// The rules that shipped models have for instructions with the same formats, each once.
///
/// The rules of the instruction itself come first. A rule of several models is attributed to the model `generation`, if it has the rule.
/// The models `withheld` give none.
pub(super) fn known(i: &Instruction, generation: Option<&str>, withheld: &[String]) -> Vec<Start> {
    let same = |other: &&Instruction| {
        [other.a, other.b, other.c, other.d] == [i.a, i.b, i.c, i.d]
            && other.scale == i.scale
            && other.is_sparse() == i.is_sparse()
    };
    let mut instructions: Vec<&Instruction> = isa::all().iter().filter(same).collect();
    instructions.sort_by_key(|other| (other.name != i.name, other.k != i.k));
    let shown = shipped().filter(|name| withheld.iter().all(|other| other != name));
    let mut models: Vec<Model> = shown.filter_map(|name| Model::load(name).ok()).collect();
    models.sort_by_key(|model| Some(&model.name[..]) != generation);
    let mut starts: Vec<Start> = Vec::new();
    for instruction in instructions {
        for model in &models {
            let Some(rule) = model.rule(instruction) else { continue };
            let rule = candidate(rule.clone(), i);
            if starts.iter().all(|start| start.rule != rule) {
                starts.push(Start { rule, known: Some((model.name.clone(), instruction.name.clone())) });
            }
        }
    }
    starts
}

/// Rules of other instructions of the device, each once.
pub(super) fn of_found_rules(rules: &[Rule], i: &Instruction) -> Vec<Start> {
    let mut starts: Vec<Start> = Vec::new();
    for rule in rules {
        let rule = candidate(rule.clone(), i);
        if starts.iter().all(|start| start.rule != rule) {
            starts.push(Start { rule, known: None });
        }
    }
    starts
}

/// Rules of the common shapes, with these numbers of k in a group; `nan` is the code of D for NaN.
pub(super) fn shapes(i: &Instruction, nan: u64, groups: &[usize]) -> Vec<Start> {
    if i.d.is_integer() {
        return plain(integers(i, groups), i);
    }
    let parts: [(usize, &[&[usize]]); 5] = [
        (2, &[&[0], &[1]]),
        (2, &[&[1], &[0]]),
        (4, &[&[0, 1], &[2, 3]]),
        (4, &[&[2, 3], &[0, 1]]),
        (4, &[&[0], &[1], &[2], &[3]]),
    ];
    let split = |(period, residues): (usize, &[&[usize]])| Parts {
        period,
        residues: residues.iter().map(|part| part.to_vec()).collect(),
    };
    let parts: Vec<Option<Parts>> = std::iter::once(None)
        .chain(parts.map(|part| Some(split(part))))
        .filter(|part| part.is_none() || i.stored_k() > 1)
        .collect();
    let joins = [
        (Join::Chain, CPosition::First),
        (Join::Chain, CPosition::Last),
        (Join::Add, CPosition::First),
        (Join::Add, CPosition::Last),
    ];
    let mut rules = Vec::new();
    for target in targets(i.d) {
        for group in groups {
            for part in &parts {
                for (join, c) in joins {
                    let is_joined = (join, c) != (Join::Chain, CPosition::First);
                    // Additions round to nearest here; their rounding is found separately.
                    let addition = Rounded { rounding: Rounding::Rne, ..target };
                    for mut rule in kinds(i, is_joined) {
                        (rule.group, rule.parts, rule.join, rule.c) = (Some(*group), part.clone(), join, c);
                        (rule.result, rule.nan) = (Some(target), Some(nan));
                        rule.addition = is_joined.then_some(addition);
                        rules.push(rule);
                    }
                }
            }
        }
    }
    plain(rules, i)
}

/// Bits in which sums of groups of integer products saturate most often.
const OF_GROUPS: u32 = 16;

/// Sums of integers of every width, the width of D first.
/// They wrap around, or saturate after every group.
fn integers(i: &Instruction, groups: &[usize]) -> Vec<Rule> {
    let all_products = i.stored_k();
    let mut rules: Vec<Rule> = Vec::new();
    for bits in (NARROWEST.min(i.d.bits)..=i.d.bits).rev() {
        let sum = |wrap, group: usize| {
            let mut rule = stepped(Step::Integer);
            (rule.wrap, rule.accumulator) = (Some(wrap), Some(bits).filter(|bits| *bits < i.d.bits));
            rule.group = Some(group).filter(|group| *group != all_products);
            rule
        };
        rules.push(sum(Wrap::Wrap, all_products));
        // Without these bits, groups have no effect on a sum that wraps.
        rules.extend(groups.iter().filter(|_| bits == i.d.bits).map(|group| {
            let mut rule = sum(Wrap::Wrap, *group);
            rule.group_bits = Some(OF_GROUPS);
            rule
        }));
        // A sum that wraps shows no bits of a c that wraps into as many, so both keys change together.
        for (group, of_c) in groups.iter().chain(&[all_products]).flat_map(|group| [(group, None), (group, Some(bits))])
        {
            let mut rule = sum(Wrap::Saturate, *group);
            rule.c_bits = rule.accumulator.and(of_c);
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    rules
}

/// The usual numbers of k in a group: the divisors of all k, the largest first.
pub(super) fn groups(i: &Instruction) -> Vec<usize> {
    let k = i.stored_k();
    (1..=k).rev().filter(|group| k.is_multiple_of(*group)).collect()
}

fn plain(rules: Vec<Rule>, i: &Instruction) -> Vec<Start> {
    rules.into_iter().map(|rule| Start { rule: candidate(rule, i), known: None }).collect()
}

/// A rule with this step alone.
fn stepped(step: Step) -> Rule {
    let mut rule = Rule::default();
    rule.step = step;
    rule
}

/// A fused rule with a usual alignment.
fn fused() -> Rule {
    let mut rule = stepped(Step::Fused);
    rule.alignment = Some(Alignment::new(24, Rounding::Rz));
    rule
}

/// The rules for the usual ways to sum a group.
fn kinds(i: &Instruction, is_joined: bool) -> Vec<Rule> {
    let mut kinds = plain_kinds(i, is_joined);
    // Hardware may add products before they are scaled: all of a block, or as many as blocks often have.
    let block = i.scale.map_or(0, |scale| scale.block);
    let sums = [block, SCALED].into_iter().filter(|sums| *sums > 1 && block.is_multiple_of(*sums));
    for sums in sums.take(if block == SCALED { 1 } else { 2 }) {
        kinds.extend([fused(), stepped(Step::Exact)].map(|mut rule| {
            rule.scale_sums = Some(sums);
            rule
        }));
    }
    kinds
}

/// The rules for the usual ways to sum a group, without sums that are scaled.
fn plain_kinds(i: &Instruction, is_joined: bool) -> Vec<Rule> {
    let lanes = Lanes { period: 2, bits: 24, rounding: Rounding::Rd };
    let late = Late::new([31, 24], Rounding::Rd);
    let mut kinds = Vec::new();
    for (lanes, late) in [(None, None), (None, Some(late)), (Some(lanes.clone()), None), (Some(lanes), Some(late))] {
        let mut rule = fused();
        (rule.lanes, rule.late) = (lanes, late);
        kinds.push(rule);
    }
    kinds.push(stepped(Step::Exact));
    if i.scale.is_none() {
        let chains = [Step::Fma, Step::Sequential, Step::Pairwise].map(stepped);
        kinds.extend(chains.clone());
        if is_joined {
            kinds.extend(chains.map(|mut rule| {
                rule.start = ChainStart::Product;
                rule
            }));
        }
    }
    kinds
}

/// The usual formats and roundings of sums.
fn targets(d: &Format) -> Vec<Rounded> {
    let targets: &[(&str, Rounding)] = match d.name {
        "f64" => &[("f64", Rounding::Rne)],
        "f16" => &[("f16", Rounding::Rne), ("f32", Rounding::Rne), ("f32", Rounding::Rz)],
        _ => &[("f32", Rounding::Rne), ("f32", Rounding::Rz)],
    };
    targets.iter().filter_map(|(name, rounding)| Some(Rounded::new(format::find(name).ok()?, *rounding))).collect()
}
