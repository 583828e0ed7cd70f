//! Wording of sentences.

use std::fmt::Display;

/// Words as a sentence begins with them: with a capital letter, unless the first word is a name.
///
/// A name holds more than letters: `exec:./unit`, `cuda:0`, `chain(c,`.
pub fn capitalised(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_word = first.trim_end_matches([',', ';', ':', '.']).chars().all(|c| c.is_alphabetic() || c == '-');
    let mut letters = text.chars();
    match letters.next() {
        Some(letter) if is_word => letter.to_uppercase().chain(letters).collect(),
        _ => text.into(),
    }
}

/// Several words in a phrase: `a, b and c`.
pub fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The range of values in words: `A`, or `from A to B`; `None` without a value.
pub fn span<T>(items: &[T], value: impl Fn(&T) -> Option<f64>, words: impl Fn(&T, f64) -> String) -> Option<String> {
    let mut valued: Vec<(&T, f64)> = items.iter().filter_map(|item| Some((item, value(item)?))).collect();
    valued.sort_by(|x, y| f64::total_cmp(&x.1, &y.1));
    match valued[..] {
        [] => None,
        [(item, value)] => Some(words(item, value)),
        [(least, low), .., (most, high)] => Some(format!("from {} to {}", words(least, low), words(most, high))),
    }
}

/// The name of the one device, or the number of devices.
pub fn devices(names: &[impl Display]) -> String {
    match names {
        [one] => one.to_string(),
        several => format!("{} devices", several.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital_letter_or_with_a_name() {
        for (text, sentence) in [
            ("the recording gives 1", "The recording gives 1"),
            ("round-robin: 2", "Round-robin: 2"),
            ("floor: -133", "Floor: -133"),
            ("exec:./unit1 gives 1", "exec:./unit1 gives 1"),
            ("model:hopper and model ampere give 1", "model:hopper and model ampere give 1"),
            ("cuda:0 gives 1", "cuda:0 gives 1"),
            ("mma.m16n8k16 differs", "mma.m16n8k16 differs"),
            ("", ""),
        ] {
            assert_eq!(capitalised(text), sentence);
        }
    }
}
