//! The relation of targets and instructions: how much each target has, and how.

use std::collections::BTreeMap;

use tcnum::isa::{self, Support, targets};

/// How many instructions a target has in each way: `native 41, convert 3`.
fn counts<'a>(target: &str, all: impl Iterator<Item = &'a [Support]>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for support in all.flat_map(|all| all.iter().filter(|support| support.architecture == target)) {
        *counts.entry(support.emulation.unwrap_or("native")).or_default() += 1;
    }
    counts.iter().map(|(how, count)| format!("{how} {count}")).collect::<Vec<_>>().join(", ")
}

/// A pattern that is too broad or too narrow shows here: adding an instruction changes the targets that have it, and no other.
#[test]
fn every_target_has_what_was_counted() {
    let expected = [
        ["sm_70", "convert 3, native 12, split-k 9", "native 9"],
        ["sm_75", "convert 6, native 32, split-mn 6, split-mnk 6", "native 162, sequence 43"],
        ["sm_80", "convert 6, native 148, software 12, split-mn 15, split-mnk 1", "native 231, sequence 49"],
        ["sm_86", "convert 6, native 148, software 12, split-mn 15, split-mnk 1", "native 231, sequence 49"],
        ["sm_89", "convert 6, native 172, software 12, split-mn 15, split-mnk 1", "native 267, sequence 49"],
        ["sm_90a", "convert 88, native 185, software 12, split-mn 15, split-mnk 1", "native 311, sequence 49"],
        [
            "sm_100a",
            "convert 100, native 160, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 380, sequence 49, split 10",
        ],
        [
            "sm_103a",
            "convert 100, native 152, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 380, sequence 49, split 10",
        ],
        [
            "sm_120a",
            "convert 64, native 254, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 146, sequence 31",
        ],
        [
            "sm_121a",
            "convert 64, native 254, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 146, sequence 31",
        ],
        ["gfx908", "native 20", ""],
        ["gfx90a", "native 27", ""],
        ["gfx942", "native 32", ""],
        ["gfx950", "native 136", ""],
    ];
    // A new generation need not be counted here.
    for [name, matrix, scalar] in expected {
        assert!(targets::find(name).is_some(), "there is no {name}");
        assert_eq!(counts(name, isa::all().iter().map(|i| i.support)), matrix, "{name}");
        assert_eq!(counts(name, isa::scalar::all().iter().map(|form| form.support)), scalar, "{name}");
    }
}

#[test]
fn a_target_has_an_instruction_in_one_way() {
    let matrix = isa::all().iter().map(|i| (&i.name, i.support));
    for (name, support) in matrix.chain(isa::scalar::all().iter().map(|form| (&form.ptx, form.support))) {
        let order: Vec<usize> = support
            .iter()
            .map(|s| targets::all().iter().position(|target| target.name == s.architecture).expect("a target"))
            .collect();
        assert!(!order.is_empty() && order.is_sorted_by(|x, y| x < y), "{name}");
    }
}
