//! Wording of sentences.

use std::fmt::Display;

/// Words that begin with a capital letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Several words in a phrase: `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The range of values in words: `A`, or `from A to B`; `None` without a value.
pub(crate) fn span<T>(
    items: &[T],
    value: impl Fn(&T) -> Option<f64>,
    words: impl Fn(&T, f64) -> String,
) -> Option<String> {
    let mut found: Vec<(&T, f64)> = items.iter().filter_map(|item| Some((item, value(item)?))).collect();
    found.sort_by(|x, y| f64::total_cmp(&x.1, &y.1));
    match found[..] {
        [] => None,
        [(item, value)] => Some(words(item, value)),
        [(least, low), .., (most, high)] => Some(format!("from {} to {}", words(least, low), words(most, high))),
    }
}

/// The name of the one device, or the number of devices.
pub(crate) fn devices(names: &[impl Display]) -> String {
    match names {
        [one] => one.to_string(),
        several => format!("{} devices", several.len()),
    }
}
