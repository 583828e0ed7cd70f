//! Keys and values of rules in words, for the sentences of reasons.

use toml::Value;

use crate::{
    arithmetic::{Setting, setting},
    power::values::shown,
};

/// Both values of a key in words.
pub(super) fn values(key: &str, values: &[Option<Value>; 2]) -> [String; 2] {
    let absent = setting(key).and_then(Setting::absent).unwrap_or("none");
    values.each_ref().map(|value| match value {
        None => absent.into(),
        Some(Value::Array(list)) => list.iter().map(|one| shown(Some(one))).collect::<Vec<_>>().join(", "),
        some => shown(some.as_ref()),
    })
}

/// A key in words, with its node.
pub(super) fn words(key: &str) -> String {
    let node = key.strip_prefix("node.").and_then(|rest| rest.split_once('.'));
    match (setting(key), node) {
        (None, _) => format!("'{key}'"),
        (Some(setting), None) => setting.words().into(),
        (Some(setting), Some((node, _))) => format!("{} (node {node})", setting.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{KEYS, NODE_KEYS};

    #[test]
    fn every_key_of_the_language_has_words() {
        let rule = KEYS.iter().flat_map(|key| key.settings());
        for key in rule.map(|(path, _)| path).chain(NODE_KEYS.iter().map(|key| key.name.into())) {
            assert!(!words(&key).is_empty() && !words(&key).starts_with('\''), "{key}");
        }
        assert_eq!(words("node.even.result.rounding"), "rounding of a step's sum (node even)");
        assert_eq!(words("node.even.kind"), "kind of sum of the step (node even)");
        assert_eq!(words("node.even"), "'node.even'");
    }
}
