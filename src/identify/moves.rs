//! The changes that a search tries: the one-step changes of a rule, and those that begin a key that the rule does not have.

use toml::{Table, Value};

use crate::{
    isa::Instruction,
    power::{self, Change},
};

/// Exponents at which a floor is looked for before its neighbours are: all near the smallest normal numbers of f32 and f16, and some
/// of the others.
fn floors() -> impl Iterator<Item = i64> {
    (-320..=160).filter(|floor| floor % 8 == 0 || (-156..=-110).contains(floor) || (-36..=0).contains(floor))
}

/// The changes of `rule`, those of one key together.
pub(super) fn by_key(rule: &Table, instruction: &Instruction) -> Vec<Vec<Change>> {
    let mut all: Vec<Vec<Change>> = Vec::new();
    for change in power::changes(rule, instruction).into_iter().chain(begun(rule, instruction)) {
        match all.iter_mut().find(|changes| changes[0].key == change.key) {
            Some(changes) => changes.push(change),
            None => all.push(vec![change]),
        }
    }
    all
}

/// A change of one key.
fn change(key: String, to: Value) -> Change {
    Change { key, from: None, to: Some(to), ranged: false }
}

fn value(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<Table>().ok()?.remove("value")
}

/// Values for keys that the rule does not have, beside those of its one-step changes.
fn begun(rule: &Table, instruction: &Instruction) -> Vec<Change> {
    let nodes = rule.get("node").and_then(Value::as_table).into_iter().flatten();
    let nodes = nodes.filter_map(|(name, node)| Some((format!("node.{name}."), node.as_table()?)));
    let mut all = Vec::new();
    for (place, table) in std::iter::once((String::new(), rule)).chain(nodes) {
        let absent = |key: &str| !table.contains_key(key);
        let mut add = |key: &str, text: &str| all.extend(value(text).map(|to| change(format!("{place}{key}"), to)));
        let has_sum = table.contains_key("alignment") || !absent("nodes");
        let whole = place.is_empty() && absent("node");
        if let Some(alignment) = table.get("alignment").and_then(Value::as_table)
            && !alignment.contains_key("floor")
        {
            floors().for_each(|floor| add("alignment.floor", &floor.to_string()));
        }
        if absent("product-limit") {
            [8, 15, 16, 127, 128, 129].iter().for_each(|limit| add("product-limit", &limit.to_string()));
        }
        if whole && absent("output") {
            for rounding in ["RZ", "RU", "RD", "RNA", "RO"] {
                add("output", &format!("{{ rounding = \"{rounding}\" }}"));
            }
            for overflow in ["infinity", "saturate", "nan"] {
                add("output", &format!("{{ rounding = \"RNE\", overflow = \"{overflow}\" }}"));
            }
        }
        if whole && absent("between") {
            for format in ["f16", "bf16", "tf32", "e8m13", "f32", "f64"] {
                for rounding in ["RZ", "RNE"] {
                    add("between", &format!("{{ format = \"{format}\", rounding = \"{rounding}\" }}"));
                }
            }
        }
        if whole && absent("addition") {
            for format in ["f16", "f32", "f64"] {
                for rounding in ["RNE", "RZ"] {
                    add("addition", &format!("{{ format = \"{format}\", rounding = \"{rounding}\" }}"));
                }
            }
        }
        if whole && absent("nan-operands") {
            for order in ["abc", "acb", "bac", "bca", "cab", "cba"] {
                let letters: Vec<String> = order.chars().map(|letter| format!("\"{letter}\"")).collect();
                add("nan-operands", &format!("[{}]", letters.join(", ")));
            }
        }
        if whole && has_sum && absent("late") {
            for bits in [[31, 24], [24, 24], [30, 25]] {
                for rounding in ["RD", "RZ"] {
                    let [sum, c] = bits;
                    add("late", &format!("{{ sum-bits = {sum}, c-bits = {c}, rounding = \"{rounding}\" }}"));
                }
            }
        }
        if whole && absent("scale-sums") && instruction.scale.is_some() {
            [4, 8, 16, 32].iter().for_each(|sums| add("scale-sums", &sums.to_string()));
        }
        if let Some(late) = table.get("late").and_then(Value::as_table) {
            if !late.contains_key("drop") {
                (0..=60).step_by(4).for_each(|drop| add("late.drop", &drop.to_string()));
            }
            if !late.contains_key("floor") {
                floors().for_each(|floor| add("late.floor", &floor.to_string()));
            }
        }
    }
    all
}
