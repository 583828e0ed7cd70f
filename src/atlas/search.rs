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
        let own = [name, kind, &format!("{kind}/{file}"), &words.join(" ")].map(shown);
        rows.push(json!(own).to_string());
    };
    for own in &site.generations {
        let words = [own.name().to_string(), own.model.title.clone()].into_iter().chain(own.aliases.iter().cloned());
        add(own.title(), "generation", &own.file, words.collect());
    }
    for format in &site.formats {
        add(format.name, "format", format.name, format.aliases.iter().map(ToString::to_string).collect());
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
    let blocks = block::formats().iter().filter(|own| {
        formats().any(|format| format == own.element.format)
            && i.scale.is_some_and(|scale| {
                // Sparse forms store a part of a block.
                scale.format == own.scale && scale.block * i.stored_k() == own.length * i.k
            })
    });
    let names = blocks.flat_map(|own| [own.name].into_iter().chain(own.aliases.iter().copied())).map(String::from);
    let aliases = formats().flat_map(|format| format.aliases.iter().map(ToString::to_string));
    formats().filter_map(width).chain(aliases).chain(names).collect()
}
