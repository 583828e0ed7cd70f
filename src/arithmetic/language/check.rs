//! What is wrong with a rule that its types cannot say: missing keys, keys without effect, impossible values.

use std::ops::RangeInclusive;

use super::{
    keys::KEYS,
    node::NodeResult,
    pattern,
    rule::{Alignment, Parts, Rounded, Rule, Split, Start, Step},
    tree,
};
use crate::format::{Format, Zeros};

/// What `alignment.bits` and the other widths may be: with them the exact sum of a group fits into 128 bits.
const BITS: RangeInclusive<i32> = 0..=60;
/// How many lanes there may be: no group is longer.
const LANES: RangeInclusive<usize> = 1..=1024;
/// What exponents may be. The terms of formats here have exponents above -3000.
const EXPONENTS: RangeInclusive<i32> = -100_000..=100_000;

/// What is wrong with a rule, in words, with the key and what is allowed.
pub(super) fn defect(rule: &Rule) -> Option<String> {
    patterns(rule)
        .or_else(|| keys(rule))
        .or_else(|| grouping(rule))
        .or_else(|| pieces(rule))
        .or_else(|| (rule.step == Step::Tree).then(|| tree::defect(rule)).flatten())
        .or_else(|| formats(rule))
        .or_else(|| ranges(rule))
}

fn patterns(rule: &Rule) -> Option<String> {
    if rule.instructions.is_empty() {
        return Some("'instructions' names no pattern".into());
    }
    let (pattern, defect) = rule.instructions.iter().find_map(|p| pattern::defect(p).map(|d| (p, d)))?;
    Some(format!("pattern '{pattern}': {defect}"))
}

fn keys(rule: &Rule) -> Option<String> {
    let step = rule.step.name();
    if rule.step == Step::Tree && rule.nodes.is_empty() {
        return Some("the key 'step' is missing; without it a rule needs nodes (node.NAME = { kind, ... })".into());
    }
    for key in KEYS {
        let (name, belongs, present) = (key.name, key.steps.contains(&rule.step), (key.present)(rule));
        if key.required && belongs && !present {
            return Some(format!("the key '{name}' is missing; step '{step}' needs it"));
        }
        if !belongs && present {
            let steps: Vec<&str> = key.steps.iter().map(|step| step.name()).collect();
            return Some(format!("'{name}' has no effect with step '{step}'; it belongs to {}", steps.join(", ")));
        }
    }
    (rule.nan_operands.is_some() && rule.start == Start::Product)
        .then(|| "'nan-operands' has no effect with start 'product'".into())
}

/// What is wrong with the pieces that significands are cut into.
fn pieces(rule: &Rule) -> Option<String> {
    let named = rule.nodes.iter().find(|(_, node)| node.pieces.is_some());
    let Some(Split { a, b }) = &rule.split else {
        return named.map(|(name, _)| format!("node '{name}': 'pieces' has no effect without the rule's 'split'"));
    };
    if rule.step == Step::Fma {
        return Some("'split' has no effect with step 'fma', whose products are whole".into());
    }
    a.iter().chain(b).any(|width| *width == 0).then(|| "'split' has a piece of 0 bits".into())
}

fn grouping(rule: &Rule) -> Option<String> {
    if rule.group == Some(0) {
        return Some("'group' must be at least 1".into());
    }
    if rule.scale_sums == Some(0) {
        return Some("'scale-sums' must be at least 1".into());
    }
    if rule.scale_sums.is_some() && rule.normalised == Some(true) {
        return Some(
            "'normalised' has no effect with 'scale-sums', whose terms have the exponents of the scales".into(),
        );
    }
    if let Some(lanes) = rule.lanes.as_ref().filter(|lanes| !LANES.contains(&lanes.period)) {
        let (low, high) = LANES.into_inner();
        return Some(format!("'lanes.period' is {}; allowed are {low} to {high}", lanes.period));
    }
    let Parts { period, residues } = rule.parts.as_ref()?;
    let mut seen: Vec<usize> = residues.concat();
    seen.sort_unstable();
    (*period == 0 || seen.len() != *period || !seen.into_iter().eq(0..*period))
        .then(|| "'parts.residues' must hold every remainder below 'period' (at least 1) exactly once".into())
}

/// Every format that something is rounded to, with its key.
fn targets(rule: &Rule) -> Vec<(String, Rounded)> {
    let shorthand = [
        ("result", &rule.result),
        ("between", &rule.between),
        ("addition", &rule.addition),
        ("product", &rule.product),
    ];
    let shorthand = shorthand.into_iter().filter_map(|(key, to)| Some((format!("'{key}.format'"), (*to)?)));
    let nodes = rule.nodes.iter().flat_map(|(name, node)| {
        let result = match node.result {
            Some(NodeResult::Rounded(to)) => Some(to),
            _ => None,
        };
        let both = [("result", result), ("product", node.product)];
        both.into_iter().filter_map(move |(key, to)| Some((format!("node '{name}': '{key}.format'"), to?)))
    });
    shorthand.chain(nodes).collect()
}

fn formats(rule: &Rule) -> Option<String> {
    let (key, to) = targets(rule).into_iter().find(|(_, to)| !holds_sums(to.format))?;
    Some(format!("{key} is {}; sums need a signed format with zero and NaN", to.format))
}

fn ranges(rule: &Rule) -> Option<String> {
    let outside = |key: &str, value: Option<i32>, range: RangeInclusive<i32>| {
        let value = value.filter(|value| !range.contains(value))?;
        let (low, high) = range.into_inner();
        Some(format!("{key} is {value}; allowed are {low} to {high}"))
    };
    let alignment = |prefix: &str, alignment: Option<Alignment>| {
        outside(&format!("{prefix}'alignment.bits'"), alignment.map(|a| a.bits), BITS)
            .or_else(|| outside(&format!("{prefix}'alignment.floor'"), alignment.and_then(|a| a.floor), EXPONENTS))
    };
    let nodes = || {
        rule.nodes.iter().find_map(|(name, node)| {
            let key = |key: &str| format!("node '{name}': '{key}'");
            alignment(&format!("node '{name}': "), node.alignment)
                .or_else(|| outside(&key("product-limit"), node.product_limit, EXPONENTS))
                .or_else(|| node.terms.iter().find_map(|term| outside(&key("bits"), term.bits, BITS)))
                .or_else(|| node.terms.iter().find_map(|term| outside(&key("drop"), term.drop, EXPONENTS)))
        })
    };
    alignment("", rule.alignment)
        .or_else(|| outside("'lanes.bits'", rule.lanes.as_ref().map(|l| l.bits), BITS))
        .or_else(|| outside("'late.sum-bits'", rule.late.map(|l| l.sum_bits), BITS))
        .or_else(|| outside("'late.c-bits'", rule.late.map(|l| l.c_bits), BITS))
        .or_else(|| outside("'late.drop'", rule.late.and_then(|l| l.drop), EXPONENTS))
        .or_else(|| outside("'late.floor'", rule.late.and_then(|l| l.floor), EXPONENTS))
        .or_else(|| outside("'product-limit'", rule.product_limit, EXPONENTS))
        .or_else(nodes)
}

/// Whether a format can hold the results of sums: both signs, zero and NaN.
fn holds_sums(format: &Format) -> bool {
    format.has_nan() && format.float().is_some_and(|float| float.signed && float.zeros != Zeros::None)
}
