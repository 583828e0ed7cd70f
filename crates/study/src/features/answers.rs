//! Answers and notes on features, in sentences.

use std::collections::BTreeSet;

use super::{Agreement, DeviceFeatures, FEATURES, Features, Generations, PublishedComparison};
use crate::{base::sentence::listed, report::counted};

/// Most classes that the answer for two devices names.
const NAMED: usize = 4;

/// The answer for several devices: in which features they differ, and how many published ones differ.
pub fn answer_of_generations(all: &Generations, published: &[PublishedComparison]) -> Option<String> {
    let labels: Vec<String> = all.devices.iter().map(DeviceFeatures::label).collect();
    let shared: Vec<(&String, Vec<String>, Vec<&str>)> = (all.classes.iter())
        .map(|class| (class, all.differing(class)))
        .filter(|(_, (having, _))| having.len() > 1)
        .map(|(class, (having, differ))| (class, having, differ))
        .collect();
    let features = FEATURES.len();
    let said = match &shared[..] {
        _ if labels.is_empty() => return None,
        [] => format!("{} share no class of instructions.", listed(&labels)),
        [(class, having, differ)] if differ.is_empty() => {
            format!("{} show the same {features} features for {class}.", listed(having))
        }
        [(class, having, differ)] => {
            let verb = if differ.len() == 1 { "differs" } else { "differ" };
            let (count, who, names) = (differ.len(), listed(having), differ.join(", "));
            format!("{count} of {features} features {verb} between {who} for {class}: {names}.")
        }
        several if several.iter().all(|(.., differ)| differ.is_empty()) => {
            let who = if labels.len() == 2 { listed(&labels) } else { "The devices".into() };
            format!("{who} show the same {features} features for {} classes of instructions.", several.len())
        }
        several if labels.len() == 2 && several.len() <= NAMED => {
            let each: Vec<String> =
                several.iter().map(|(class, _, differ)| format!("{} for {class}", differ.len())).collect();
            format!("{} differ in these numbers of {features} features: {}.", listed(&labels), listed(&each))
        }
        several => {
            let count = |class: &&(&String, Vec<String>, Vec<&str>)| class.2.len();
            let least = several.iter().map(|class| count(&class)).min().unwrap_or(0);
            let most = several.iter().max_by_key(count).map_or((0, ""), |class| (count(&class), class.0.as_str()));
            format!(
                "Between {least} and {} of {features} features differ among the devices with a class of instructions, most for {}; \
                 {} devices and {} classes were compared.",
                most.0,
                most.1,
                labels.len(),
                all.classes.len()
            )
        }
    };
    let differ = published.iter().filter(|comparison| comparison.agreement == Agreement::Differs).count();
    Some(match published.len() {
        0 => said,
        count => format!("{said} Published features that differ: {differ}, among {}.", counted(count as u64, "value")),
    })
}

/// Notes on published features that differ, with the reasons, and on instructions left out.
pub fn notes_of_generations(all: &Generations, published: &[PublishedComparison]) -> Vec<String> {
    let differs = published.iter().filter(|comparison| comparison.agreement == Agreement::Differs).map(|comparison| {
        let PublishedComparison { published, device, class, .. } = comparison;
        let finding = comparison.finding.unwrap_or("-");
        let why = if published.note.is_empty() { String::new() } else { format!(" {}", published.note) };
        format!(
            "{} ({}) has {} {} for {} on {}; {} shows {finding}.{why}",
            published.source,
            published.place,
            published.feature,
            published.value,
            class,
            published.gpu,
            device.label()
        )
    });
    differs.chain(all.left_out.iter().cloned()).collect()
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
            let findings = named.iter().filter_map(|name| Some(format!("{name} {}", one.finding(name)?)));
            let findings: Vec<String> = findings.collect();
            Some(format!("{} on {device}: {}.", one.instruction, findings.join("; ")))
        }
        all => {
            let kinds = all
                .iter()
                .map(|one| one.cells.iter().map(|cell| &cell.finding).collect::<Vec<_>>())
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
