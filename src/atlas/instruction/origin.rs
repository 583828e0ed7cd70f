//! Origin of an instruction: its evidence, the targets that have it, and its measured cost.

use maud::{Markup, html};

use super::{
    super::{
        Site,
        entry::Entry,
        page::{generation_link, table},
    },
    ROOT,
};
use crate::{catalogue, cost, document, isa::machine_names, report::three_digits};

/// The sources of the rules.
pub(super) fn evidence(site: &Site, entry: &Entry) -> Markup {
    let models = entry.generations().into_iter().map(|number| &site.generations[number].model);
    let sheet = document::sheet(&catalogue::evidence_for(models.map(|model| (model, &entry.instruction))));
    html! {
        p { "The first source that covers a key counts; a key that no source covers is assumed." }
        (document::block(&document::Block::Table(sheet)))
    }
}

/// The targets of each generation, native or emulated.
pub(super) fn support(site: &Site, entry: &Entry) -> Markup {
    let i = &entry.instruction;
    let rows = html! {
        @for number in entry.generations() {
            @let generation = &site.generations[number];
            @let targets = document::emulations(&generation.model, i);
            @if targets.is_empty() {
                tr { th scope="row" { (generation_link(ROOT, generation)) } td { "-" } td { "not stated" } }
            }
            @for (target, emulation) in targets {
                tr {
                    th scope="row" { (generation_link(ROOT, generation)) }
                    td { (target) }
                    td { @match emulation { None => "native", Some(how) => { "emulated (" (how) ")" } } }
                }
            }
        }
    };
    let names = machine_names(&i.name);
    html! {
        (table("Targets that have the instruction", &["generation", "target", "execution"], rows))
        @if !names.is_empty() {
            p { "Machine code of NVIDIA where it is native: " @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } code { (name) } } "." }
        }
        p { "An emulated instruction is several others: convert changes the operands' format first, split computes parts, software uses no matrix unit." }
    }
}

/// The measured cost; `None` where nothing was measured.
pub(super) fn cost(entry: &Entry) -> Option<Markup> {
    let all: Vec<_> = cost::kept(&entry.instruction.name).collect();
    let number = |value: Option<f64>| value.map_or("-".into(), three_digits);
    let share = |value: Option<f64>| value.map_or("-".into(), |value| format!("{:.0} %", 100.0 * value));
    let rows = html! {
        @for cost in &all {
            tr {
                th scope="row" { (cost.device) }
                td { (cost.execution) @if !cost.machine.is_empty() { ": " code { (cost.machine) } } }
                td.n { (number(cost.latency)) }
                td.n { (number(cost.best_rate)) }
                td.n { (share(cost.share)) }
                td.n { (number(cost.tera)) }
                td { (cost.date) ", " code { (cost.source) } }
            }
        }
    };
    let labels =
        ["device", "ran", "latency (clk)", "rate (FMA/clk/SM)", "of peak", "whole device (TFLOPS)", "measured"];
    (!all.is_empty()).then(|| {
        html! {
            (table("Measured cost", &labels, rows))
            p { "To measure it on a GPU: " code { "tcnum cost --instr " (entry.instruction.name) " --device cuda:0" } "." }
        }
    })
}
