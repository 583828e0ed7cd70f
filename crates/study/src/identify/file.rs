//! Rules and model files as readers see them.
//!
//! Keys are in the order of the computation, and a short table takes one line.

use toml::{Table, Value};

use super::Identification;
use crate::{
    arithmetic::{Evidence, EvidenceSource, KEYS, NODE_KEYS, Rule},
    rule::{Tested, decided, summaries},
};

/// The lines of a rule, without its head.
pub(super) fn rule(rule: &Table) -> String {
    let mut text = String::new();
    for key in KEYS {
        match (key.name, rule.get(key.name)) {
            ("node", Some(Value::Table(nodes))) => {
                nodes.iter().for_each(|(name, node)| text.push_str(&format!("node.{name} = {}\n", ordered_node(node))));
            }
            // A rule without the key `step` is a tree.
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

/// A value in one line; the keys of a table are in the order of the shipped models.
pub(super) fn short(value: &Value) -> String {
    const ORDER: [&str; 26] = [
        "measured",
        "recorded",
        "assumed",
        "device",
        "date",
        "cases",
        "files",
        "note",
        "instructions",
        "keys",
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
    let table = match value {
        Value::Table(table) => table,
        Value::Array(list) => return format!("[{}]", list.iter().map(short).collect::<Vec<_>>().join(", ")),
        _ => return value.to_string(),
    };
    let place = |key: &str| ORDER.iter().position(|other| *other == key).unwrap_or(ORDER.len());
    let mut entries: Vec<(&String, &Value)> = table.iter().collect();
    entries.sort_by_cached_key(|(key, _)| place(key));
    let plain = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let named = |key: &str| if plain(key) { key.to_string() } else { Value::from(key).to_string() };
    let entries: Vec<String> =
        entries.into_iter().map(|(key, value)| format!("{} = {}", named(key), short(value))).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// A model file of these rules.
pub(super) fn model(rules: &[Rule]) -> String {
    model_text("identified", "identified arithmetics", rules)
}

/// A model file of this name, with these rules.
pub fn model_text(name: &str, title: &str, rules: &[Rule]) -> String {
    let head = format!("name = {}\ntitle = {}\nversion = 1\n", Value::from(name), Value::from(title));
    rules.iter().fold(head, |text, listed| format!("{text}\n[[rule]]\n{}", rule(&listed.table())))
}

/// The model file of the rules that were found, each with its evidence.
///
/// Instructions with the same arithmetic share a rule, which has the evidence of the first of them.
pub(super) fn model_file<'a>(identifications: impl IntoIterator<Item = (&'a Identification, Evidence)>) -> String {
    let mut rules: Vec<Rule> = Vec::new();
    for (identification, evidence) in identifications {
        let Some(mut identified) = identification.rule.clone() else { continue };
        let name = identification.instruction.name.clone();
        let mut bare = |other: &Rule| {
            identified.instructions.clone_from(&other.instructions);
            identified.evidence.clone_from(&other.evidence);
            identified == *other
        };
        match rules.iter_mut().find(|other| bare(other)) {
            Some(rule) => rule.instructions.push(name),
            None => {
                (identified.instructions, identified.evidence) = (vec![name], vec![evidence]);
                rules.push(identified);
            }
        }
    }
    model(&rules)
}

/// The evidence of a rule that was worked out from the answers of `source`.
///
/// `held_out` has the number of other outputs that were compared, and how many of them differ. The evidence covers the keys that the
/// answers decide; a rule that misses some of the answers is assumed.
pub(super) fn evidence_of(
    identification: &Identification,
    source: &EvidenceSource,
    held_out: Option<(u64, u64)>,
    tested: Option<&Tested>,
) -> Evidence {
    let (asked, misses) = (identification.asked.d.len(), identification.misses);
    let others = held_out.map(|(compared, differing)| format!(", {differing} of {compared} others"));
    let note = format!("tcnum identify: {misses} of {asked} asked outputs differ{}", others.unwrap_or_default());
    let wrong = misses > 0 || held_out.is_some_and(|(_, differing)| differing > 0);
    let source = match source {
        _ if wrong => EvidenceSource::Assumed { why: format!("the nearest rule; {}", source.words()) },
        EvidenceSource::Measured { device, date, files, .. } => EvidenceSource::Measured {
            device: device.clone(),
            date: date.clone(),
            cases: held_out.map(|(compared, _)| compared),
            files: files.clone(),
        },
        other => other.clone(),
    };
    let decisions = |tested: &Tested| {
        let mut summaries = summaries(tested);
        summaries.retain(|summary| identification.is_measured(&summary.key));
        decided(&summaries)
    };
    let (mut keys, leaves) = tested.map(decisions).unwrap_or_default();
    // The key `step` has no near values to refute, so no decision names it, but the answers showed it.
    keys.extend((!keys.is_empty()).then(|| "step".into()));
    Evidence { source, note: Some(note), keys, instructions: Vec::new(), leaves }
}
