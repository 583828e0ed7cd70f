//! Short names of chips and instructions.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use crate::{
    arithmetic::{Model, shipped},
    isa::{self, Instruction},
};

/// Vendors in front of the names of chips.
const VENDORS: [&str; 3] = ["NVIDIA ", "AMD ", "Intel "];

/// Formats of results that names leave out.
const USUAL: [&str; 3] = ["f32", "f64", "s32"];

/// Generations, as titles of models name them, and the models.
static GENERATIONS: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
    let titled = |name: &'static str| {
        let title = Model::load(name).ok()?.title;
        Some((title.split_once(" (").map_or(title.clone(), |(generation, _)| generation.to_string()), name))
    };
    shipped().filter_map(titled).collect()
});

/// The short name of a chip: `hopper` for `NVIDIA Hopper (model)`, `H200` for `NVIDIA H200`.
pub(super) fn chip(name: &str) -> String {
    if let Some(generation) = name.strip_suffix(" (model)") {
        return GENERATIONS.get(generation).map_or(generation.to_string(), ToString::to_string);
    }
    let plain = VENDORS.iter().find_map(|vendor| name.strip_prefix(vendor)).unwrap_or(name);
    plain.strip_prefix("model:").unwrap_or(plain).to_string()
}

/// Shortest names that distinguish the instructions of each chip.
pub(super) struct Instructions {
    /// Instructions that need more than their family: their shapes and qualifiers.
    shaped: HashSet<String>,
    /// Those that need their full names.
    full: HashSet<String>,
}

impl Instructions {
    /// Finds the instructions that need longer names.
    pub(super) fn new<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Instructions {
        let all: Vec<(&str, &str)> = all.collect();
        let alike = |name: fn(&str) -> [String; 2]| -> HashSet<String> {
            let (mut first, mut alike) = (HashMap::new(), HashSet::new());
            for (chip, instruction) in &all {
                let known = first.entry((chip, name(instruction))).or_insert(instruction);
                if known != &instruction {
                    alike.extend([known.to_string(), instruction.to_string()]);
                }
            }
            alike
        };
        Instructions { shaped: alike(short), full: alike(shaped) }
    }

    /// The operands, and the unit.
    pub(super) fn words(&self, name: &str) -> [String; 2] {
        match () {
            () if self.full.contains(name) => [short(name)[0].clone(), name.to_string()],
            () if self.shaped.contains(name) => shaped(name),
            () => short(name),
        }
    }
}

/// The operands and the family of an instruction: `e4m3 * e5m2`, `wgmma -> f16`.
pub(super) fn short(name: &str) -> [String; 2] {
    named(name, |i| i.family().to_string())
}

/// The operands, and the name without formats: `e4m3`, `wgmma.m64n8k32.rs -> f16`.
fn shaped(name: &str) -> [String; 2] {
    named(name, |i| {
        let formats = [&i.a, &i.b, &i.c, &i.d].map(|format| format.name);
        i.name.split('.').filter(|part| !formats.contains(part)).collect::<Vec<_>>().join(".")
    })
}

fn named(name: &str, unit: impl Fn(&Instruction) -> String) -> [String; 2] {
    let Some(i) = isa::known(name) else { return [String::new(), name.to_string()] };
    let operands = if i.a.name == i.b.name { i.a.name.to_string() } else { format!("{} * {}", i.a.name, i.b.name) };
    let scale = i.scale.map_or(String::new(), |scale| format!(", {} for {}", scale.format.name, scale.block));
    let result = if USUAL.contains(&i.d.name) { String::new() } else { format!(" -> {}", i.d.name) };
    let other = if i.c.name == i.d.name { String::new() } else { format!(" (c in {})", i.c.name) };
    [operands + &scale, unit(&i) + &result + &other]
}

/// The family and formats of an instruction, in one name.
pub(super) fn kind(name: &str) -> String {
    let [operands, unit] = short(name);
    if operands.is_empty() { unit } else { format!("{operands}, {unit}") }
}
