//! The page of a survey: what is new in sentences, then the chapters of a document of its results.

use super::{
    Survey,
    outcome::{Outcome, OutcomeKind, news as change, reasons},
};
use crate::{
    Result,
    base::distinct::distinct,
    catalogue::arithmetic,
    document::{Block, Chapter, Form, Results, chip, compose, formats_of},
    isa::Instruction,
    report::{counted, grouped},
};

/// Instructions that a sentence names.
const NAMED: usize = 2;

/// The news of a survey.
pub(super) struct News {
    /// The answer in short.
    pub(super) lead: String,
    /// Sentences on what is new, most important first.
    pub(super) sentences: Vec<String>,
}

/// Collects what is new on a device.
pub(super) fn news(survey: &Survey) -> News {
    let outcomes = survey.outcomes();
    let mut sentences = Vec::new();
    if let Some(before) = &survey.comparison.before {
        sentences.extend(changed(survey, &before.argument));
        sentences.extend(new(survey, &outcomes, &before.argument));
        let same = outcomes.iter().filter(|outcome| change(survey, outcome) == Some("as before")).count();
        if same > 0 {
            sentences.push(format!("{} as in {}.", computing(same), before.argument));
        }
        sentences.extend(absent(survey));
    } else {
        sentences.extend(new(survey, &outcomes, ""));
    }
    News { lead: lead(survey, &outcomes), sentences }
}

/// The answer in one or two sentences.
fn lead(survey: &Survey, outcomes: &[Outcome]) -> String {
    let device = chip(&survey.identity);
    let all = outcomes.len();
    let model = survey.comparison.model_name().unwrap_or("none");
    let agreeing = survey.count(&[OutcomeKind::Agrees]);
    let compared: i64 = outcomes.iter().filter_map(|outcome| outcome.compared).sum();
    let executes = format!("{device} executes {}", counted(all as u64, "matrix instruction"));
    if all > 0 && agreeing == all {
        let of_all = if all == 1 { "it" } else { "all of them" };
        return format!(
            "{executes}; the model {model} describes {of_all} in every bit of {} outputs.",
            grouped(compared)
        );
    }
    let parts = [
        (agreeing, format!("compute as the model {model} says")),
        (survey.count(&[OutcomeKind::Identified]), "are identified here".into()),
        (survey.count(&[OutcomeKind::Approximated]), "are approximated: no rule gives every output".into()),
        (survey.count(&[OutcomeKind::Differs]), format!("differ from the model {model} and are not identified yet")),
        (survey.count(&[OutcomeKind::Open]), "are open".into()),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if parts.is_empty() { format!("{executes}.") } else { format!("{executes}: {}.", parts.join(", ")) }
}

/// A number of instructions and the verb of a comparison.
fn computing(count: usize) -> String {
    format!("{} {}", counted(count as u64, "instruction"), if count == 1 { "computes" } else { "compute" })
}

/// The changes against the generation before, each reason once, the most frequent first.
fn changed(survey: &Survey, before: &str) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, why) in reasons(survey) {
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => groups.push((why, vec![name])),
        }
    }
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let sentence = |(why, names): (String, Vec<&str>)| {
        let was = why.replace(&format!(" in {before}, "), &format!(" in the model {before}, "));
        format!("{was} ({}).", listed(survey, &names))
    };
    groups.into_iter().map(sentence).collect()
}

/// The formats of some instructions, their number and the first of them.
fn listed(survey: &Survey, names: &[&str]) -> String {
    let of = |name: &&str| survey.instructions.iter().find(|instruction| instruction.name == **name);
    let mut formats = distinct(names.iter().filter_map(of).map(formats_of));
    let more = formats.len().saturating_sub(NAMED + 1);
    formats.truncate(NAMED + 1);
    let more = if more > 0 { format!(" and {more} more kinds") } else { String::new() };
    let shown = names[..names.len().min(NAMED)].join(", ");
    let others = names.len().saturating_sub(NAMED);
    let others =
        if others > 0 { format!(" and {}", counted(others as u64, "other instruction")) } else { String::new() };
    format!("{}{more}: {shown}{others}", formats.join(", "))
}

/// The instructions that the generation before lacks, those of one arithmetic together.
fn new(survey: &Survey, outcomes: &[Outcome], before: &str) -> Vec<String> {
    // Without a generation before, everything is new that no model describes.
    let is_new = |outcome: &&Outcome| match survey.comparison.before {
        Some(_) => change(survey, outcome) == Some("new"),
        None => outcome.is_unlike(),
    };
    let all: Vec<&Outcome> = outcomes.iter().filter(is_new).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let draft = survey.draft();
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for outcome in &all {
        let program = draft.as_ref().and_then(|draft| draft.program(outcome.instruction).ok());
        let words = program.map_or("their arithmetic is open.".into(), |program| arithmetic::sentences(&program));
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(&outcome.instruction.name),
            None => groups.push((words, vec![&outcome.instruction.name])),
        }
    }
    let count = counted(all.len() as u64, "instruction");
    let are = if all.len() == 1 { "is" } else { "are" };
    let first = match before {
        "" => format!("{count} {are} described by no shipped model of the device."),
        before => {
            format!("{count} {are} new: the model {before} lacks {}.", if all.len() == 1 { "it" } else { "them" })
        }
    };
    let each = groups.into_iter().map(|(words, names)| format!("New, {}: {words}", listed(survey, &names)));
    [first].into_iter().chain(each).collect()
}

/// The instructions of the generation before that the device lacks, if all instructions were surveyed.
fn absent(survey: &Survey) -> Option<String> {
    let before = survey.comparison.before.as_ref().filter(|_| survey.request.available)?;
    let lacks = |i: &&Instruction| {
        before.model.rule(i).is_some() && survey.instructions.iter().all(|known| known.name != i.name)
    };
    let count = survey.request.instructions.iter().filter(lacks).count();
    (count > 0)
        .then(|| format!("{} of the model {} do not run here.", counted(count as u64, "instruction"), before.argument))
}

/// Writes the page, as Markdown and as HTML.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(survey: &Survey, news: &News) -> Result<()> {
    let mut document = compose(&Results::new(survey.kept.clone()));
    let mut blocks: Vec<Block> = survey.comparison.note.clone().map(Block::Text).into_iter().collect();
    blocks.extend(survey.ended_in.as_ref().map(|step| {
        Block::Text(format!("The survey ended in the step {step}; this page covers the results until then."))
    }));
    let heading = match &survey.comparison.before {
        Some(before) => {
            blocks.push(Block::Text(format!("Against the model {}, {}:", before.argument, before.model.title)));
            "New against the generation before"
        }
        None => "New",
    };
    if !news.sentences.is_empty() {
        blocks.push(Block::List(news.sentences.clone()));
    }
    blocks.push(Block::Text(
        "model.toml is the draft model, targets.toml the draft of the target, witnesses and recordings hold inputs with their outputs."
            .into(),
    ));
    document.title = chip(&survey.identity);
    document.lead = news.lead.clone();
    document.parts.insert(0, Chapter { id: "new", heading, blocks });
    Form::Text.write(&document, &survey.folder.file("README.md"))?;
    Form::Page.write(&document, &survey.folder.file("index.html"))
}
