//! The index of the search, as a script that sets a global: a page on a disk cannot fetch a file.

use serde_json::json;

use super::Site;
use crate::{
    base::distinct::distinct,
    document::shown,
    format::{Format, block},
    isa::{Instruction, machine_names},
};

/// Makes the script: for each page its name, its kind, its file, and further words that find it.
pub(super) fn script(site: &Site) -> String {
    let mut rows = Vec::new();
    let mut add = |name: &str, kind: &str, file: &str, words: Vec<String>| {
        let mut words = distinct(words);
        words.retain(|word| word != name);
        let row = [name, kind, &format!("{kind}/{file}"), &words.join(" ")].map(shown);
        rows.push(json!(row).to_string());
    };
    for generation in &site.generations {
        let words = [generation.name().to_string(), generation.model.title.clone()]
            .into_iter()
            .chain(generation.aliases.iter().cloned());
        add(generation.title(), "generation", &generation.file, words.collect());
    }
    for format in &site.formats {
        add(format.name, "format", format.name, format.aliases.iter().map(ToString::to_string).collect());
    }
    for claim in &site.claims {
        add(&claim.source, "claim", &claim.id, vec![claim.claim.clone()]);
    }
    for entry in &site.entries {
        let i = &entry.instruction;
        let machine = machine_names(&i.name).into_iter().map(String::from);
        let generations = entry.generations().into_iter().map(|number| site.generations[number].name().to_string());
        add(
            &i.name,
            "instruction",
            &entry.file,
            [i.ptx.clone()].into_iter().chain(machine).chain(generations).chain(operands(i)).collect(),
        );
    }
    format!("\"use strict\";\nwindow.tcnumIndex = [\n{}\n];\n", rows.join(",\n"))
}

/// Words for the operands of an instruction.
///
/// They are other names of their formats, `fp8` for a format of 8 bits, and block formats with the scales.
fn operands(i: &Instruction) -> Vec<String> {
    let formats = || [i.a, i.b].into_iter();
    let width = |format: &Format| (!format.is_integer() && format.bits <= 8).then(|| format!("fp{}", format.bits));
    let blocks = block::formats().iter().filter(|block| {
        formats().any(|format| format == block.element.format)
            && i.scale.is_some_and(|scale| {
                // Sparse forms store a part of a block.
                scale.format == block.scale && scale.block * i.stored_k() == block.length * i.k
            })
    });
    let names =
        blocks.flat_map(|block| [block.name].into_iter().chain(block.aliases.iter().copied())).map(String::from);
    let aliases = formats().flat_map(|format| format.aliases.iter().map(ToString::to_string));
    formats().filter_map(width).chain(aliases).chain(names).collect()
}
