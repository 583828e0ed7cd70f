//! The pages of a generation and of a format: their instructions, grouped by arithmetic.

use maud::{Markup, html};

use super::{
    Site,
    answer::{alignment, fp8, width_and_rounding},
    entry::{Arithmetic, Entry},
    generation::Generation,
    index::{is_operand, legend},
    page::{Page, Section, evidence_mark, format_link, generation_link, quoted, table},
};
use crate::{
    arithmetic::EvidenceKind,
    base::distinct::distinct,
    catalogue::{self, Detail},
    document::{self, shown},
    format::Format,
    report::counted,
};

const ROOT: &str = "../";

/// Instructions of one arithmetic, as a sentence says it.
struct Alike<'a> {
    sentence: String,
    entries: Vec<(&'a Entry, &'a Arithmetic)>,
}

/// Groups the instructions of a generation by the sentence of their arithmetic.
fn alike<'a>(entries: impl Iterator<Item = &'a Entry>, generation: usize) -> Vec<Alike<'a>> {
    let mut groups: Vec<Alike> = Vec::new();
    for entry in entries {
        let Some(arithmetic) = entry.of(generation) else { continue };
        let sentence = arithmetic.sentences();
        match groups.iter_mut().find(|group| group.sentence == sentence) {
            Some(group) => group.entries.push((entry, arithmetic)),
            None => groups.push(Alike { sentence, entries: vec![(entry, arithmetic)] }),
        }
    }
    groups
}

/// The page of a generation.
pub(super) fn generation(site: &Site, number: usize) -> Page {
    let generation = &site.generations[number];
    let mut groups = alike(site.entries.iter(), number);
    // Arithmetics of the matrix unit come first.
    groups.sort_by_key(|group| !group.entries.iter().any(|(entry, _)| generation.is_native(&entry.instruction)));
    let count: usize = groups.iter().map(|group| group.entries.len()).sum();
    let answer = fp8(site, number);
    let lead = html! {
        p.lead {
            (shown(&generation.model.title)) ": " (counted(count as u64, "instruction")) " of the atlas, "
            (counted(groups.len() as u64, "arithmetic")) "."
            @if !generation.aliases.is_empty() { " Also called " (shown(&generation.aliases.join(", "))) "." }
            @if let Some(date) = generation.date {
                " First product: " (date.product) " (" (date.vendor) ", " (generation.year()) ")."
            }
        }
        p {
            strong { "Does FP8 accumulate in f32? " } (answer.words) " " (answer.remark)
            @if let Some(entry) = answer.entry { " " (entry_link(entry)) }
        }
    };
    let model = quoted(&generation.asked);
    Page {
        path: format!("generation/{}.html", generation.file),
        title: generation.title().to_string(),
        lead,
        sections: vec![
            Section::new("instructions", "Instructions by arithmetic", groups_of(generation, &groups)),
            Section::new("rules", "Rules", rules(generation)),
        ],
        rests_on: rests_on(generation),
        commands: vec![format!("tcnum models {model}"), format!("tcnum features --all --device {model}")],
    }
}

fn entry_link(entry: &Entry) -> Markup {
    html! { a href={ (ROOT) "instruction/" (entry.file) ".html" } { (shown(&entry.instruction.name)) } }
}

/// Groups of instructions, each with its sentence.
fn groups_of(generation: &Generation, groups: &[Alike]) -> Markup {
    html! {
        p { "Emulated instructions are marked; they have the arithmetic of the instructions that the assembler makes them of." }
        @for group in groups {
            article.arithmetic {
                h3 {
                    (group.entries.first().map(|(_, arithmetic)| width_and_rounding(arithmetic)).unwrap_or_default())
                    @if let Some(words) = group.entries.first().and_then(|(_, arithmetic)| alignment(arithmetic)) {
                        ", " (words)
                    }
                }
                p { (group.sentence) }
                ul.names {
                    @for (entry, arithmetic) in &group.entries {
                        li {
                            (entry_link(entry))
                            @if let Some(kind) = entry.weakest(&generation.model, arithmetic, |_| true) {
                                " " (evidence_mark(kind))
                            }
                            @if !generation.is_native(&entry.instruction) { span.note { "emulated" } }
                        }
                    }
                }
            }
        }
        (legend())
    }
}

/// The rules of a model and their evidence, and its file.
fn rules(generation: &Generation) -> Markup {
    let [rules, evidence] = catalogue::model(&generation.model);
    html! {
        (document::block(&document::Block::Table(document::sheet(&rules))))
        (document::block(&document::Block::Folded("Evidence".into(), vec![document::Block::Table(document::sheet(&evidence))])))
        details.part {
            summary { "Model file, version " (generation.model.version) }
            pre tabindex="0" { (shown(generation.model.text())) }
        }
    }
}

/// The evidence of a model in a sentence.
fn rests_on(generation: &Generation) -> String {
    let kinds = EvidenceKind::ALL.into_iter().filter_map(|kind| {
        let rests =
            |rule: &&crate::arithmetic::Rule| rule.evidence.iter().any(|evidence| evidence.source.kind() == kind);
        let count = generation.model.rules.iter().filter(rests).count();
        (count > 0).then(|| format!("{} {count}", kind.name()))
    });
    format!(
        "The answers follow from the model '{}', version {}, with {}; rules by kind of evidence: {}.",
        generation.name(),
        generation.model.version,
        counted(generation.model.rules.len() as u64, "rule"),
        kinds.collect::<Vec<_>>().join(", ")
    )
}

/// The page of a format.
pub(super) fn format(site: &Site, format: &'static Format) -> Page {
    let entries = || site.entries.iter().filter(|entry| is_operand(entry, format));
    let lead = html! {
        p.lead {
            (counted(u64::from(format.bits), "bit"))
            @if !format.aliases.is_empty() { "; also called " (format.aliases.join(", ")) }
            "; operand of " (counted(entries().count() as u64, "instruction")) " of the atlas."
        }
    };
    let record = catalogue::records([format], Detail::Brief);
    let mut sections =
        vec![Section::new("format", "Format", document::block(&document::Block::Table(document::sheet(&record))))];
    if entries().next().is_some() {
        sections.insert(0, Section::new("instructions", "Instructions by generation", by_generation(site, format)));
    }
    let others = distinct(entries().flat_map(|entry| [entry.instruction.a, entry.instruction.b, entry.instruction.d]));
    let others: Vec<&Format> = others.into_iter().filter(|other| *other != format).collect();
    if !others.is_empty() {
        let list = html! { p { "Formats of the other operands and of results: " @for (at, other) in others.iter().enumerate() {
        @if at > 0 { ", " } (format_link(ROOT, other.name)) } "." } };
        sections.push(Section::new("others", "Other formats", list));
    }
    Page {
        path: format!("format/{}.html", format.name),
        title: format.name.to_string(),
        lead,
        sections,
        rests_on: format!("Source of the format: {}. The answers follow from the rules of the models.", format.source),
        commands: vec![format!("tcnum formats {}", format.name), format!("tcnum instructions {}", format.name)],
    }
}

/// The instructions with an operand of a format, by generation and arithmetic.
fn by_generation(site: &Site, format: &Format) -> Markup {
    let rows = html! {
        @for (number, generation) in site.generations.iter().enumerate() {
            @for group in alike(site.entries.iter().filter(|entry| is_operand(entry, format)), number) {
                tr {
                    th scope="row" { (generation_link(ROOT, generation)) }
                    td {
                        @let first = group.entries.first().map(|(_, arithmetic)| *arithmetic);
                        (first.map(width_and_rounding).unwrap_or_default())
                        @if let Some(words) = first.and_then(alignment) { span.note { (words) } }
                    }
                    td.said { (group.sentence) }
                    td { (names(generation, &group)) }
                }
            }
        }
    };
    let caption = format!("Instructions with an operand of {}", format.name);
    table(&caption, &["generation", "width, rounding", "arithmetic", "instructions"], rows)
}

/// Links to the instructions of a group, many folded.
fn names(generation: &Generation, group: &Alike) -> Markup {
    let one = |entry: &Entry| {
        html! {
            (entry_link(entry)) @if !generation.is_native(&entry.instruction) { span.note { "emulated" } }
        }
    };
    match &group.entries[..] {
        [] => html! {},
        [(only, _)] => one(only),
        [(first, _), rest @ ..] => html! {
            (one(first))
            details {
                summary { (rest.len()) " more" }
                ul.names { @for (entry, _) in rest { li { (one(entry)) } } }
            }
        },
    }
}
