//! Suggestions for a name that does not exist.

/// The `count` names among `known` most similar to `wanted`, quoted, the most similar first.
/// Ties keep the order of `known`.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<String> {
    among(wanted, &known.into_iter().collect::<Vec<_>>(), count)
}

fn among(wanted: &str, known: &[&str], count: usize) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> =
        known.iter().map(|name| (strsim::jaro_winkler(wanted, &name.to_ascii_lowercase()), *name)).collect();
    scored.sort_by(|x, y| y.0.total_cmp(&x.0));
    scored.into_iter().take(count).map(|(_, name)| format!("'{name}'")).collect()
}
