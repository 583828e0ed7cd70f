//! The table of features.

use std::collections::BTreeSet;

use super::Features;
use crate::{
    arithmetic::EvidenceKind,
    comparison::{Subject, operands},
    report::Table,
};

crate::rows! {
    /// A feature of an instruction on a device.
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
    }
}

/// The table of the features of instructions.
pub fn features<'a>(all: impl IntoIterator<Item = &'a Features>) -> Table {
    Table::of("Features", all.into_iter().flat_map(rows))
}

/// The answer for the device `device`; `None` where nothing was measured.
pub fn answer(all: &[Features], device: &str) -> Option<String> {
    match all {
        [] => None,
        [Features { uniform: Some(given), instruction, .. }] => {
            Some(format!("{device} gives {given} for all inputs of {instruction}."))
        }
        [one] => {
            let named = ["order", "alignment", "result", "overflow"];
            let found = named.iter().filter_map(|name| Some(format!("{name} {}", one.found(name)?)));
            let found: Vec<String> = found.collect();
            Some(format!("{} on {device}: {}.", one.instruction, found.join("; ")))
        }
        all => {
            let kinds = all
                .iter()
                .map(|one| one.cells.iter().map(|cell| &cell.found).collect::<Vec<_>>())
                .collect::<BTreeSet<_>>();
            Some(format!("{} instructions of {device} have {} different sets of features.", all.len(), kinds.len()))
        }
    }
}

/// The note on features without a result, grouped by reason; `None` where all have one.
pub fn reasons(of: &Features) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (reason, cell) in of.cells.iter().filter_map(|cell| Some((cell.remark.as_deref()?, cell))) {
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, names)) => names.push(cell.feature.name),
            None => reasons.push((reason, vec![cell.feature.name])),
        }
    }
    let words = reasons.into_iter().map(|(reason, names)| format!("{} ({reason})", names.join(", ")));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("Not tested: {}.", words.join("; ")))
}

fn rows(of: &Features) -> impl Iterator<Item = FeatureRow> {
    of.cells.iter().map(|cell| {
        let i = &of.instruction;
        let shown = cell.witness.as_ref();
        FeatureRow {
            instruction: i.name.clone(),
            feature: cell.feature.name,
            asks: cell.feature.asks,
            found: cell.found.clone(),
            evidence: cell.rests_on.as_ref().map(|(kind, _)| *kind),
            rests_on: cell.rests_on.as_ref().map(|(_, words)| words.clone()),
            reason: cell.remark.clone(),
            operands: shown.map(|shown| operands(&Subject::Matrix(i), &shown.case)),
            d: shown.map(|shown| i.d.hex(shown.d)),
            value: shown.map(|shown| i.d.decode(shown.d).decimal()),
        }
    })
}
