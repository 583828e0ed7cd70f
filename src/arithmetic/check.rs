//! What is wrong with a rule that its types cannot say: missing keys, keys without effect, impossible values.

use std::ops::RangeInclusive;

use super::{
    keys::KEYS,
    pattern,
    rule::{Parts, Rule, Start},
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
    patterns(rule).or_else(|| keys(rule)).or_else(|| grouping(rule)).or_else(|| formats(rule)).or_else(|| ranges(rule))
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
        .then(|| "'nan-operands' belongs to step 'fma' without start 'product'".into())
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

fn formats(rule: &Rule) -> Option<String> {
    let targets = [
        ("result", &rule.result),
        ("between", &rule.between),
        ("addition", &rule.addition),
        ("product", &rule.product),
    ];
    let (key, format) =
        targets.into_iter().find_map(|(key, to)| to.map(|to| (key, to.format)).filter(|(_, f)| !holds_sums(f)))?;
    Some(format!("'{key}.format' is {format}; sums need a signed format with zero and NaN"))
}

fn ranges(rule: &Rule) -> Option<String> {
    let outside = |key: &str, value: Option<i32>, range: RangeInclusive<i32>| {
        let value = value.filter(|value| !range.contains(value))?;
        let (low, high) = range.into_inner();
        Some(format!("'{key}' is {value}; allowed are {low} to {high}"))
    };
    outside("alignment.bits", rule.alignment.map(|a| a.bits), BITS)
        .or_else(|| outside("alignment.floor", rule.alignment.and_then(|a| a.floor), EXPONENTS))
        .or_else(|| outside("lanes.bits", rule.lanes.as_ref().map(|l| l.bits), BITS))
        .or_else(|| outside("late.sum-bits", rule.late.map(|l| l.sum_bits), BITS))
        .or_else(|| outside("late.c-bits", rule.late.map(|l| l.c_bits), BITS))
        .or_else(|| outside("late.drop", rule.late.and_then(|l| l.drop), EXPONENTS))
        .or_else(|| outside("late.floor", rule.late.and_then(|l| l.floor), EXPONENTS))
        .or_else(|| outside("product-limit", rule.product_limit, EXPONENTS))
}

/// Whether a format can hold the results of sums: both signs, zero and NaN.
fn holds_sums(format: &Format) -> bool {
    format.has_nan() && format.float().is_some_and(|float| float.signed && float.zeros != Zeros::None)
}
