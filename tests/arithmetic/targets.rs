//! The relation of targets and instructions: how much each target has, and how.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use tcnum::{
    arithmetic::Model,
    format::{Overflow, Rounding},
    isa::{self, Case, Support, targets},
};

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
        ["sm_70", "convert 3, native 15, split-k 9", "native 9"],
        ["sm_75", "convert 6, native 37, split-mn 6, split-mnk 6", "native 162, sequence 43"],
        ["sm_80", "convert 6, native 159, software 12, split-mn 15, split-mnk 1", "native 231, sequence 49"],
        ["sm_86", "convert 6, native 159, software 12, split-mn 15, split-mnk 1", "native 231, sequence 49"],
        ["sm_89", "convert 6, native 183, software 12, split-mn 15, split-mnk 1", "native 267, sequence 49"],
        ["sm_90a", "convert 92, native 194, software 12, split-mn 15, split-mnk 1", "native 311, sequence 49"],
        [
            "sm_100a",
            "convert 108, native 164, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 380, sequence 49, split 10",
        ],
        [
            "sm_103a",
            "convert 108, native 156, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 380, sequence 49, split 10",
        ],
        [
            "sm_120a",
            "convert 72, native 259, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 146, sequence 31",
        ],
        [
            "sm_121a",
            "convert 72, native 259, reorder 20, software 12, split-mn 20, split-mnk 11",
            "native 146, sequence 31",
        ],
        ["gfx908", "native 20", ""],
        ["gfx90a", "native 27", ""],
        ["gfx942", "native 32", ""],
        ["gfx950", "native 136", ""],
        ["gfx1100", "native 26", ""],
        ["gfx1151", "native 26", ""],
        ["gfx1201", "native 42", ""],
        ["armv8.6-a", "native 9", ""],
        ["armv9-fp8", "native 49", ""],
        ["armv9-ebf16", "native 9", ""],
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

/// The spellings of `mma` that an assembler took, with the targets.
fn assembled(file: &str) -> BTreeSet<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facts").join(file);
    let mut reader = csv::Reader::from_path(path).expect("the facts are in the repository");
    let headers = reader.headers().unwrap().clone();
    let [ptx, arch, assembles] =
        ["ptx", "arch", "assembles"].map(|name| headers.iter().position(|h| h == name).expect("a column of the facts"));
    let rows = reader.records().map(Result::unwrap);
    let assembled_rows = rows.filter(|row| row[ptx].starts_with("mma") && &row[assembles] == "yes");
    assembled_rows.map(|row| (row[ptx].to_string(), row[arch].to_string())).collect()
}

#[test]
fn targets_have_the_forms_of_mma_that_the_assemblers_took() {
    let mut assembled_forms = assembled("ptx_instructions.csv");
    let mut known: BTreeSet<String> = assembled_forms.iter().map(|(_, arch)| arch.clone()).collect();
    known.insert("sm_107a".into());
    assembled_forms.extend(assembled("ptx_instructions_13_5.csv").into_iter().filter(|(_, arch)| known.contains(arch)));
    let mut compared = 0;
    for i in isa::all().iter().filter(|i| i.ptx.starts_with("mma")) {
        for arch in &known {
            let took = assembled_forms.contains(&(i.ptx.clone(), arch.clone()));
            assert_eq!(i.support_on(arch).is_some(), took, "{i} on {arch}");
            compared += usize::from(took);
        }
    }
    assert!(compared > 1500, "{compared}");
    // Of block-scaled forms the tables have all.
    for (ptx, arch) in assembled_forms.iter().filter(|(ptx, _)| ptx.contains("block_scale")) {
        assert!(isa::all().iter().any(|i| i.ptx == *ptx), "{ptx} on {arch}");
    }
}

/// D of a block-scaled case of zeros but for 1 * 1 in the first block and in the last, with these codes of scales.
fn scaled_dot(name: &str, scale_a: u64, scale_b: u64) -> f32 {
    let i = isa::find(name).unwrap();
    let evaluator = Model::load("rubin").unwrap().evaluator(&i).unwrap();
    let mut case = Case::zeros(&i);
    case.scale_a.fill(scale_a);
    case.scale_b.fill(scale_b);
    for at in [0, case.a.len() - 1] {
        let k = case.logical(&i, at);
        (case.a[at], case.b[k]) = (2, 2);
    }
    f32::from_bits(evaluator.dot(&case) as u32)
}

#[test]
fn ue5m3_scales_enter_with_their_whole_range_and_significand() {
    let ue5m3 = tcnum::format::find("ue5m3").unwrap();
    let code = |value: f64| ue5m3.encode(&value.into(), Rounding::Rne, Overflow::Standard).unwrap();
    let [largest, smallest, one] = [114_688.0, 2f64.powi(-17), 1.0];
    for (name, scales) in [
        ("tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue5m3.block16", 4),
        ("tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue5m3.block32", 2),
    ] {
        let i = isa::find(name).unwrap();
        assert_eq!((Case::zeros(&i).scale_a.len(), i.scale.unwrap().format.name), (scales, "ue5m3"));
        assert!(i.support_on("sm_107a").is_some() && i.support.len() == 1, "{name}");
        for (x, y) in [(largest, largest), (smallest, smallest), (1.875, 1.625), (largest, smallest), (one, 3.75)] {
            assert_eq!(f64::from(scaled_dot(name, code(x), code(y))), 2.0 * x * y, "{name}: {x} {y}");
        }
        assert!(scaled_dot(name, 0xff, code(one)).is_nan() && scaled_dot(name, code(one), 0xff).is_nan(), "{name}");
    }
}

#[test]
fn four_ue8m0_scales_of_four_bit_operands_have_a_form_and_a_rule() {
    for (name, block, model) in [
        ("mma.m16n8k64.f32.e2m1.e2m1.f32.ue8m0.block16", 16, "blackwell-rtx"),
        ("mma.sp.m16n8k128.f32.e2m1.e2m1.f32.ordered.ue8m0.block16", 32, "blackwell-rtx"),
        ("tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue8m0.block16", 16, "blackwell"),
    ] {
        let i = isa::find(name).unwrap();
        let scale = i.scale.expect("a scale");
        assert_eq!((scale.format.name, scale.block), ("e8m0", block), "{name}");
        assert!(i.ptx.contains("kind::mxf4nvf4.block_scale.scale_vec::4X"), "{name}");
        let evaluator = Model::load(model).unwrap().evaluator(&i).unwrap();
        // 1 * 1 in the first block, whose scale of A is 4, and in the last, whose scale of B is 1/2.
        let mut case = Case::zeros(&i);
        case.scale_a.fill(127);
        case.scale_b.fill(127);
        for at in [0, case.a.len() - 1] {
            let k = case.logical(&i, at);
            (case.a[at], case.b[k]) = (2, 2);
        }
        let last = case.scale_b.len() - 1;
        (case.scale_a[0], case.scale_b[last]) = (129, 126);
        assert_eq!(f32::from_bits(evaluator.dot(&case) as u32), 4.5, "{name}");
    }
}
