//! Summary of the decisions on each key of a rule.

use std::collections::{BTreeMap, HashSet};

use super::{Change, ChangePair, ChangeVerdict, Tested};
use crate::arithmetic::KeyValue;

/// The decision on one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySummary {
    /// Key.
    pub key: String,
    /// Value in the rule.
    pub value: String,
    /// Values that no output contradicts, with the rule's own; whole numbers as a range.
    pub agreeing: Vec<String>,
    /// Other values that no output contradicts together with another value of another key.
    pub pairs: Vec<JointValues>,
    /// Decision.
    pub decision: Decision,
}

/// Values of a key that agree with another value of another key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointValues {
    /// Values of the key.
    pub values: Vec<String>,
    /// The other key and its value.
    pub with: (String, String),
}

impl std::fmt::Display for JointValues {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} with {} = {}", self.values.join(", "), self.with.0, self.with.1)
    }
}

/// How far data decide a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Every change is refuted.
    Decided,
    /// Every observable change is refuted, and there are others.
    AsFarAsObservable,
    /// Every observable change is refuted, but not together with a change of another key.
    OpenInPair,
    /// Some changes are refuted.
    Partly,
    /// No change is refuted.
    Undecided,
    /// No change is observable.
    CannotBeObserved,
}

impl Decision {
    /// The word that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Decided => "decided",
            Decision::AsFarAsObservable => "as far as observable",
            Decision::OpenInPair => "open in a pair",
            Decision::Partly => "partly",
            Decision::Undecided => "undecided",
            Decision::CannotBeObserved => "cannot be observed",
        }
    }
}

/// The decision on each key, in the order of the keys.
pub fn summaries(tested: &Tested) -> Vec<KeySummary> {
    let changes = &tested.changes;
    let mut keys: Vec<&str> = changes.iter().map(|(change, _)| change.key.as_str()).collect();
    let mut seen = HashSet::new();
    keys.retain(|key| seen.insert(*key));
    let summary = |key: &str| {
        let changes = changes.iter().filter(|(change, _)| change.key == key).collect();
        summary(key, changes, joint(&tested.pairs, key))
    };
    keys.into_iter().map(summary).collect()
}

fn summary(key: &str, changes: Vec<&(Change, ChangeVerdict)>, pairs: Vec<JointValues>) -> KeySummary {
    let count = |wanted: fn(&ChangeVerdict) -> bool| changes.iter().filter(|(_, verdict)| wanted(verdict)).count();
    let refuted = count(|verdict| matches!(verdict, ChangeVerdict::Refuted(_)));
    let surviving = count(|verdict| *verdict == ChangeVerdict::Survives);
    let decision = match (refuted, surviving) {
        (0, 0) => Decision::CannotBeObserved,
        (_, 0) if !pairs.is_empty() => Decision::OpenInPair,
        (all, 0) if all == changes.len() => Decision::Decided,
        (_, 0) => Decision::AsFarAsObservable,
        (0, _) => Decision::Undecided,
        _ => Decision::Partly,
    };
    KeySummary { key: key.into(), value: changes[0].0.from(), agreeing: agreeing(&changes), pairs, decision }
}

fn joint(pairs: &[ChangePair], key: &str) -> Vec<JointValues> {
    let mut all: Vec<JointValues> = Vec::new();
    for [change, other] in pairs.iter().filter_map(|pair| pair.split(key)) {
        let with = (other.key.clone(), other.to());
        match all.iter_mut().find(|known| known.with == with) {
            Some(known) => known.values.push(change.to()),
            None => all.push(JointValues { values: vec![change.to()], with }),
        }
    }
    all
}

/// The values that agree: numbers as a range around the rule's own, other values one by one.
fn agreeing(changes: &[&(Change, ChangeVerdict)]) -> Vec<String> {
    let number = |change: &Change| change.to.as_ref().and_then(KeyValue::number);
    let value = changes[0].0.from.as_ref().and_then(KeyValue::number);
    let stands = |verdict: &ChangeVerdict| !matches!(verdict, ChangeVerdict::Refuted(_));
    let standing = || changes.iter().filter(|(_, verdict)| stands(verdict)).map(|(change, _)| change);
    match value.filter(|_| changes.iter().any(|(change, _)| change.ranged)) {
        Some(value) => {
            let tried: Vec<i64> = changes.iter().filter_map(|(change, _)| number(change)).chain([value]).collect();
            vec![range(value, &tried, &standing().filter_map(number).collect::<Vec<_>>())]
        }
        None => std::iter::once(changes[0].0.from()).chain(standing().map(Change::to)).collect(),
    }
}

/// The range of agreeing numbers around `value` in words, among those tried.
fn range(value: i64, tried: &[i64], standing: &[i64]) -> String {
    let (mut low, mut high) = (value, value);
    while standing.contains(&(low - 1)) {
        low -= 1;
    }
    while standing.contains(&(high + 1)) {
        high += 1;
    }
    match (tried.contains(&(low - 1)), tried.contains(&(high + 1))) {
        (true, true) if low == high => value.to_string(),
        (true, true) => format!("{low} to {high}"),
        (false, true) => format!("{high} or less"),
        (true, false) => format!("{low} or more"),
        (false, false) => "any".into(),
    }
}

/// Decided keys, and open keys with the values that agree, for the evidence of a rule.
/// Decided keys hold while the open ones have the rule's values.
pub fn decided(summaries: &[KeySummary]) -> (Vec<String>, BTreeMap<String, String>) {
    let (mut keys, mut leaves) = (Vec::new(), BTreeMap::new());
    let is_open = |key: &str| {
        let open = [Decision::Partly, Decision::Undecided];
        summaries.iter().any(|summary| summary.key == key && open.contains(&summary.decision))
    };
    for summary in summaries {
        let values = match summary.decision {
            Decision::Decided | Decision::AsFarAsObservable => {
                keys.push(summary.key.clone());
                continue;
            }
            Decision::Partly => summary.agreeing.join(" or "),
            // Where only open keys leave it open, their entries say so.
            Decision::OpenInPair if summary.pairs.iter().all(|pair| is_open(&pair.with.0)) => {
                keys.push(summary.key.clone());
                continue;
            }
            Decision::OpenInPair => {
                let pairs = summary.pairs.iter().map(ToString::to_string);
                summary.agreeing.iter().cloned().chain(pairs).collect::<Vec<_>>().join(" or ")
            }
            Decision::Undecided => "any".into(),
            // An absent key claims nothing.
            Decision::CannotBeObserved if summary.value == "absent" => {
                keys.push(summary.key.clone());
                continue;
            }
            Decision::CannotBeObserved => continue,
        };
        if summary.value != "absent" {
            leaves.insert(summary.key.clone(), values);
        }
    }
    (keys, leaves)
}

/// The decisions on the keys with a value in sentences: `They decide .... They narrow ....`.
pub fn sentences(summaries: &[KeySummary]) -> String {
    let keys = |wanted: Decision, shown: fn(&KeySummary) -> String| {
        let with_value = summaries.iter().filter(|summary| summary.decision == wanted && summary.value != "absent");
        let keys: Vec<String> = with_value.map(shown).collect();
        (!keys.is_empty()).then(|| keys.join(", "))
    };
    let name = |summary: &KeySummary| summary.key.to_string();
    let values = |summary: &KeySummary| format!("{} to {}", summary.key, summary.agreeing.join(" or "));
    let parts = [
        ("decide", keys(Decision::Decided, name)),
        ("narrow, as far as observable,", keys(Decision::AsFarAsObservable, values)),
        ("leave open in pairs", keys(Decision::OpenInPair, name)),
        ("narrow", keys(Decision::Partly, values)),
        ("leave open", keys(Decision::Undecided, name)),
        ("cannot show", keys(Decision::CannotBeObserved, name)),
    ];
    let parts = parts.into_iter().filter_map(|(verb, keys)| Some(format!("They {verb} {}", keys?)));
    parts.collect::<Vec<_>>().join(". ")
}
