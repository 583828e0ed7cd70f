//! Causes of differences of devices, in sentences and rows.

use crate::distinction::{
    DifferenceCause, DifferenceReason,
    tables::{NamedSide, ReasonRow, key_row, names},
};

/// The cause of a difference in a sentence or several; `None` where one rule was found for both.
pub(super) fn because(sides: [&NamedSide; 2], cause: &DifferenceCause) -> Option<String> {
    let names = names(sides);
    let sentences: Vec<String> =
        cause.reasons.iter().map(|reason| reason.sentence(names.each_ref().map(|n| &n[..]))).collect();
    let only = if cause.nearest.iter().any(Option::is_some) { "The nearest rules differ. " } else { "" };
    (!sentences.is_empty()).then(|| format!("{only}{}", sentences.join(" ")))
}

/// The rows of the keys in which identified rules differ.
pub(super) fn rows(sides: [&NamedSide; 2], cause: &DifferenceCause, from: usize) -> Vec<ReasonRow> {
    let names = names(sides);
    let is_near = cause.nearest.iter().any(Option::is_some);
    let row = |(at, reason): (usize, &DifferenceReason)| {
        let verdict = if is_near { "nearest rules" } else { "identified" };
        key_row(sides, from + at, reason, names.each_ref().map(|n| &n[..]), verdict)
    };
    cause.reasons.iter().enumerate().map(row).collect()
}

/// The doubts in a cause: rules that are only the nearest, or do not differ.
pub(super) fn doubts(sides: [&NamedSide; 2], cause: &DifferenceCause) -> Vec<String> {
    let names = names(sides);
    let near = names.iter().zip(&cause.nearest).filter_map(|(name, misses)| {
        Some(format!("The rule of {name} is only the nearest: it misses {}.", misses.as_ref()?))
    });
    let same = cause.reasons.is_empty().then(|| {
        format!("One rule was found for {} and {}; the cause of their difference lies outside it.", names[0], names[1])
    });
    near.chain(same).collect()
}
