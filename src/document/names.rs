//! Many names of instructions as few patterns.

use crate::{base::distinct::distinct, isa};

/// A list as text; names of instructions become patterns such as `mma.m16n8k{8,16}.f32.{f16,bf16}.f32`.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = distinct(names);
    match names.iter().all(|name| isa::known(name).is_some()) {
        true => patterns(&names).join(", "),
        false => names.join(", "),
    }
}

/// Patterns that stand for exactly these names.
fn patterns(names: &[&str]) -> Vec<String> {
    // A field of a pattern is the choice that stands in its place.
    let mut all: Vec<Vec<Vec<&str>>> =
        names.iter().map(|name| name.split('.').map(|field| vec![field]).collect()).collect();
    let fields = all.iter().map(Vec::len).max().unwrap_or(0);
    for at in (0..fields).rev() {
        let mut merged: Vec<Vec<Vec<&str>>> = Vec::new();
        for pattern in all {
            let alike = |other: &&mut Vec<Vec<&str>>| {
                other.len() == pattern.len()
                    && at < pattern.len()
                    && (0..pattern.len()).all(|i| i == at || pattern[i] == other[i])
            };
            match merged.iter_mut().find(alike) {
                Some(other) => other[at].extend(pattern[at].iter().copied()),
                None => merged.push(pattern),
            }
        }
        all = merged;
    }
    all.iter().map(|pattern| pattern.iter().map(|choice| braced(choice)).collect::<Vec<_>>().join(".")).collect()
}

/// The one choice, or the common beginning and the rest of each in braces: `m16n8k{8,16}`.
fn braced(choice: &[&str]) -> String {
    let [first, others @ ..] = choice else { return String::new() };
    if others.is_empty() {
        return first.to_string();
    }
    let same = |at: &usize| others.iter().all(|other| other.as_bytes().get(*at) == first.as_bytes().get(*at));
    let mut common = (0..first.len()).take_while(same).count();
    // A number is not cut, and a format not at all.
    while common > 0 && !(first.starts_with('m') && first.as_bytes()[common - 1] == b'k') {
        common -= 1;
    }
    let ends: Vec<&str> = choice.iter().map(|alternative| &alternative[common..]).collect();
    format!("{}{{{}}}", &first[..common], ends.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that a pattern stands for.
    fn expanded(pattern: &str) -> Vec<String> {
        let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_string()] };
        let (choice, after) = rest.split_once('}').unwrap();
        choice.split(',').flat_map(|alternative| expanded(&format!("{before}{alternative}{after}"))).collect()
    }

    #[test]
    fn patterns_stand_for_exactly_their_names() {
        let names: Vec<&str> = isa::all().iter().map(|i| i.name.as_str()).collect();
        let patterns = patterns(&names);
        assert!(patterns.len() < names.len() / 4, "{} of {}", patterns.len(), names.len());
        let mut all: Vec<String> = patterns.iter().flat_map(|pattern| expanded(pattern)).collect();
        all.sort_unstable();
        let mut names: Vec<String> = names.into_iter().map(String::from).collect();
        names.sort_unstable();
        assert_eq!(all, names);
    }

    #[test]
    fn a_name_that_is_listed_twice_is_named_once() {
        let names = ["mma.m8n8k4.f32.f16.f16.f32.row.row", "mma.m8n8k4.f32.f16.f16.f16.row.row"];
        let repeated = names.iter().cycle().take(6).copied();
        assert_eq!(listed(repeated), "mma.m8n8k4.f32.f16.f16.{f32,f16}.row.row");
    }

    #[test]
    fn shapes_share_their_beginning() {
        let names = ["mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32"];
        assert_eq!(listed(names.into_iter()), "mma.m16n8k{8,16}.f32.f16.f16.f32");
        assert_eq!(listed(["a", "b"].into_iter()), "a, b");
    }
}
