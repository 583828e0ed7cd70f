//! The draft model file of a surveyed device, and the draft file of its target.

use super::{
    Survey,
    outcome::{Outcome, OutcomeKind},
};
use crate::{
    Result,
    arithmetic::{Evidence, EvidenceSource, Model, Rule},
    document::{chip, slug},
    identify,
    isa::Instruction,
};

/// Name of the model file.
pub(crate) const FILE: &str = "model.toml";
/// Name of the file of the target.
pub(super) const TARGETS: &str = "targets.toml";

/// The text of the model file; `None` while no rule is known.
///
/// # Errors
/// A model file of the identification cannot be read.
pub(super) fn model(survey: &Survey) -> Result<Option<String>> {
    let outcomes = survey.outcomes();
    let mut rules = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.kind == OutcomeKind::Agrees) {
        let rule = survey.model().and_then(|model| model.rule(outcome.instruction));
        rule.into_iter().for_each(|rule| add(&mut rules, as_model(survey, outcome, rule), &outcome.instruction.name));
    }
    for kept in survey.kept.iter().filter(|kept| kept.report.command == "identify") {
        let file = kept.path.with_extension("toml");
        if !file.exists() {
            continue;
        }
        for rule in Model::load(&file.display().to_string())?.rules {
            let identified = |outcome: &&Outcome| {
                matches!(outcome.kind, OutcomeKind::Identified | OutcomeKind::Approximated)
                    && rule.instructions.contains(&outcome.instruction.name)
            };
            for outcome in outcomes.iter().filter(identified) {
                add(&mut rules, rule.clone(), &outcome.instruction.name);
            }
        }
    }
    let title = format!("{} (surveyed)", chip(&survey.identity));
    Ok((!rules.is_empty()).then(|| identify::model_text(&slug(&title), &title, &rules)))
}

/// The rule of the model, with the evidence of the comparison with the device.
fn as_model(survey: &Survey, outcome: &Outcome, rule: &Rule) -> Rule {
    let date = survey.request.notes.iter().find(|(key, _)| key == "date").map(|(_, date)| date.clone());
    let source = match identify::source(&survey.identity, &date) {
        EvidenceSource::Measured { device, date, files, .. } => {
            let cases = outcome.compared.and_then(|compared| u64::try_from(compared).ok());
            EvidenceSource::Measured { device, date, cases, files }
        }
        other => other,
    };
    let model = survey.comparison.model_name().unwrap_or_default();
    let note = format!("tcnum survey: the rule of the model {model} gives every output");
    let (keys, instructions) = (Vec::new(), Vec::new());
    let evidence = Evidence { source, note: Some(note), keys, instructions, leaves: Default::default() };
    with(rule, rule.instructions.clone(), vec![evidence])
}

/// Adds an instruction to the rule that it has, else the rule.
fn add(rules: &mut Vec<Rule>, rule: Rule, name: &str) {
    let kind = |rule: &Rule| rule.evidence.first().map(|evidence| evidence.source.kind());
    let is_same = |other: &&mut Rule| {
        kind(other) == kind(&rule) && with(other, rule.instructions.clone(), rule.evidence.clone()) == rule
    };
    match rules.iter_mut().find(is_same) {
        Some(other) => other.instructions.push(name.into()),
        None => rules.push(with(&rule, vec![name.into()], rule.evidence.clone())),
    }
}

/// The rule for other instructions, with other evidence.
fn with(rule: &Rule, instructions: Vec<String>, evidence: Vec<Evidence>) -> Rule {
    let mut rule = rule.clone();
    (rule.instructions, rule.evidence) = (instructions, evidence);
    rule
}

/// The text of the file of the target: its instructions, native and emulated ones.
pub(super) fn targets(survey: &Survey) -> String {
    let title = chip(&survey.identity);
    let outcomes = survey.outcomes();
    // The ways in which a known target emulates an instruction stand in its file; here the execution decides.
    let emulation =
        |outcome: &Outcome| (outcome.execution.as_deref() == Some("emulated")).then(|| how(outcome.instruction));
    let names = |way: Option<&str>| {
        let of_way = outcomes.iter().filter(|outcome| emulation(outcome) == way);
        of_way.map(|outcome| format!("  {:?},\n", outcome.instruction.name)).collect::<String>()
    };
    let mut text = format!(
        "# Instructions of {title}, as `tcnum survey` found them: a draft. Form: targets/README.md.\n\ntitle = {title:?}\n\
         announced = \"YYYY-MM\"\ngpus = [{title:?}]\n\n[matrix]\nnative = [\n{}]\n",
        names(None)
    );
    let mut ways: Vec<&str> = outcomes.iter().filter_map(emulation).collect();
    ways.sort_unstable();
    ways.dedup();
    if !ways.is_empty() {
        text += "\n[matrix.emulated]\n";
        ways.iter().for_each(|way| text += &format!("{way} = [\n{}]\n", names(Some(way))));
    }
    text
}

/// The way in which targets emulate an instruction, by those that do.
fn how(instruction: &Instruction) -> &'static str {
    instruction.support.iter().find_map(|support| support.emulation).unwrap_or("convert")
}
