//! Rules and model files as readers see them: keys in the order of the computation, short tables in a line.

use toml::{Table, Value};

use super::Identification;
use crate::{
    arithmetic::{KEYS, NODE_KEYS},
    base::sorting,
};

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
        "period",
        "residues",
        "sum-bits",
        "c-bits",
        "bits",
        "format",
        "rounding",
        "overflow",
        "subnormals",
        "tininess",
        "drop",
        "floor",
        "a",
        "b",
        "term",
        "name",
    ];
    let Value::Table(table) = value else { return value.to_string() };
    let place = |key: &str| ORDER.iter().position(|other| *other == key).unwrap_or(ORDER.len());
    let mut entries: Vec<(&String, &Value)> = table.iter().collect();
    sorting::by_key(&mut entries, |(key, _)| place(key));
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key} = {}", short(value))).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// A model file of these rules.
pub(super) fn model(rules: &[Table]) -> String {
    let head = "name = \"identified\"\ntitle = \"arithmetics that were worked out\"\nversion = 1\n";
    rules.iter().fold(head.into(), |text, own| format!("{text}\n[[rule]]\n{}", rule(own)))
}

/// The model file of what was found, each with its evidence: instructions with the same arithmetic share a rule, and its evidence
/// is that of the first.
pub fn model_file<'a>(found: impl IntoIterator<Item = (&'a Identification, String)>) -> String {
    let mut rules: Vec<(String, Table)> = Vec::new();
    for (found, evidence) in found {
        let mut own = found.rule.clone();
        if own.remove("instructions").is_none() {
            continue;
        }
        own.remove("evidence");
        let (arithmetic, name) = (own.to_string(), Value::from(found.instruction.name.clone()));
        match rules.iter_mut().find(|(other, _)| *other == arithmetic) {
            Some((_, rule)) => {
                if let Some(Value::Array(names)) = rule.get_mut("instructions") {
                    names.push(name);
                }
            }
            None => {
                own.insert("instructions".into(), Value::Array(vec![name]));
                own.insert("evidence".into(), Value::from(evidence));
                rules.push((arithmetic, own));
            }
        }
    }
    model(&rules.into_iter().map(|(_, rule)| rule).collect::<Vec<_>>())
}
