//! The tables of features.

use std::collections::BTreeSet;

use super::{
    ABSENT, Agreement, FEATURES, FeatureCell, Features, Generations, PublishedComparison,
    classes::shape,
    generations::{ClassEntry, DeviceFeatures},
};
use crate::{
    arithmetic::EvidenceKind,
    comparison::{Subject, operands},
    report::{self, Pivot, Table},
};

crate::rows! {
    /// A feature of an instruction on a device.
    #[derive(Default)]
    pub struct FeatureRow in "features" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The feature.
        feature: &'static str => shown("feature").essential(),
        /// The question that the feature answers.
        asks: &'static str => hidden(),
        /// The result; empty where the formats cannot show the feature.
        found: Option<String> => shown("found").essential(),
        /// Kind of evidence: measured on the device, or the evidence for the keys of a model.
        evidence: Option<EvidenceKind> => hidden().marks("found"),
        /// The evidence.
        rests_on: Option<String> => shown("rests on").if_varied(),
        /// Why the formats cannot show the feature.
        reason: Option<String> => hidden(),
        /// The nonzero operands of an input that shows the result.
        operands: Option<String> => hidden(),
        /// D of this input, as a code.
        d: Option<String> => hidden(),
        /// Its value.
        value: Option<String> => hidden(),
        /// The device, where there are several.
        device: Option<String> => hidden(),
        /// The class of the instruction: family and formats.
        class: Option<String> => hidden(),
        /// All instructions of the class with these findings on this device; absent ones have none.
        instructions: Vec<String> => hidden(),
        /// Their shapes; `absent` if the device has none.
        shapes: Option<String> => shown("shape").if_filled(),
    }

    /// A published feature next to the one found.
    pub struct PublishedFeatureRow in "published_features" {
        /// The agreement.
        verdict: &'static str => shown("verdict").essential(),
        /// The source.
        source: String => shown("source").essential(),
        /// Document, and its table, section or file.
        place: String => hidden(),
        /// The device as the source names it.
        gpu: String => shown("of").essential(),
        /// The device that it is compared with.
        device: String => hidden(),
        /// The class of the instruction.
        class: String => shown("class").essential(),
        /// The measured instruction.
        instruction: String => hidden(),
        /// The feature.
        feature: String => shown("feature").essential(),
        /// The published value, in the words of findings.
        published: String => shown("published").essential(),
        /// The finding.
        found: Option<String> => shown("found").essential(),
        /// Kind of its evidence.
        evidence: Option<EvidenceKind> => hidden().marks("found"),
        /// Why they differ or cannot be compared, or a remark on the value.
        reason: Option<String> => hidden(),
    }
}

/// Longest cells that a terminal does not wrap, for several devices and for published features.
const LONGEST: usize = 28;
const LONGEST_PUBLISHED: usize = 16;

/// The view of the features of several devices.
pub const PIVOT: Pivot = Pivot { section: "class", row: "feature", column: "device", cell: "found", among: "shapes" };

/// The table of the features of instructions.
pub fn features<'a>(all: impl IntoIterator<Item = &'a Features>) -> Table {
    Table::of("Features", all.into_iter().flat_map(|features| features.cells.iter().map(|cell| row(features, cell))))
}

/// The tables of several devices: their features by class, the published ones, and the devices.
pub fn generations(all: &Generations, published: &[PublishedComparison]) -> Vec<Table> {
    let mut table = Table::of("Features", all.classes.iter().flat_map(|class| of_class(all, class)));
    (table.pivot, table.longest) = (Some(PIVOT), Some(LONGEST));
    let count = |agreement: Agreement| published.iter().filter(|comparison| comparison.agreement == agreement).count();
    let title = format!(
        "Published features: {} differ, {} agree, {} cannot be compared",
        count(Agreement::Differs),
        count(Agreement::Agrees),
        count(Agreement::NotComparable)
    );
    let mut compared = Table::of(title, published.iter().map(published_row));
    compared.longest = Some(LONGEST_PUBLISHED);
    let devices =
        report::devices("Devices, oldest architecture first", all.devices.iter().map(|device| &device.identity));
    [table].into_iter().chain(compared.filled()).chain([devices]).collect()
}

/// The rows of a class: of each device, in order.
fn of_class(all: &Generations, class: &str) -> Vec<FeatureRow> {
    let asked: BTreeSet<usize> = (all.devices.iter())
        .flat_map(|device| device.entries(class))
        .flat_map(|entry| entry.all[0].cells.clone())
        .filter_map(|cell| FEATURES.iter().position(|feature| *feature == *cell.feature))
        .collect();
    let rows = |device: &DeviceFeatures| -> Vec<FeatureRow> {
        let entries = device.entries(class);
        let of_device =
            |row: FeatureRow| FeatureRow { device: Some(device.label()), class: Some(class.to_string()), ..row };
        if entries.is_empty() {
            let (word, why) = match device.has(class) {
                true => ("", "it was not measured"),
                false => (ABSENT, "the device has no instruction of this class"),
            };
            return asked.iter().map(|&at| of_device(without(class, at, word, why))).collect();
        }
        entries.iter().flat_map(|entry| entry_rows(entry)).map(of_device).collect()
    };
    all.devices.iter().flat_map(rows).collect()
}

/// The row of a device that was not asked about a class: what stands for its finding, and why.
fn without(class: &str, feature: usize, word: &str, why: &str) -> FeatureRow {
    let word = (!word.is_empty()).then(|| word.to_string());
    FeatureRow {
        instruction: class.to_string(),
        feature: FEATURES[feature].name,
        asks: FEATURES[feature].asks,
        found: word.clone(),
        reason: Some(why.into()),
        shapes: word,
        ..FeatureRow::default()
    }
}

/// The rows of instructions with the same findings; each feature has the weakest of their evidence.
fn entry_rows(entry: &ClassEntry) -> Vec<FeatureRow> {
    let names: Vec<String> = entry.all.iter().map(|features| features.instruction.name.clone()).collect();
    let shapes: Vec<String> = entry.all.iter().map(|features| shape(&features.instruction)).collect();
    let weakest = |at: usize| {
        let with = entry.all.iter().map(|features| &features.cells[at]);
        with.max_by_key(|cell| cell.rests_on.as_ref().map(|(kind, _)| *kind)).unwrap_or(&entry.all[0].cells[at])
    };
    let first = entry.all[0];
    let of = |at: usize| FeatureRow {
        rests_on: weakest(at).rests_on.as_ref().map(|(_, words)| words.clone()),
        evidence: weakest(at).rests_on.as_ref().map(|(kind, _)| *kind),
        instructions: names.clone(),
        shapes: Some(shapes.join(", ")),
        ..row(first, &first.cells[at])
    };
    (0..first.cells.len()).map(of).collect()
}

fn published_row(comparison: &PublishedComparison) -> PublishedFeatureRow {
    let why = comparison.reason.iter().map(String::as_str).chain([comparison.published.note.as_str()]);
    let why: Vec<&str> = why.filter(|why| !why.is_empty()).collect();
    PublishedFeatureRow {
        source: comparison.published.source.clone(),
        place: comparison.published.place.clone(),
        gpu: comparison.published.gpu.clone(),
        device: comparison.device.label(),
        class: comparison.class.clone(),
        instruction: comparison.features.instruction.name.clone(),
        feature: comparison.published.feature.clone(),
        published: comparison.published.value.clone(),
        found: comparison.finding.map(String::from),
        evidence: comparison.evidence,
        verdict: comparison.agreement.name(),
        reason: (!why.is_empty()).then(|| why.join("; ")),
    }
}

/// The row of a measured feature.
fn row(of: &Features, cell: &FeatureCell) -> FeatureRow {
    let i = &of.instruction;
    let shown = cell.witness.as_ref();
    FeatureRow {
        instruction: i.name.clone(),
        feature: cell.feature.name,
        asks: cell.feature.asks,
        found: cell.finding.clone(),
        evidence: cell.rests_on.as_ref().map(|(kind, _)| *kind),
        rests_on: cell.rests_on.as_ref().map(|(_, words)| words.clone()),
        reason: cell.remark.clone(),
        operands: shown.map(|shown| operands(&Subject::Matrix(i), &shown.case)),
        d: shown.map(|shown| i.d.hex(shown.d)),
        value: shown.map(|shown| i.d.decode(shown.d).decimal()),
        ..FeatureRow::default()
    }
}
