//! Where a search begins: the arithmetics that are known, and the common shapes.

use std::collections::HashSet;

use toml::{Table, Value};

use super::candidate::rule;
use crate::{
    arithmetic::{Model, shipped},
    format::Format,
    isa::{self, Instruction},
};

/// Products that are added before they are scaled, where there are not as many as in a block.
const SCALED: usize = 16;

/// The narrowest accumulator of integers that is looked for.
const NARROWEST: u32 = 8;

/// A rule to begin with, and where it is from.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// The rule.
    pub rule: Table,
    /// The shipped model and the instruction that has it.
    pub known: Option<(String, String)>,
}

/// The rules that shipped models have for instructions with the same formats, those of the instruction itself first; of those that
/// several models have, that of the model `own`.
pub(super) fn known(i: &Instruction, own: Option<&str>) -> Vec<Start> {
    let same = |other: &&Instruction| {
        [other.a, other.b, other.c, other.d] == [i.a, i.b, i.c, i.d]
            && other.scale == i.scale
            && other.is_sparse() == i.is_sparse()
    };
    let mut instructions: Vec<&Instruction> = isa::all().iter().filter(same).collect();
    instructions.sort_by_key(|other| (other.name != i.name, other.k != i.k));
    let mut models: Vec<Model> = shipped().filter_map(|name| Model::load(name).ok()).collect();
    models.sort_by_key(|model| Some(&model.name[..]) != own);
    let tables: Vec<Vec<Table>> = models.iter().map(rules).collect();
    let mut seen = HashSet::new();
    let mut starts = Vec::new();
    for instruction in instructions {
        for (model, tables) in models.iter().zip(&tables) {
            let Some(of) = model.rule(instruction) else { continue };
            let at = model.rules.iter().position(|other| other.instructions == of.instructions);
            let Some(table) = at.and_then(|at| tables.get(at)) else { continue };
            let mut table = table.clone();
            table.remove("instructions");
            table.remove("evidence");
            if seen.insert(table.to_string()) {
                let rule = rule(&table.to_string(), i);
                let known = Some((model.name.clone(), instruction.name.clone()));
                starts.extend(rule.map(|rule| Start { rule, known }));
            }
        }
    }
    starts
}

/// Rules of other instructions of the device, each once.
pub(super) fn begun(rules: &[Table], i: &Instruction) -> Vec<Start> {
    let mut seen = HashSet::new();
    let bare = rules.iter().cloned().map(|mut table| {
        table.retain(|key, _| !["instructions", "evidence"].contains(&key));
        table.to_string()
    });
    plain(bare.filter(|text| seen.insert(text.clone())).filter_map(|text| rule(&text, i)))
}

/// The rules of a model as tables.
fn rules(model: &Model) -> Vec<Table> {
    let file: Table = model.text().parse().unwrap_or_default();
    let rules = file.get("rule").and_then(Value::as_array).cloned().unwrap_or_default();
    rules.into_iter().filter_map(|rule| rule.as_table().cloned()).collect()
}

/// Rules of the common shapes, with these numbers of k in a group; `nan` is the code of D for NaN.
pub(super) fn shapes(i: &Instruction, nan: u64, groups: &[usize]) -> Vec<Start> {
    if i.d.is_integer() {
        return plain(integers(i, groups).iter().filter_map(|text| rule(text, i)));
    }
    let k = i.stored_k();
    let parts = [
        "",
        "parts = { period = 2, residues = [[0], [1]] }\n",
        "parts = { period = 2, residues = [[1], [0]] }\n",
        "parts = { period = 4, residues = [[0, 1], [2, 3]] }\n",
        "parts = { period = 4, residues = [[2, 3], [0, 1]] }\n",
        "parts = { period = 4, residues = [[0], [1], [2], [3]] }\n",
    ];
    let joins = ["", "c = \"last\"\n", "join = \"add\"\n", "join = \"add\"\nc = \"last\"\n"];
    let mut texts: Vec<String> = Vec::new();
    for target in targets(i.d) {
        let frame = format!("result = {target}\nnan = \"{nan:#x}\"\n");
        for group in groups {
            for part in parts.iter().filter(|part| part.is_empty() || k > 1) {
                for join in joins {
                    let shape = format!("group = {group}\n{part}{join}{frame}");
                    for kind in kinds(i, join) {
                        // What additions round to is a matter of its own.
                        let addition = format!("addition = {}\n", target.replace("RZ", "RNE"));
                        texts.push(format!("{kind}{shape}{}", if join.is_empty() { "" } else { &addition }));
                    }
                }
            }
        }
    }
    plain(texts.iter().filter_map(|text| rule(text, i)))
}

/// Sums of integers of every width, those as wide as D first: they wrap around, or saturate after every group.
fn integers(i: &Instruction, groups: &[usize]) -> Vec<String> {
    let whole = i.stored_k();
    let mut texts = Vec::new();
    for bits in (NARROWEST.min(i.d.bits)..=i.d.bits).rev() {
        let bits = if bits == i.d.bits { String::new() } else { format!("accumulator = {bits}\n") };
        texts.push(format!("step = \"integer\"\nwrap = \"wrap\"\n{bits}"));
        for group in groups.iter().chain(&[whole]) {
            let group = if *group == whole { String::new() } else { format!("group = {group}\n") };
            let text = format!("step = \"integer\"\nwrap = \"saturate\"\n{group}{bits}");
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

/// The numbers of k that a group has most often: the divisors of all, the largest first.
pub(super) fn groups(i: &Instruction) -> Vec<usize> {
    let k = i.stored_k();
    (1..=k).rev().filter(|group| k.is_multiple_of(*group)).collect()
}

fn plain(rules: impl Iterator<Item = Table>) -> Vec<Start> {
    rules.map(|rule| Start { rule, known: None }).collect()
}

/// How a group may be summed.
fn kinds(i: &Instruction, join: &str) -> Vec<String> {
    let mut kinds = plain_kinds(i, join).into_iter().map(String::from).collect::<Vec<_>>();
    // Products of a block, or of as many as hardware often has in one, that are added before they are scaled.
    let block = i.scale.map_or(0, |scale| scale.block);
    let sums = [block, SCALED].into_iter().filter(|sums| *sums > 1 && block.is_multiple_of(*sums));
    for sums in sums.take(if block == SCALED { 1 } else { 2 }) {
        let of = |kind: &str| format!("{kind}scale-sums = {sums}\n");
        kinds
            .extend(["step = \"fused\"\nalignment = { bits = 24, rounding = \"RZ\" }\n", "step = \"exact\"\n"].map(of));
    }
    kinds
}

/// The same without sums that are scaled.
fn plain_kinds(i: &Instruction, join: &str) -> Vec<&'static str> {
    let mut kinds = vec![
        "step = \"fused\"\nalignment = { bits = 24, rounding = \"RZ\" }\n",
        "step = \"fused\"\nalignment = { bits = 24, rounding = \"RZ\" }\nlate = { sum-bits = 31, c-bits = 24, rounding = \"RD\" }\n",
        "step = \"fused\"\nalignment = { bits = 24, rounding = \"RZ\" }\nlanes = { period = 2, bits = 24, rounding = \"RD\" }\n",
        "step = \"fused\"\nalignment = { bits = 24, rounding = \"RZ\" }\nlanes = { period = 2, bits = 24, rounding = \"RD\" }\nlate = { sum-bits = 31, c-bits = 24, rounding = \"RD\" }\n",
        "step = \"exact\"\n",
    ];
    if i.scale.is_none() {
        kinds.extend(["step = \"fma\"\n", "step = \"sequential\"\n", "step = \"pairwise\"\n"]);
        if !join.is_empty() {
            kinds.extend([
                "step = \"fma\"\nstart = \"product\"\n",
                "step = \"sequential\"\nstart = \"product\"\n",
                "step = \"pairwise\"\nstart = \"product\"\n",
            ]);
        }
    }
    kinds
}

/// What sums may be rounded to.
fn targets(d: &Format) -> &'static [&'static str] {
    match d.name {
        "f64" => &["{ format = \"f64\", rounding = \"RNE\" }"],
        "f16" => &[
            "{ format = \"f16\", rounding = \"RNE\" }",
            "{ format = \"f32\", rounding = \"RNE\" }",
            "{ format = \"f32\", rounding = \"RZ\" }",
        ],
        _ => &["{ format = \"f32\", rounding = \"RNE\" }", "{ format = \"f32\", rounding = \"RZ\" }"],
    }
}
