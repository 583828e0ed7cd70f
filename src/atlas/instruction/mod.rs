//! Page of an instruction: arithmetic, features, evidence and cost, by generation.

mod arithmetic;
mod calculate;
mod differences;
mod origin;

use maud::{Markup, html};

use super::{
    Site,
    entry::{Arithmetic, Entry},
    measure::CASES,
    page::{Page, Section, format_link, quoted},
};
use crate::{
    arithmetic::EvidenceKind,
    base::{distinct::distinct, sentence::listed},
    document::shown,
    isa::Instruction,
    report::counted,
};

pub(super) use calculate::script;

/// Folder above the page.
const ROOT: &str = "../";

/// Makes the page.
pub(super) fn page(site: &Site, entry: &Entry) -> Page {
    let i = &entry.instruction;
    let mut sections = vec![
        Section::new("arithmetic", "Arithmetic", arithmetic::in_words(site, entry)),
        Section::new("picture", "Order of the sum", arithmetic::pictures(site, entry)),
        Section::new("features", "Features", arithmetic::features(site, entry)),
    ];
    if entry.arithmetics.len() > 1 {
        sections.push(Section::new("differences", "Differences", differences::section(site, entry)));
    }
    sections.push(Section::new("calculator", "Calculator", calculate::section(entry)));
    sections.push(Section::new("rule", "Rule and program", arithmetic::rules(site, entry)));
    sections.push(Section::new("evidence", "Evidence", origin::evidence(site, entry)));
    sections.push(Section::new("where", "Native and emulated", origin::support(site, entry)));
    sections.extend(origin::cost(entry).map(|cost| Section::new("cost", "Cost", cost)));
    sections.push(Section::new("related", "Related instructions", related(site, entry)));
    Page {
        path: format!("instruction/{}.html", entry.file),
        title: i.name.clone(),
        lead: lead(entry),
        sections,
        rests_on: rests_on(site, entry),
        commands: commands(site, entry),
    }
}

/// The operation, and the vendor's spelling.
fn lead(entry: &Entry) -> Markup {
    let i = &entry.instruction;
    html! {
        p.lead {
            "D = A B + C: D and C have " (i.m) " x " (i.n) " elements (D " (format_link(ROOT, i.d.name)) ", C " (format_link(ROOT, i.c.name))
            "), A has " (i.m) " x " (i.k) " (" (format_link(ROOT, i.a.name)) "), B has " (i.k) " x " (i.n) " (" (format_link(ROOT, i.b.name)) ")."
            @if let Some(chunk) = i.chunk() { " A is sparse: " (chunk.kept) " of " (chunk.length) " consecutive elements are stored." }
            @if let Some(scale) = i.scale { " A scale (" (format_link(ROOT, scale.format.name)) ") belongs to each " (scale.block) " elements along k." }
            @if i.xor { " Each term is the exclusive or of two bits, not their product." }
        }
        @if i.ptx != i.name { p.spelling { "Vendor's spelling: " code { (shown(&i.ptx)) } } }
    }
}

/// The generations of an arithmetic, with links.
fn generation_links(site: &Site, arithmetic: &Arithmetic) -> Markup {
    html! {
        @for (at, number) in arithmetic.generations.iter().enumerate() {
            @if at > 0 { ", " }
            (super::page::generation_link(ROOT, &site.generations[*number]))
        }
    }
}

/// The generations of an arithmetic in words.
fn generation_names(site: &Site, arithmetic: &Arithmetic) -> String {
    let names: Vec<String> =
        arithmetic.generations.iter().map(|number| site.generations[*number].title().to_string()).collect();
    listed(&distinct(names))
}

/// Instructions with the same operand formats.
fn related(site: &Site, entry: &Entry) -> Markup {
    let operands = |i: &Instruction| [i.a, i.b, i.d].map(|format| format.name);
    let same = |other: &&Entry| {
        operands(&other.instruction) == operands(&entry.instruction) && other.instruction.name != entry.instruction.name
    };
    let all: Vec<&Entry> = site.entries.iter().filter(same).collect();
    html! {
        @if all.is_empty() { p { "The atlas has no other instruction with these operand formats." } }
        @else {
            p { (counted(all.len() as u64, "instruction")) " with the same formats of A, B and D:" }
            ul.names {
                @for other in all {
                    li { a href={ (other.file) ".html" } { (shown(&other.instruction.name)) } }
                }
            }
        }
    }
}

/// The evidence of the rules of an instruction, in a sentence.
fn rests_on(site: &Site, entry: &Entry) -> String {
    let mut kinds: Vec<(EvidenceKind, Vec<String>)> = Vec::new();
    for arithmetic in &entry.arithmetics {
        for number in &arithmetic.generations {
            let generation = &site.generations[*number];
            let Some(kind) = entry.weakest(&generation.model, arithmetic, |_| true) else { continue };
            let name = generation.title().to_string();
            match kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, names)) => names.push(name),
                None => kinds.push((kind, vec![name])),
            }
        }
    }
    kinds.sort_by_key(|(kind, _)| *kind);
    let words: Vec<String> = kinds.iter().map(|(kind, names)| format!("{} ({})", kind.name(), listed(names))).collect();
    match &words[..] {
        [] => "The answers follow from the rules of the models.".into(),
        words => format!("The answers follow from rules of models. Their weakest evidence: {}.", words.join("; ")),
    }
}

/// The commands that give the answers again.
fn commands(site: &Site, entry: &Entry) -> Vec<String> {
    let name = quoted(&entry.asked);
    let mut all = Vec::new();
    for arithmetic in &entry.arithmetics {
        let model = quoted(&site.generations[arithmetic.generations[0]].asked);
        all.push(format!("tcnum models {model} --instr {name}"));
        all.push(format!("tcnum features --device {model} --instr {name}"));
    }
    for difference in &entry.differences {
        let first =
            |at: usize| quoted(&site.generations[entry.arithmetics[difference.between[at]].generations[0]].asked);
        all.push(format!("tcnum distinguish {} {} --instr {name} --cases {CASES}", first(0), first(1)));
    }
    all
}
