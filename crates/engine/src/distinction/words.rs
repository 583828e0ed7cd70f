//! Keys and values of rules in words, for the sentences of reasons.

use toml::Value;

use crate::{
    arithmetic::{KeyTable, KeyValue, Setting, setting},
    base::{distinct::distinct, sentence::listed},
};

/// Both values of a key in words.
pub(super) fn values(key: &str, values: &[Option<KeyValue>; 2]) -> [String; 2] {
    let absent = setting(key).and_then(Setting::absent).unwrap_or("none");
    values.each_ref().map(|value| value.as_ref().map_or_else(|| absent.into(), in_words))
}

/// A value in words.
///
/// A node is `fma of 0::2`, a tree `3 nodes: 2 fma and 1 add`, another table `bits 25, rounding RZ`.
fn in_words(value: &KeyValue) -> String {
    match value {
        KeyValue::Node(node) => {
            let summed = ["terms", "products"].iter().filter_map(|key| KeyTable::Node(node).value(key));
            format!("{} of {}", node.kind.name(), listed(&summed.map(|value| in_words(&value)).collect::<Vec<_>>()))
        }
        KeyValue::Nodes(nodes) => {
            let kinds: Vec<&str> = nodes.values().map(|node| node.kind.name()).collect();
            let of_kind = |kind: &str| format!("{} {kind}", kinds.iter().filter(|other| **other == kind).count());
            match &kinds[..] {
                [kind] => format!("1 node: {kind}"),
                _ => {
                    let each = distinct(kinds.iter().map(|kind| of_kind(kind)));
                    format!("{} nodes: {}", kinds.len(), listed(&each))
                }
            }
        }
        other => plain(&other.toml()),
    }
}

/// A list or a table of a model file in words.
fn plain(value: &Value) -> String {
    match value {
        Value::Array(list) => listed(&list.iter().map(plain).collect::<Vec<_>>()),
        Value::Table(table) => {
            let settings = table.iter().map(|(key, value)| format!("{key} {}", plain(value)));
            settings.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A key in words, with its node.
pub(super) fn words(key: &str) -> String {
    let node = key.strip_prefix("node.").and_then(|rest| rest.split_once('.'));
    match (setting(key), node) {
        (None, _) => key.strip_prefix("node.").map_or_else(|| format!("'{key}'"), |node| format!("node {node}")),
        (Some(setting), None) => setting.words().into(),
        (Some(setting), Some((node, _))) => format!("{} (node {node})", setting.words()),
    }
}

/// Largest number of properties that a sentence names.
const NAMED: usize = 4;

/// The property that a key sets, in a word or two; within a table, the table's where the key has none.
fn property(key: &str) -> String {
    let table = key.rsplit_once('.').map_or(key, |(table, _)| table);
    let property = [key, table].into_iter().find_map(|path| setting(path)?.property());
    property.map_or_else(|| words(key), Into::into)
}

/// The properties that some keys set, in a phrase: `width, floor and stickiness`.
pub fn properties<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = distinct(keys.into_iter().map(property));
    if all.len() > NAMED + 1 {
        let more = all.split_off(NAMED).len();
        all.push(format!("{more} more properties"));
    }
    listed(&all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Rule, settings};

    #[test]
    fn properties_are_words_of_engineers() {
        let said = |keys: &[&str]| properties(keys.iter().copied());
        assert_eq!(said(&["alignment.bits", "alignment.sticky"]), "width and stickiness");
        assert_eq!(
            said(&["node.p.result.rounding", "node.q.result.rounding", "node.c"]),
            "rounding of sums and shape of the sum"
        );
        assert_eq!(
            said(&["step", "alignment.bits", "zero", "nan", "c", "lanes.bits"]),
            "shape of the sum, width, sign of zero, NaN and 2 more properties"
        );
    }

    #[test]
    fn every_key_of_the_language_has_a_property() {
        let no_arithmetic = ["instructions", "evidence"];
        for (path, setting) in settings().filter(|(path, _)| !no_arithmetic.contains(&&path[..])) {
            let table = path.rsplit_once('.').and_then(|(table, _)| crate::arithmetic::setting(table));
            assert!(setting.property().or_else(|| table?.property()).is_some(), "{path}");
        }
        assert_eq!(property("node.even.lanes.bits"), "lanes");
        assert_eq!(property("node.even"), "shape of the sum");
        assert_eq!(property("unknown"), "'unknown'");
    }

    #[test]
    fn every_key_of_the_language_has_words() {
        for (key, _) in settings() {
            assert!(!words(&key).is_empty() && !words(&key).starts_with('\''), "{key}");
        }
        assert_eq!(words("node.even.result.rounding"), "rounding of a step's sum (node even)");
        assert_eq!(words("node.even.kind"), "kind of sum of the step (node even)");
        assert_eq!(words("node.even"), "node even");
    }

    #[test]
    fn no_value_is_shown_as_the_text_of_a_table() {
        let text = "instructions = ['*']
             evidence = [{ assumed = 'a test' }]
             alignment = { bits = 25, floor = -133, rounding = 'RZ' }
             node.even = { kind = 'fma', products = '0::2', result = 'aligned' }
             node.odd = { kind = 'fma', products = '1::2' }
             node.d = { kind = 'add', terms = ['c', 'even', 'odd'] }";
        let rule: Rule = toml::from_str(text).unwrap();
        let said = |key: &str| values(key, &[rule.value(key), None])[0].clone();
        assert_eq!(said("alignment"), "bits 25, floor -133, rounding RZ");
        assert_eq!(said("node"), "3 nodes: 1 add and 2 fma");
        assert_eq!(said("node.even"), "fma of 0::2");
        assert_eq!(said("node.d"), "add of c, even and odd");
        assert_eq!(said("node.d.terms"), "c, even and odd");
    }
}
