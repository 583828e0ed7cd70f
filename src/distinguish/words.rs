//! Keys and values of rules in words, for the sentences of reasons.

use toml::Value;

use crate::{
    arithmetic::{Setting, setting},
    base::{distinct::distinct, sentence::listed},
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

/// Largest number of properties that a sentence names.
const NAMED: usize = 4;

/// Words of engineers for what a key sets: the key without its node, or the table that it lies in.
const PROPERTIES: &[(&str, &str)] = &[
    ("alignment.bits", "width"),
    ("alignment.rounding", "rounding of the alignment"),
    ("alignment.floor", "floor"),
    ("alignment.sticky", "stickiness"),
    ("alignment.reach", "reach of the sticky bit"),
    ("alignment", "alignment"),
    ("lanes", "lanes"),
    ("late", "alignment of c"),
    ("group", "number of products in a step"),
    ("step", "shape of the sum"),
    ("node", "shape of the sum"),
    ("kind", "shape of the sum"),
    ("parts", "shape of the sum"),
    ("products", "shape of the sum"),
    ("terms", "shape of the sum"),
    ("join", "shape of the sum"),
    ("start", "start of the sum"),
    ("c", "place of c"),
    ("product.rounding", "rounding of products"),
    ("product", "format of products"),
    ("result.rounding", "rounding of sums"),
    ("result", "format of sums"),
    ("between", "rounding between steps"),
    ("addition", "rounding of additions"),
    ("output", "conversion to D"),
    ("operand-subnormals", "subnormal operands"),
    ("c-subnormals", "subnormal c"),
    ("result-subnormals", "subnormal results"),
    ("result-tininess", "subnormal results"),
    ("zero-terms", "zero terms"),
    ("zero", "sign of zero"),
    ("specials", "origin of infinities and NaNs"),
    ("nan-operands", "NaN"),
    ("nan", "NaN"),
    ("unpack", "conversion of operands"),
    ("unpack-c", "conversion of c"),
    ("wrap", "overflow of integers"),
    ("accumulator", "bits of the accumulator"),
];

/// The property that a key sets, in a word or two.
fn property(key: &str) -> String {
    let key = match key.strip_prefix("node.") {
        Some(rest) => rest.split_once('.').map_or("node", |(_, key)| key),
        None => key,
    };
    let has = |own: &str| key == own || key.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'));
    match PROPERTIES.iter().find(|(own, _)| has(own)) {
        Some((_, words)) => (*words).into(),
        None => words(key),
    }
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
    use crate::arithmetic::{KEYS, NODE_KEYS};

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
        for key in KEYS.iter().map(|key| key.name).filter(|key| !["instructions", "evidence"].contains(key)) {
            assert!(!properties([key]).is_empty());
        }
    }

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
