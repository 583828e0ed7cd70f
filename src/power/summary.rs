//! What data decide of each key of a rule, in short.

use super::{Change, Tested, Verdict};

/// What data decide of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The key.
    pub key: &'static str,
    /// The value of the rule.
    pub value: String,
    /// The values that no output contradicts, the rule's own among them; whole numbers as a range around it.
    pub agreeing: String,
    /// Whether the data decide it.
    pub decision: Decision,
}

/// Whether data decide a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Every change that could be observed is refuted.
    Decided,
    /// Some are.
    Partly,
    /// None is.
    Undecided,
    /// None can be observed.
    CannotBeObserved,
}

impl Decision {
    /// The word that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Decided => "decided",
            Decision::Partly => "partly",
            Decision::Undecided => "undecided",
            Decision::CannotBeObserved => "cannot be observed",
        }
    }
}

/// What the data decide of each key, in the order of the language's table.
pub fn summaries(tested: &Tested) -> Vec<Summary> {
    let changes = &tested.changes;
    let mut keys: Vec<&'static str> = changes.iter().map(|(change, _)| change.key).collect();
    keys.dedup();
    keys.into_iter().map(|key| summary(key, changes.iter().filter(|(change, _)| change.key == key).collect())).collect()
}

fn summary(key: &'static str, changes: Vec<&(Change, Verdict)>) -> Summary {
    let count = |wanted: fn(&Verdict) -> bool| changes.iter().filter(|(_, verdict)| wanted(verdict)).count();
    let refuted = count(|verdict| matches!(verdict, Verdict::Refuted(_)));
    let surviving = count(|verdict| *verdict == Verdict::Survives);
    let decision = match (refuted, surviving) {
        (0, 0) => Decision::CannotBeObserved,
        (_, 0) => Decision::Decided,
        (0, _) => Decision::Undecided,
        _ => Decision::Partly,
    };
    Summary { key, value: changes[0].0.from(), agreeing: agreeing(&changes), decision }
}

/// The values that agree: of numbers the range around the rule's own, and other values one by one.
fn agreeing(changes: &[&(Change, Verdict)]) -> String {
    let stands = |verdict: &Verdict| !matches!(verdict, Verdict::Refuted(_));
    let own = changes[0].0.from.as_ref();
    let standing = || changes.iter().filter(|(_, verdict)| stands(verdict)).map(|(change, _)| change);
    let numbers: Vec<i64> = standing().filter_map(|change| change.to.as_ref()?.as_integer()).collect();
    let mut words = Vec::new();
    match own.and_then(toml::Value::as_integer) {
        Some(own) if changes.iter().any(|(change, _)| change.ranged) => {
            let mut range = own..=own;
            while numbers.contains(&(range.start() - 1)) {
                range = range.start() - 1..=*range.end();
            }
            while numbers.contains(&(range.end() + 1)) {
                range = *range.start()..=range.end() + 1;
            }
            words.push(match range.start() == range.end() {
                true => own.to_string(),
                false => format!("{} to {}", range.start(), range.end()),
            });
            words.extend(numbers.iter().filter(|number| !range.contains(*number)).map(i64::to_string));
            words.extend(standing().filter(|change| change.to.is_none()).map(Change::to));
        }
        _ => {
            words.push(changes[0].0.from());
            words.extend(standing().map(Change::to));
        }
    }
    words.join(", ")
}

/// The summary as a sentence: `decides ...; leaves open ...; cannot show ...`, with the keys of the model language.
pub fn sentence(summaries: &[Summary]) -> String {
    let keys = |wanted: Decision, shown: fn(&Summary) -> String| {
        let keys: Vec<String> = summaries.iter().filter(|s| s.decision == wanted).map(shown).collect();
        (!keys.is_empty()).then(|| keys.join(", "))
    };
    let name = |s: &Summary| s.key.to_string();
    let parts = [
        ("decides", keys(Decision::Decided, name)),
        ("leaves", keys(Decision::Partly, |s| format!("{} ({})", s.key, s.agreeing))),
        ("leaves open", keys(Decision::Undecided, name)),
        ("cannot show", keys(Decision::CannotBeObserved, name)),
    ];
    let parts = parts.into_iter().filter_map(|(verb, keys)| Some(format!("{verb} {}", keys?)));
    parts.collect::<Vec<_>>().join("; ")
}
