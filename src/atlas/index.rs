//! The first page: widths, roundings and the answer about FP8, then all lists.

use maud::{Markup, html};

use super::{
    Site,
    answer::{alignment, evidence, fp8, representative, width_and_rounding},
    claim,
    entry::{Arithmetic, Entry},
    generation::Generation,
    page::{Page, Section, evidence_mark, format_link, generation_link, table},
};
use crate::{
    arithmetic::EvidenceKind,
    document::shown,
    format::{self, Format},
    report::counted,
};

/// Columns of the first table: a heading, and the operand formats for it in order of preference.
const COLUMNS: [(&str, &[&str]); 7] = [
    ("f16", &["f16"]),
    ("bf16", &["bf16"]),
    ("tf32", &["tf32"]),
    ("f64", &["f64"]),
    ("FP6", &["e2m3"]),
    ("FP4", &["e2m1"]),
    ("s8", &["s8"]),
];

/// Makes the page.
pub(super) fn page(site: &Site) -> Page {
    let instructions = counted(site.entries.len() as u64, "instruction");
    Page {
        path: "index.html".into(),
        title: "The arithmetic of matrix units".into(),
        lead: html! {
            p.lead {
                "How wide is the accumulator, which way does it round, does FP8 accumulate in f32, and are subnormal operands kept? "
                (instructions) " of " (counted(site.generations.len() as u64, "generation")) "."
            }
        },
        sections: sections(site),
        rests_on: rests_on(site),
        commands: vec!["tcnum models".into(), "tcnum instructions".into()],
    }
}

fn sections(site: &Site) -> Vec<Section> {
    let mut sections = vec![
        Section::new("answers", "Width and rounding of sums", answers(site)),
        Section::new("generations", "Generations", generations(site)),
        Section::new("formats", "Formats", formats(site)),
        Section::new("instructions", "Instructions", instructions_list(site)),
        Section::new("reading", "How to read it", reading()),
        Section::new("addresses", "Addresses that stay", claim::addresses()),
    ];
    if !site.claims.is_empty() {
        sections.insert(4, Section::new("claims", "Published claims", claim::list(&site.claims)));
    }
    sections
}

/// The table of generations and formats.
fn answers(site: &Site) -> Markup {
    let columns: Vec<&(&str, &[&str])> = COLUMNS
        .iter()
        .filter(|(_, names)| site.entries.iter().any(|entry| names.contains(&entry.instruction.a.name)))
        .collect();
    let mut labels = vec!["generation", "Does FP8 accumulate in f32?", "Are subnormal A and B kept?"];
    labels.extend(columns.iter().map(|(label, _)| *label));
    let rows = html! {
        @for (number, generation) in site.generations.iter().enumerate() {
            tr {
                th scope="row" {
                    (generation_link("", generation))
                    @if generation.date.is_some() { span.note { (generation.year()) } }
                }
                (fp8_cell(site, number))
                td { (subnormals(site, number)) }
                @for (_, names) in &columns { (cell(site, number, names)) }
            }
        }
    };
    html! {
        (table("Significant bits of the accumulator and rounding of D, by generation and operand format; marks: the evidence for these two", &labels, rows))
        p {
            "Each cell is about the widest plain instruction of the format; its page has all. A note says how many fraction bits remain of "
            "terms that one step aligns to the largest."
        }
        (legend())
    }
}

fn fp8_cell(site: &Site, number: usize) -> Markup {
    let generation = &site.generations[number];
    let answer = fp8(site, number);
    html! {
        td.said {
            @match answer.entry {
                None => (answer.words),
                Some(entry) => {
                    a href={ "instruction/" (entry.file) ".html" } { (answer.words) }
                    @if let Some(arithmetic) = entry.of(number) {
                        (mark(generation, entry, arithmetic)) (note(arithmetic))
                    }
                    @if !answer.remark.is_empty() { span.note { (answer.remark) } }
                },
            }
        }
    }
}

/// The fate of subnormal operands, for each format of the columns that shows it.
fn subnormals(site: &Site, number: usize) -> String {
    let of = |(label, names): &(&str, &[&str])| {
        let format = format::find(names.first()?).ok()?;
        let (_, arithmetic) = representative(&site.entries, &site.generations, number, format)?;
        Some((arithmetic.finding("subnormal A, B")?.to_string(), label.to_string()))
    };
    let all: Vec<(String, String)> = COLUMNS.iter().filter_map(of).collect();
    let groups = crate::base::distinct::distinct(all.iter().map(|(words, _)| words.clone()));
    let labels = |words: &String| {
        all.iter().filter(|(other, _)| other == words).map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ")
    };
    match &groups[..] {
        [] => "-".into(),
        [one] => one.clone(),
        several => several.iter().map(|words| format!("{words} ({})", labels(words))).collect::<Vec<_>>().join("; "),
    }
}

/// The mark of the evidence of a cell.
fn mark(generation: &Generation, entry: &Entry, arithmetic: &Arithmetic) -> Markup {
    html! { @if let Some(kind) = evidence(generation, entry, arithmetic) { " " (evidence_mark(kind)) } }
}

/// The note of a cell.
fn note(arithmetic: &Arithmetic) -> Markup {
    html! { @if let Some(words) = alignment(arithmetic) { span.note { (words) } } }
}

fn cell(site: &Site, generation: usize, names: &[&str]) -> Markup {
    let formats = names.iter().filter_map(|name| format::find(name).ok());
    let mut representatives =
        formats.filter_map(|format| representative(&site.entries, &site.generations, generation, format));
    let Some((entry, arithmetic)) = representatives.next() else { return html! { td.none { "-" } } };
    let generation = &site.generations[generation];
    html! {
        td {
            span.whole {
                a href={ "instruction/" (entry.file) ".html" } { (width_and_rounding(arithmetic)) }
                (mark(generation, entry, arithmetic))
            }
            (note(arithmetic))
            @if !generation.is_native(&entry.instruction) { span.note { "emulated" } }
        }
    }
}

/// The meanings of the marks.
pub(super) fn legend() -> Markup {
    html! {
        p.legend {
            "Weakest evidence of an answer: "
            @for (at, kind) in EvidenceKind::ALL.into_iter().enumerate() {
                @if at > 0 { ", " }
                (evidence_mark(kind)) " " (kind.name())
            }
            ". Measured: on hardware, by this project. Recorded: outputs of hardware that others recorded. Literature: papers and \
             their programs."
        }
    }
}

fn generations(site: &Site) -> Markup {
    let rows = html! {
        @for (number, generation) in site.generations.iter().enumerate() {
            tr {
                th scope="row" { (generation_link("", generation)) }
                td { @if let Some(date) = generation.date { (generation.year()) ", " (date.product) } }
                td { (shown(&generation.aliases.join(", "))) }
                td.n { (site.entries.iter().filter(|entry| entry.of(number).is_some()).count()) }
            }
        }
    };
    table("Generations by their first products", &["generation", "first", "also called", "instructions"], rows)
}

fn formats(site: &Site) -> Markup {
    let rows = html! {
        @for format in &site.formats {
            tr {
                th scope="row" { (format_link("", format.name)) }
                td { (format.aliases.join(", ")) }
                td.n { (format.bits) }
                td.n { (site.entries.iter().filter(|entry| is_operand(entry, format)).count()) }
            }
        }
    };
    table("Operand formats", &["format", "other names", "bits", "instructions"], rows)
}

/// True if A or B of an instruction has a format.
pub(super) fn is_operand(entry: &Entry, format: &Format) -> bool {
    entry.instruction.a == format || entry.instruction.b == format
}

/// Instructions from which on a family has a list of its own.
const FAMILY: usize = 9;

/// The instructions by family, small families together.
fn instructions_list(site: &Site) -> Markup {
    let of = |family: &str| site.entries.iter().filter(|other| other.instruction.family() == family).count();
    let mut families: Vec<(String, Vec<&Entry>)> = Vec::new();
    for entry in &site.entries {
        let family = entry.instruction.family();
        let family = if of(family) < FAMILY { "others" } else { family };
        match families.iter_mut().find(|(other, _)| other == family) {
            Some((_, list)) => list.push(entry),
            None => families.push((family.into(), vec![entry])),
        }
    }
    families.sort_by_key(|(family, _)| family == "others");
    html! {
        @for (family, entries) in families {
            details.part open[site.entries.len() < FAMILY] {
                summary { (shown(&family)) ": " (counted(entries.len() as u64, "instruction")) }
                ul.names {
                    @for entry in entries {
                        li { a href={ "instruction/" (entry.file) ".html" } { (shown(&entry.instruction.name)) } }
                    }
                }
            }
        }
    }
}

fn reading() -> Markup {
    html! {
        ul {
            li { "Bits count the whole significand: f32 has 24, so a sum of 14 bits has 13 fraction bits." }
            li { "\u{2265}: at least this many bits; the formats hold no operands that would show more." }
            li { "RNE: to nearest, ties to even. RZ: toward zero. RD, RU: down, up. RO: to odd." }
            li { "An aligned sum cuts every term at the same place, below the largest one; small terms lose their last bits or vanish." }
            li { "An emulated instruction is a sequence that the assembler makes of others; it has their arithmetic." }
            li { "A model says what the unit computes, bit for bit. Its evidence says who checked that, and how." }
        }
    }
}

/// The evidence of all models, in a sentence.
fn rests_on(site: &Site) -> String {
    let rules = || site.generations.iter().flat_map(|generation| &generation.model.rules);
    let kinds = EvidenceKind::ALL.into_iter().filter_map(|kind| {
        let count = rules().filter(|rule| rule.evidence.iter().any(|evidence| evidence.source.kind() == kind)).count();
        (count > 0).then(|| format!("{} {count}", kind.name()))
    });
    let kinds: Vec<String> = kinds.collect();
    format!(
        "The answers follow from {} with {}; rules by kind of evidence: {}. A rule can rest on several kinds.",
        counted(site.generations.len() as u64, "model"),
        counted(rules().count() as u64, "rule"),
        kinds.join(", ")
    )
}
