//! Rules and model files as readers see them: keys in the order of the computation, short tables in a line.

use toml::{Table, Value};

use crate::arithmetic::{KEYS, NODE_KEYS};

/// The lines of a rule, without its head.
pub(super) fn rule(rule: &Table) -> String {
    let mut text = String::new();
    for key in KEYS {
        match (key.name, rule.get(key.name)) {
            ("node", Some(Value::Table(nodes))) => {
                nodes.iter().for_each(|(name, node)| text.push_str(&format!("node.{name} = {}\n", ordered_node(node))));
            }
            // A tree is what is meant without a step.
            ("step", Some(Value::String(step))) if step == "tree" => {}
            (name, Some(value)) => text.push_str(&format!("{name} = {}\n", short(value))),
            (_, None) => {}
        }
    }
    text
}

/// A node, its keys in the order of the computation.
fn ordered_node(node: &Value) -> String {
    let Value::Table(node) = node else { return short(node) };
    let keys = NODE_KEYS.iter().filter_map(|key| Some(format!("{} = {}", key.name, short(node.get(key.name)?))));
    format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
}

/// A value in one line; of tables the keys in the order that shipped models have.
pub(super) fn short(value: &Value) -> String {
    const ORDER: [&str; 16] = [
        "period", "residues", "sum-bits", "c-bits", "bits", "format", "rounding", "overflow", "subnormals", "tininess", "drop",
        "floor", "a", "b", "term", "name",
    ];
    let Value::Table(table) = value else { return value.to_string() };
    let place = |key: &str| ORDER.iter().position(|other| *other == key).unwrap_or(ORDER.len());
    let mut entries: Vec<(&String, &Value)> = table.iter().collect();
    entries.sort_by_key(|(key, _)| place(key));
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key} = {}", short(value))).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// A model file of these rules.
pub(super) fn model(name: &str, title: &str, rules: &[Table]) -> String {
    let head = format!("name = {}\ntitle = {}\nversion = 1\n", Value::from(name), Value::from(title));
    rules.iter().fold(head, |text, own| format!("{text}\n[[rule]]\n{}", rule(own)))
}
