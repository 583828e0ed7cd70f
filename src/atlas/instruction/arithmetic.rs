//! The arithmetic of an instruction: in words, as pictures, by features, as rules and programs.

use maud::{Markup, PreEscaped, html};

use super::{
    super::{
        Site,
        entry::{Arithmetic, Entry, numbered},
        page::{evidence_mark, table},
        picture::{is_narrow, picture},
    },
    ROOT, generation_links, generation_names,
};
use crate::{
    catalogue,
    comparison::{Subject, operands},
    document::{self, shown},
    features::FEATURES,
    isa::Instruction,
    report::figure::inline,
    rule::Changed,
};

/// The name of an arithmetic in links.
pub(super) fn anchor(at: usize) -> String {
    format!("arithmetic-{}", at + 1)
}

/// Each arithmetic in words, with its generations.
pub(super) fn in_words(site: &Site, entry: &Entry) -> Markup {
    html! {
        @if entry.arithmetics.len() > 1 {
            p {
                (entry.generations().len()) " generations have " (entry.arithmetics.len())
                " different arithmetics; generations with equal arithmetic stand together."
            }
        }
        @for (at, arithmetic) in entry.arithmetics.iter().enumerate() {
            article.arithmetic id=(anchor(at)) {
                h3 { (generation_links(site, arithmetic)) }
                p { (operation(&entry.instruction)) " " (arithmetic.sentences()) }
            }
        }
    }
}

/// The operation of one element in a sentence.
fn operation(i: &Instruction) -> String {
    let terms = if i.xor { "exclusive ors of two bits" } else { "products" };
    let both = match i.a == i.b {
        true => format!("{} operands", i.a.name),
        false => format!("{} and {} operands", i.a.name, i.b.name),
    };
    format!("Each element of D ({}) is c plus {} {terms} of {both}.", i.d.name, i.stored_k())
}

/// The drawing of each arithmetic, all but the first folded.
pub(super) fn pictures(site: &Site, entry: &Entry) -> Markup {
    let drawing = |arithmetic: &Arithmetic| {
        let title = format!("Order of the sum of {} on {}", entry.instruction.name, generation_names(site, arithmetic));
        let scene = picture(&arithmetic.program, &shown(&title));
        html! {
            figure.tree.narrow[is_narrow(&scene)] {
                div.drawing tabindex="0" role="region" aria-label=(shown(&title)) { (PreEscaped(inline(&scene))) }
            }
        }
    };
    html! {
        p { "Terms stand on top, D at the bottom. The words on an edge are the format and the rounding of a value." }
        @for (at, arithmetic) in entry.arithmetics.iter().enumerate() {
            details.part open[at == 0] {
                summary { (shown(&generation_names(site, arithmetic))) }
                (drawing(arithmetic))
            }
        }
    }
}

/// The features of each arithmetic in columns, then inputs that show them.
pub(super) fn features(site: &Site, entry: &Entry) -> Markup {
    let mut labels = vec!["feature".to_string()];
    labels.extend(entry.arithmetics.iter().map(|arithmetic| generation_names(site, arithmetic)));
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let asked = |name: &str| {
        let has = |arithmetic: &Arithmetic| {
            arithmetic
                .features
                .as_ref()
                .is_ok_and(|features| features.cells.iter().any(|cell| cell.feature.name == name))
        };
        entry.arithmetics.iter().any(has)
    };
    let rows = html! {
        @for feature in FEATURES.iter().filter(|feature| asked(feature.name)) {
            tr {
                th scope="row" { (feature.name) span.note { (feature.asks) } }
                @for arithmetic in &entry.arithmetics {
                    td {
                        @match arithmetic.finding(feature.name) {
                            None => "-",
                            Some(words) => {
                                (words)
                                @for kind in evidence(site, entry, arithmetic, &feature.keys()) { " " (kind) }
                            },
                        }
                    }
                }
            }
        }
    };
    let is_bounded =
        |arithmetic: &Arithmetic| arithmetic.finding("floor").is_some_and(|words| words.ends_with("or less"));
    html! {
        p { "Each feature is computed from the model, by directed inputs. A mark is the evidence for the model, one for each generation in the order of the heading; -: the formats hold no operands that show it." }
        (table("Features by generation", &labels, rows))
        @if entry.arithmetics.iter().any(is_bounded) {
            p { "Floor: \u{201c}F or less\u{201d} says what operands can show, because no product of these formats is small enough to show a lower one. \
                 The arithmetic above has the exponent of the rule (\u{201c}exponent at least\u{201d}), which may be lower." }
        }
        (super::super::index::legend())
        @for (at, arithmetic) in entry.arithmetics.iter().enumerate() {
            @match &arithmetic.features {
                Err(reason) => p { (generation_names(site, arithmetic)) ": " (shown(reason)) },
                Ok(_) => details.part {
                    summary { "Input of each feature: " (shown(&generation_names(site, arithmetic))) }
                    (witnesses(entry, arithmetic, at))
                },
            }
        }
    }
}

/// The marks of evidence of an arithmetic's generations; one where all agree.
fn evidence(site: &Site, entry: &Entry, arithmetic: &Arithmetic, keys: &[String]) -> Vec<Markup> {
    let kinds =
        arithmetic.generations.iter().filter_map(|number| entry.evidence(&site.generations[*number].model, keys));
    let mut kinds: Vec<_> = kinds.map(|(kind, _)| kind).collect();
    if kinds.iter().all(|kind| *kind == kinds[0]) {
        kinds.truncate(1);
    }
    kinds.into_iter().map(evidence_mark).collect()
}

/// For each feature of an arithmetic an input that shows it; the section of evidence has the sources.
fn witnesses(entry: &Entry, arithmetic: &Arithmetic, at: usize) -> Markup {
    let Ok(features) = &arithmetic.features else { return html! {} };
    let i = &entry.instruction;
    let rows = html! {
        @for cell in &features.cells {
            @if let Some(words) = &cell.finding {
                tr {
                    th scope="row" { (cell.feature.name) }
                    td { (words) }
                    @match &cell.witness {
                        None => { td { "-" } td { "-" } td.n { "-" } },
                        Some(witness) => {
                            td { (operands(&Subject::Matrix(i), &witness.case)) }
                            td { (i.d.hex(witness.d)) }
                            td.n { (i.d.decode(witness.d).decimal()) }
                        },
                    }
                }
            }
        }
    };
    let caption = format!("Inputs of arithmetic {}; operands that are not named are zero", at + 1);
    table(&caption, &["feature", "found", "input", "D", "value"], rows)
}

/// The rule and the program of each generation.
pub(super) fn rules(site: &Site, entry: &Entry) -> Markup {
    html! {
        @for arithmetic in &entry.arithmetics {
            details.part {
                summary { "Program: " (shown(&generation_names(site, arithmetic))) }
                @let programs = catalogue::programs(&[&arithmetic.program]);
                (document::block(&document::Block::Table(document::sheet(&programs))))
            }
            @for (text, names) in rule_texts(site, entry, arithmetic) {
                details.part {
                    summary { (shown(&names.join(", "))) }
                    pre tabindex="0" { (shown(&text)) }
                }
            }
        }
        p { "Without evidence, which stands below. The keys of rules: " code { "tcnum models --keys" } ". The model files stand on the pages of "
            a href={ (ROOT) "index.html#generations" } { "generations" } "." }
    }
}

/// The rules of an arithmetic without their evidence, each once, with their models.
fn rule_texts(site: &Site, entry: &Entry, arithmetic: &Arithmetic) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for number in &arithmetic.generations {
        let generation = &site.generations[*number];
        let Some((at, _)) = numbered(&generation.model, &entry.instruction) else { continue };
        let Ok(changed) = Changed::of(&generation.model, &entry.instruction) else { continue };
        let mut table = changed.rule.table();
        ["instructions", "evidence"].into_iter().for_each(|key| drop(table.remove(key)));
        let text = format!("[[rule]]\n{table}");
        let name = format!("Rule {at} of {}, version {}", generation.name(), generation.model.version);
        match all.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => all.push((text, vec![name])),
        }
    }
    all
}
