//! Evidence of a rule: its sources, and the source of each key.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use toml::{Table, Value, value::Datetime};

use super::{
    keys::{KEYS, Rule, RuleKey},
    pattern,
    rule::Step,
};

/// Kind of a source, from the strongest to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EvidenceKind {
    /// Measured for this project.
    Measured,
    /// Outputs of a device that somebody recorded.
    Recorded,
    /// The vendor's or the architecture's specification.
    Specification,
    /// A paper, a published program, or the vendor's machine code.
    Literature,
    /// No public source exists.
    Assumed,
}

impl EvidenceKind {
    /// All kinds, the strongest first.
    pub const ALL: [EvidenceKind; 5] = [
        EvidenceKind::Measured,
        EvidenceKind::Recorded,
        EvidenceKind::Specification,
        EvidenceKind::Literature,
        EvidenceKind::Assumed,
    ];

    /// Name in model files and results.
    pub fn name(self) -> &'static str {
        match self {
            EvidenceKind::Measured => "measured",
            EvidenceKind::Recorded => "recorded",
            EvidenceKind::Specification => "specification",
            EvidenceKind::Literature => "literature",
            EvidenceKind::Assumed => "assumed",
        }
    }

    /// Kind with this name.
    pub fn named(name: &str) -> Option<EvidenceKind> {
        EvidenceKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Mark after a table cell: `[m]`.
    pub fn mark(self) -> &'static str {
        match self {
            EvidenceKind::Measured => "[m]",
            EvidenceKind::Recorded => "[r]",
            EvidenceKind::Specification => "[s]",
            EvidenceKind::Literature => "[l]",
            EvidenceKind::Assumed => "[a]",
        }
    }
}

/// Source of a rule; the first of several sources that cover a key holds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Entry")]
pub struct Evidence {
    /// The source.
    pub source: EvidenceSource,
    /// Remark on the source, such as the forms that it names.
    pub note: Option<String>,
    /// Keys that it covers, with those below them; empty for all keys.
    pub keys: Vec<String>,
    /// Patterns of the instructions that it covers; empty for all of the rule.
    pub instructions: Vec<String>,
    /// Keys that the source leaves open, each with the values that agree with it.
    pub leaves: BTreeMap<String, String>,
}

/// Source of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvidenceSource {
    /// Measured for this project.
    Measured {
        /// Name of the device.
        device: String,
        /// Day, as `2026-11-21`.
        date: Option<String>,
        /// Compared cases of each instruction, or requested outputs.
        cases: Option<u64>,
        /// Folder of the reports.
        files: Option<String>,
    },
    /// Outputs of a device that somebody recorded.
    Recorded {
        /// Authors of the recordings.
        by: String,
        /// Name of the device.
        device: Option<String>,
        /// Folder of the recordings.
        files: Option<String>,
    },
    /// A specification.
    Specification {
        /// The document.
        document: String,
        /// The section.
        section: Option<String>,
    },
    /// A paper, a published program, or machine code.
    Literature {
        /// Reference.
        which: String,
    },
    /// No public source exists.
    Assumed {
        /// Reason of the assumption.
        why: String,
    },
}

/// Source as written in a model file: `{ literature = "Xie et al.", keys = ["group"] }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    measured: Option<String>,
    recorded: Option<String>,
    specification: Option<String>,
    literature: Option<String>,
    assumed: Option<String>,
    device: Option<String>,
    date: Option<Datetime>,
    cases: Option<u64>,
    files: Option<String>,
    section: Option<String>,
    note: Option<String>,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    instructions: Vec<String>,
    #[serde(default)]
    leaves: BTreeMap<String, String>,
}

/// Keys of sources, for messages.
const KINDS: &str = "measured, recorded, specification, literature or assumed";

impl TryFrom<Entry> for Evidence {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Evidence, String> {
        let Entry { measured, recorded, specification, literature, assumed, .. } = entry;
        let Entry { device, date, cases, files, section, note, keys, instructions, leaves, .. } = entry;
        let extra = [
            ("device", device.is_some() && recorded.is_none(), "recorded"),
            ("date", date.is_some() && measured.is_none(), "measured"),
            ("cases", cases.is_some() && measured.is_none(), "measured"),
            ("files", files.is_some() && measured.is_none() && recorded.is_none(), "measured and recorded"),
            ("section", section.is_some() && specification.is_none(), "specification"),
        ];
        if let Some((key, _, of)) = extra.into_iter().find(|(_, misplaced, _)| *misplaced) {
            return Err(format!("'{key}' has no effect here; it belongs to {of}"));
        }
        if date.is_some_and(|date| date.date.is_none() || date.time.is_some()) {
            return Err("'date' must be a day, like 2026-11-21".into());
        }
        let names = [&measured, &recorded, &specification, &literature, &assumed];
        if names.into_iter().flatten().any(|name| name.trim().is_empty()) {
            return Err("the source is empty; name it".into());
        }
        let date = date.map(|date| date.to_string());
        let source = match (measured, recorded, specification, literature, assumed) {
            (Some(device), None, None, None, None) => EvidenceSource::Measured { device, date, cases, files },
            (None, Some(by), None, None, None) => EvidenceSource::Recorded { by, device, files },
            (None, None, Some(document), None, None) => EvidenceSource::Specification { document, section },
            (None, None, None, Some(which), None) => EvidenceSource::Literature { which },
            (None, None, None, None, Some(why)) => EvidenceSource::Assumed { why },
            _ => return Err(format!("a source needs exactly one kind: {KINDS}")),
        };
        Ok(Evidence { source, note, keys, instructions, leaves })
    }
}

/// Sources of a rule.
pub(super) fn sources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Evidence>, D::Error> {
    struct Sources;
    impl<'de> Visitor<'de> for Sources {
        type Value = Vec<Evidence>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of sources, each {KINDS}, such as [{{ assumed = \"why\" }}]")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, sources: A) -> Result<Vec<Evidence>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(sources))
        }
    }
    deserializer.deserialize_seq(Sources)
}

impl EvidenceSource {
    /// Kind of the source.
    pub fn kind(&self) -> EvidenceKind {
        match self {
            EvidenceSource::Measured { .. } => EvidenceKind::Measured,
            EvidenceSource::Recorded { .. } => EvidenceKind::Recorded,
            EvidenceSource::Specification { .. } => EvidenceKind::Specification,
            EvidenceSource::Literature { .. } => EvidenceKind::Literature,
            EvidenceSource::Assumed { .. } => EvidenceKind::Assumed,
        }
    }

    /// Source in words, without its kind: `NVIDIA H200, 2026-11-21, 1e10 cases of each instruction`.
    pub fn words(&self) -> String {
        let (first, rest) = match self {
            EvidenceSource::Measured { device, date, cases, .. } => {
                let cases = cases.map(|cases| format!("{cases:e} cases of each instruction"));
                (device, [date.clone(), cases])
            }
            EvidenceSource::Recorded { by, device, .. } => (by, [device.clone(), None]),
            EvidenceSource::Specification { document, section } => (document, [section.clone(), None]),
            EvidenceSource::Literature { which: only } | EvidenceSource::Assumed { why: only } => (only, [None, None]),
        };
        std::iter::once(first.clone()).chain(rest.into_iter().flatten()).collect::<Vec<_>>().join(", ")
    }

    /// Folder of reports or recordings.
    pub fn files(&self) -> Option<&str> {
        match self {
            EvidenceSource::Measured { files, .. } | EvidenceSource::Recorded { files, .. } => files.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Evidence {
    /// `recorded: Khattak & Mikaitis, NVIDIA V100 (f16 to f32)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source.kind().name(), self.source.words())?;
        self.note.iter().try_for_each(|note| write!(f, " ({note})"))
    }
}

impl Evidence {
    /// True if it covers a key for an instruction, or without one for the rule as a whole.
    fn covers(&self, instruction: Option<&str>, key: &str) -> bool {
        let below = |listed: &String| {
            key.strip_prefix(listed.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        (self.keys.is_empty() || self.keys.iter().any(below))
            && (self.instructions.is_empty() || instruction.is_some_and(|name| self.concerns(name)))
    }

    /// True if it covers an instruction.
    pub fn concerns(&self, instruction: &str) -> bool {
        self.instructions.is_empty() || self.instructions.iter().any(|pattern| pattern::matches(pattern, instruction))
    }

    /// Source as written in a model file.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        let mut text = |key: &str, value: &Option<String>| {
            table.extend(value.iter().map(|value| (key.to_string(), Value::from(value.as_str()))));
        };
        text("note", &self.note);
        let kind = self.source.kind().name();
        match &self.source {
            EvidenceSource::Measured { device, files, .. } => {
                text(kind, &Some(device.clone()));
                text("files", files);
            }
            EvidenceSource::Recorded { by, device, files } => {
                text(kind, &Some(by.clone()));
                text("device", device);
                text("files", files);
            }
            EvidenceSource::Specification { document, section } => {
                text(kind, &Some(document.clone()));
                text("section", section);
            }
            EvidenceSource::Literature { which: only } | EvidenceSource::Assumed { why: only } => {
                text(kind, &Some(only.clone()));
            }
        }
        if let EvidenceSource::Measured { date, cases, .. } = &self.source {
            let date = date.as_ref().and_then(|date| Some(Value::Datetime(date.parse().ok()?)));
            table.extend(date.map(|date| ("date".into(), date)));
            let cases = cases.and_then(|cases| Some(Value::Integer(i64::try_from(cases).ok()?)));
            table.extend(cases.map(|cases| ("cases".into(), cases)));
        }
        let lists = [("keys", &self.keys), ("instructions", &self.instructions)];
        for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            table.insert(key.into(), Value::Array(list.iter().map(|item| Value::from(item.as_str())).collect()));
        }
        if !self.leaves.is_empty() {
            let leaves = self.leaves.iter().map(|(key, values)| (key.clone(), Value::from(values.as_str())));
            table.insert("leaves".into(), Value::Table(leaves.collect()));
        }
        table
    }

    /// True if it covers every key of every instruction.
    fn is_general(&self) -> bool {
        self.keys.is_empty() && self.instructions.is_empty()
    }
}

/// Evidence for some keys of a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Grounds<'a> {
    /// The kind.
    pub kind: EvidenceKind,
    /// Source; `None` if no source covers the key, which is then assumed.
    evidence: Option<&'a Evidence>,
}

impl fmt::Display for Grounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.evidence {
            Some(evidence) => evidence.fmt(f),
            None => write!(f, "{}: no source covers it", self.kind.name()),
        }
    }
}

impl Rule {
    /// Evidence for `keys` and an instruction: the weakest of the first key's and of other existing keys'.
    /// Without an instruction, the evidence for the rule as a whole.
    pub fn grounds(&self, instruction: Option<&str>, keys: &[impl AsRef<str>]) -> Grounds<'_> {
        let keys = keys.iter().map(AsRef::as_ref);
        let has = |key: &str| known(key).is_some_and(|known| (known.present)(self));
        let paths = keys.enumerate().filter(|(at, key)| *at == 0 || has(key)).flat_map(|(_, key)| self.paths(key));
        let grounds = paths.map(|key| {
            // A property without a key in a step follows from the step.
            let by_step = known(&key).is_some_and(|known| !known.variants.contains(&self.step));
            let covers = |evidence: &&Evidence| {
                evidence.covers(instruction, &key) || by_step && evidence.covers(instruction, "step")
            };
            let evidence = self.evidence.iter().find(covers);
            Grounds { kind: evidence.map_or(EvidenceKind::Assumed, |evidence| evidence.source.kind()), evidence }
        });
        // Among equals the first one names the source.
        let weaker = |x: Grounds<'_>, y: Grounds<'_>| y.kind > x.kind;
        let weakest = grounds.reduce(|x, y| if weaker(x, y) { y } else { x });
        weakest.unwrap_or(Grounds { kind: EvidenceKind::Assumed, evidence: None })
    }

    /// Paths of a key; in a tree, one in each node that has it.
    fn paths(&self, key: &str) -> Vec<String> {
        let of_tree = known(key).is_some_and(|known| known.variants.contains(&Step::Tree));
        match self.step == Step::Tree && !of_tree {
            true => self.nodes.keys().map(|node| format!("node.{node}.{key}")).collect(),
            false => vec![key.to_string()],
        }
    }
}

/// Key of a rule that `key` is, or is below.
fn known(key: &str) -> Option<&'static RuleKey> {
    KEYS.iter().find(|known| Some(known.name) == key.split('.').next())
}

/// Defect of the evidence: missing keys, patterns without meaning, an assumption without effect.
pub(super) fn defect(rule: &Rule) -> Option<String> {
    let mut general: Option<&Evidence> = None;
    for evidence in &rule.evidence {
        // A key that the step does not have means the step's own behaviour.
        if let Some(key) = evidence.keys.iter().chain(evidence.leaves.keys()).find(|key| known(key).is_none()) {
            return Some(format!("'evidence' ({evidence}): '{key}' is not a key of a rule"));
        }
        if let Some((pattern, what)) = evidence.instructions.iter().find_map(|p| Some((p, pattern::defect(p)?))) {
            return Some(format!("'evidence' ({evidence}): pattern '{pattern}': {what}"));
        }
        if let Some(general) = general.filter(|_| evidence.source.kind() == EvidenceKind::Assumed) {
            return Some(format!(
                "'evidence' ({evidence}): it has no effect after ({general}), which covers every key"
            ));
        }
        general = general.or(evidence.is_general().then_some(evidence));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_are_written_are_read_again() {
        let written = "[{ measured = 'a', date = 2026-11-21, cases = 7, files = 'b', note = 'c', keys = ['zero', 'nan'] }, \
                       { recorded = 'a', device = 'b', files = 'c', leaves = { 'result.format' = 'any', zero = 'any' } }, \
                       { specification = 'a', section = 'b', instructions = ['mma.*'] }, { literature = 'a' }, { assumed = 'a' }]";
        let text = format!("instructions = ['*']\nevidence = {written}");
        let (table, rule): (Table, Rule) = (text.parse().unwrap(), toml::from_str(&text).unwrap());
        let again: Vec<Value> = rule.evidence.iter().map(|evidence| Value::Table(evidence.table())).collect();
        assert_eq!(table["evidence"].as_array().unwrap(), &again);
    }
}
