//! Composition of a document of all that results say; a paper has some of its chapters.

use super::{
    Block, Chapter, Document, arithmetic,
    article::Study,
    claims, evidence, literature, neighbours, proof, repeated,
    results::Results,
    setup,
    sheets::{self, LAYOUT, Section, short},
};
use crate::{
    base::{distinct::distinct, sentence::listed},
    report::Table,
};

/// Comparisons that the lead states; the first chapter states the rest.
pub(super) const LEADING: usize = 2;
/// Tables whose content other chapters show.
const TAKEN: &[&str] = &["features", "regimes", "devices"];

/// Makes the document of results: experiments by source, other results by chapter, and the literature.
pub(crate) fn compose(results: &Results) -> Document {
    let study = Study::of(results, &[]);
    let others = &study.others;
    let mut parts = vec![proof::instructions(others), arithmetic::part(&study), proof::part(others)];
    parts.extend(LAYOUT.sections.iter().map(|section| of_tables(others, section)));
    for part in parts.iter_mut().filter(|part| !part.blocks.is_empty()) {
        let keys = keys(part.id, others);
        let has = |table: &Table| keys.contains(&table.key) && !table.rows.is_empty();
        part.blocks.extend(setup::repeats(others.kept.iter().filter(|kept| kept.report.tables.iter().any(has))));
    }
    parts.insert(0, setup::chapter(&study));
    parts[0].blocks.extend(literature::counts(&study.compared).block());
    parts.extend(repeated::chapters(&study.experiments, false));
    parts.push(literature::chapter(&study, study.compared.iter().collect(), claims::claims()));
    let mut limits = evidence::limits(&study);
    limits.blocks.extend(proof::open(others));
    parts.extend([limits, setup::commands(results, others)]);
    parts.retain(|part| !part.blocks.is_empty());
    let subjects = results.subjects();
    let title = if subjects.is_empty() { "Numbers and their formats".into() } else { named(&subjects) };
    Document { title, lead: lead(results, &subjects), parts }
}

/// The names of chips in a title.
pub(super) fn named(chips: &[String]) -> String {
    listed(&chips.iter().map(|chip| short(chip)).collect::<Vec<_>>())
}

/// The answer in one or two sentences, or the subject and its sources.
fn lead(results: &Results, subjects: &[String]) -> String {
    match results.according_to(|chip| subjects.iter().any(|subject| subject == chip)) {
        Some(models) => format!("Numeric behaviour of simulated matrix instructions. {models} No chip was tested."),
        None if subjects.is_empty() => "Formats and arithmetic models".into(),
        None => match &proof::comparisons(results)[..] {
            [] => "Numeric behaviour of its matrix instructions".into(),
            several => several.iter().take(LEADING).cloned().collect::<Vec<_>>().join(" "),
        },
    }
}

/// Makes a chapter of tables, each with its figures.
fn of_tables(results: &Results, section: &'static Section) -> Chapter {
    let mut blocks = if section.id == "neighbours" { neighbours::blocks(results) } else { Vec::new() };
    let tables = keys(&section.id, results).into_iter().filter_map(|key| results.table(key));
    blocks.extend(tables.flat_map(|table| sheets::blocks(results, &table)));
    if !blocks.is_empty() && !section.intro.is_empty() {
        blocks.insert(0, Block::Text(section.intro.clone()));
    }
    Chapter { id: &section.id, heading: &section.heading, blocks }
}

/// The keys of the tables that a chapter is made of.
fn keys(chapter: &str, results: &Results) -> Vec<&'static str> {
    let listed = |section: &'static Section| section.tables.iter().map(String::as_str);
    match chapter {
        "arithmetic" => [arithmetic::TABLES, &["features"]].concat(),
        "proof" => [proof::TABLES, &["regimes"]].concat(),
        "instructions" => proof::RUNS.to_vec(),
        "other" => {
            let known = [TAKEN, proof::TABLES, arithmetic::TABLES].concat();
            let known: Vec<&str> = known.into_iter().chain(LAYOUT.sections.iter().flat_map(listed)).collect();
            let all = results.kept.iter().flat_map(|kept| kept.report.tables.iter().map(|table| table.key));
            distinct(all.filter(|key| !known.contains(key)))
        }
        id => LAYOUT.sections.iter().filter(|section| section.id == id).flat_map(listed).collect(),
    }
}
