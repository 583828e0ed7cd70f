//! The answer in sentences.
//!
//! It names the arithmetic that was found, the nearest shipped rule, and the number of outputs that support the answer.

use std::collections::BTreeSet;

use super::{Finding, Fingerprint, fingerprint, shortfall::Shortfall, tables::IdentifiedRow};
use crate::{
    base::sentence::capitalised,
    catalogue::arithmetic,
    report::{counted, grouped},
};

/// The answer for a device or a recording with this name; `None` without findings.
pub(super) fn answer(
    findings: &[Finding],
    shortfalls: &[Shortfall],
    rows: &[IdentifiedRow],
    device: &str,
) -> Option<String> {
    let count = |word: &str| rows.iter().filter(|row| row.outcome == word).count();
    match (findings, shortfalls, rows) {
        ([finding], [shortfall], [row]) => Some(one(finding, shortfall, row, device)),
        (.., []) => None,
        (.., rows) => {
            let mut words = vec![format!("{} identified", count("identified"))];
            for word in ["approximated", "unfinished"] {
                words.extend(Some(count(word)).filter(|count| *count > 0).map(|count| format!("{count} {word}")));
            }
            let mut sentence = format!("{} instructions of {device}: {}", rows.len(), words.join(", "));
            let mut likes = rows.iter().filter_map(|row| row.like.as_deref()).collect::<BTreeSet<_>>().into_iter();
            if let (Some(like), None) = (likes.next(), likes.next()) {
                sentence += &format!(", all {like}");
            }
            Some(sentence + ".")
        }
    }
}

/// The answer for one instruction.
fn one(finding: &Finding, shortfall: &Shortfall, row: &IdentifiedRow, device: &str) -> String {
    let i = &row.instruction;
    if let Some(given) = &row.gives {
        return format!("{} gives {given} for all inputs.", subject(device));
    }
    if finding.identification.rule.is_none() {
        return format!("No rule was found for {i} on {device}.");
    }
    let arithmetic = described(finding);
    let support = support(finding);
    match (row.outcome, finding.agrees()) {
        ("identified", _) => format!("{} computes {i}: {arithmetic} The rule gives {support}.", subject(device)),
        (_, true) => {
            format!(
                "So far {device} computes {i}: {arithmetic} The rule gives {support}, but the search was ended early."
            )
        }
        (outcome, false) => {
            let no = if outcome == "unfinished" { "So far no rule" } else { "No rule that was found" };
            let said: String =
                shortfall.sentence().iter().chain(&shortfall.common).map(|sentence| format!(" {sentence}")).collect();
            format!("{no} gives all answers of {i} on {device}. The nearest: {arithmetic} It misses {support}.{said}")
        }
    }
}

/// The rule in sentences, and the shipped rule that it equals or is nearest to.
fn described(finding: &Finding) -> String {
    let identification = &finding.identification;
    let program = identification.model().and_then(|model| model.program(&identification.instruction).ok());
    let words = program.map(|program| arithmetic::sentences(&program));
    let like = finding.like.as_ref().map(|like| like.sentence.clone());
    words.into_iter().chain(like).collect::<Vec<_>>().join(" ")
}

/// The outputs that a rule gives, or misses.
/// An example: `12 of 40,000 asked outputs and 3 of 100,000 held-out ones`.
pub(super) fn support(finding: &Finding) -> String {
    let number = |count: u64| grouped(count as i64);
    let asked = finding.identification.asked.d.len();
    let misses = finding.identification.misses.min(asked) as u64;
    let asked = number(asked as u64);
    let held_out = finding.held_out.as_ref().map(|part| (part.state.compared(), part.state.differing()));
    match (misses, held_out.filter(|(compared, _)| *compared > 0)) {
        (0, None) => format!("all {asked} outputs"),
        (0, Some((compared, 0))) => format!("all {asked} asked outputs and all {} held-out ones", number(compared)),
        (misses, None) => format!("{} of {asked} outputs", number(misses)),
        (misses, Some((compared, differing))) => {
            let [misses, differing, compared] = [misses, differing, compared].map(number);
            format!("{misses} of {asked} asked outputs and {differing} of {compared} held-out ones")
        }
    }
}

/// A device or a recording at the beginning of a sentence: names stay as they are.
fn subject(device: &str) -> String {
    if device.starts_with("the ") { capitalised(device) } else { device.into() }
}

/// The known arithmetics of a device in one sentence; `None` without fingerprints.
pub fn known(all: &[Fingerprint], device: &str) -> Option<String> {
    let unknown = all.iter().filter(|one| one.matching.is_empty()).count();
    match all {
        [] => None,
        [one] => Some(match fingerprint(one).arithmetic {
            Some(arithmetic) => format!(
                "{device} computes {} as {arithmetic}, by {} that {} {} known arithmetics.",
                one.instruction,
                counted(one.inputs as u64, "input"),
                if one.inputs == 1 { "separates" } else { "separate" },
                one.known
            ),
            None => format!(
                "None of the {} known arithmetics fits {} on {device}; leave out ‹quick› to search for a rule.",
                one.known, one.instruction
            ),
        }),
        all if unknown == 0 => Some(format!("{device} computes all {} instructions by known arithmetics.", all.len())),
        all => Some(format!(
            "{device} computes {unknown} of {} instructions by no known arithmetic; leave out ‹quick› to search for rules.",
            all.len()
        )),
    }
}
