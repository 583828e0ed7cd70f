//! Features that errors without a cause have in common.

use super::elements::Elements;
use crate::{check::ProductCheck, product::places};

/// An error: D, and the exact value.
struct Pair {
    d: f64,
    exact: f64,
}

/// A property that all errors of a product may have, in words.
type Property = (&'static str, fn(&Pair) -> bool);

const OF_ALL_ERRORS: &[Property] = &[
    ("D is 0 there", |pair| pair.d == 0.0),
    ("D is NaN there", |pair| pair.d.is_nan()),
    ("D is infinite there", |pair| pair.d.is_infinite()),
    ("D has the wrong sign", |pair| pair.d * pair.exact < 0.0),
    ("D is too near to 0", |pair| pair.d.abs() < pair.exact.abs()),
    ("D is too far from 0", |pair| pair.d.abs() > pair.exact.abs() && pair.d * pair.exact >= 0.0),
    ("D is too large", |pair| pair.d > pair.exact),
    ("D is too small", |pair| pair.d < pair.exact),
];

/// A sentence about what all errors have in common.
pub(super) fn features(elements: &Elements, check: &ProductCheck) -> String {
    let mut words = Vec::new();
    for (name, lines, count) in
        [("row", &check.rows, elements.request.d.rows), ("column", &check.columns, elements.request.d.columns)]
    {
        match lines.len() {
            0 => (),
            1 if count > 1 => words.push(format!("they lie in {name} {}", places(lines))),
            some if some * 2 <= count => words.push(format!("they lie in {name}s {}", places(lines))),
            _ => (),
        }
    }
    if let (1, Some((row, column))) = (check.tiles.len(), check.tiles.first())
        && elements.request.d.rows.max(elements.request.d.columns) > 64
        && words.is_empty()
    {
        words.push(format!("they lie in one tile of 64 x 64, from D[{}, {}] on", row * 64, column * 64));
    }
    let pair = |at: &usize| Pair { d: elements.values[*at], exact: elements.claimed[*at].value.to_f64() };
    let errors: Vec<Pair> = elements.errors.iter().map(pair).collect();
    if errors.len() > 1 {
        words
            .extend(OF_ALL_ERRORS.iter().find(|(_, holds)| errors.iter().all(holds)).map(|(words, _)| (*words).into()));
        words.extend(threshold(elements, &errors));
    }
    match words.is_empty() {
        true => "The errors that were tried have nothing in common that was looked for.".into(),
        false => format!("The errors that were tried have this in common: {}.", words.join("; ")),
    }
}

/// The magnitude of exact values from which on there are errors, and below which there are none.
fn threshold(elements: &Elements, errors: &[Pair]) -> Option<String> {
    let is_error: std::collections::BTreeSet<usize> = elements.errors.iter().copied().collect();
    let right = (0..elements.values.len()).filter(|at| !is_error.contains(at));
    let exact: Vec<f64> = right.map(|at| elements.claimed[at].value.to_f64()).collect();
    let least = errors.iter().map(|pair| pair.exact.abs()).fold(f64::INFINITY, f64::min);
    match () {
        () if exact.is_empty() => None,
        () if exact.iter().all(|exact| exact.abs() < least) => {
            Some(format!("they are where the exact value has a magnitude of {least:.3e} or more, and nowhere below"))
        }
        () if errors.iter().all(|pair| pair.exact < 0.0) && exact.iter().all(|exact| *exact >= 0.0) => {
            Some("they are where the exact value is negative, and nowhere else".into())
        }
        () => None,
    }
}
