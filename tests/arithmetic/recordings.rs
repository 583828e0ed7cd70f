//! The recordings of an H200 under `tests/recordings/h200`: they say where they come from, they are what the model of Hopper
//! computes, and they are sharp enough to refute models that are wrong in one decision.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use crate::machine::{amount, thorough};
use rayon::prelude::*;
use tcnum::{
    arithmetic::Model,
    inputs::Corners,
    isa::{self, Case, Instruction},
};
use tcnum_engine::{
    rule::{ChangeVerdict, RefutingData, refute},
    trace::Trace,
};

/// Forms of the instruction table that differ in where operands come from only, and share one recording.
const SAME_ARITHMETIC: [&str; 4] = [".rs", ".row.row", ".col.row", ".col.col"];

fn hopper() -> Model {
    Model::load("hopper").unwrap()
}

/// Every recording, read once.
fn recordings() -> &'static [(PathBuf, Trace)] {
    static RECORDINGS: LazyLock<Vec<(PathBuf, Trace)>> = LazyLock::new(read);
    &RECORDINGS
}

fn read() -> Vec<(PathBuf, Trace)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/h200");
    let entries = std::fs::read_dir(&folder).expect("the recordings are part of the repository");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "safetensors"));
    files.sort();
    assert!(!files.is_empty(), "{} holds no recording", folder.display());
    println!("{} recordings", files.len());
    files.into_par_iter().map(|file| (file.clone(), Trace::read(&file).unwrap())).collect()
}

#[test]
fn every_recording_says_where_it_comes_from() {
    for (file, trace) in recordings() {
        let i = &trace.instruction;
        for key in ["device", "description", "driver", "source", "seed", "execution", "date", "tcnum"] {
            assert!(trace.metadata.get(key).is_some_and(|text| !text.is_empty()), "{}: no '{key}'", file.display());
        }
        assert_eq!(file.file_stem().unwrap().to_str(), Some(i.name.as_str()));
        assert!(trace.metadata["device"].starts_with("cuda:"), "{i}: {}", trace.metadata["device"]);
        assert!(trace.metadata["description"].contains("H200"), "{i}: {}", trace.metadata["description"]);
        let emulated = i.support_on("sm_90a").expect("Hopper has it").emulation.is_some();
        assert_eq!(trace.metadata["execution"], if emulated { "emulated" } else { "native" }, "{i}");
        assert!(trace.is_whole() && trace.k == i.k, "{i}");
    }
}

#[test]
fn every_executed_dense_mma_and_wgmma_of_hopper_is_recorded() {
    let recorded: Vec<String> = recordings().iter().map(|(_, trace)| trace.instruction.name.clone()).collect();
    let plain = |name: &str| SAME_ARITHMETIC.iter().fold(name.to_string(), |name, form| name.replace(form, ""));
    let dense = |i: &&isa::Instruction| matches!(i.family(), "mma" | "wgmma") && i.a.bits >= 8;
    let executed =
        isa::all().iter().filter(|i| i.missing().is_none() && i.support_on("sm_90a").is_some()).filter(dense);
    let missing: Vec<&str> =
        executed.map(|i| i.name.as_str()).filter(|name| !recorded.iter().any(|r| plain(r) == plain(name))).collect();
    assert!(missing.is_empty(), "not recorded: {missing:?}");
}

#[test]
fn every_recorded_output_is_that_of_the_model() {
    let model = hopper();
    recordings().par_iter().step_by(amount(3, 1)).for_each(|(_, trace)| {
        let i = &trace.instruction;
        let d = model.evaluator(i).unwrap().execute(&trace.padded(0, trace.count()));
        let differing = (0..d.len()).filter(|&at| d.get(at) != trace.d.get(at)).collect::<Vec<_>>();
        let first = differing.first().map(|&at| {
            let (tile, row, column) = (at / (i.m * i.n), at / i.n % i.m, at % i.n);
            let Case { a, b, c, .. } = trace.padded(tile, tile + 1).case(i, 0, row, column);
            format!("tile {tile}, row {row}, column {column}: {a:x?} {b:x?} {c:#x} gave {:#x}", trace.d.get(at))
        });
        assert!(differing.is_empty(), "{i}: {} of {} differ, first {first:?}", differing.len(), d.len());
    });
}

/// One-step changes that recordings leave open, and of which instructions they may.
///
/// The corners and the few tiles behind them do not hold the operands that would tell. `tests/arithmetic/power_stream.rs` says which of
/// these the verification stream leaves open too.
type Open = (&'static str, &'static str, fn(&Instruction) -> bool);
const OPEN: &[Open] = &[
    // No c is as large as a product where bits of it are lost that D could show.
    ("alignment.c-bits", "26", converts),
    ("alignment.c-bits", "27", converts),
    ("alignment.c-bits", "28", converts),
    ("late", "{ c-bits = 25, rounding = \"RZ\", sum-bits = 25 }", |_| true),
    ("result-subnormals", "signed-zero", converts),
    ("result.overflow", "saturate", converts),
    ("unpack", "f64", |i| i.a.name == "tf32" && i.family() == "wmma"),
    ("unpack", "bf16", emulated),
    ("unpack", "f32", emulated),
    ("unpack", "f64", emulated),
    ("unpack-c", "f32", |i| i.c.name == "f16" && i.a.name == "f16"),
    ("unpack-c", "f64", |i| i.c.name == "f16" && i.a.name == "f16"),
    ("unpack-c", "f64", |i| i.c.name == "f32" && i.a.bits == 8 && i.family().starts_with("wgmma")),
    ("zero", "ieee", |i| emulated(i) && i.d.name == "f16"),
    ("zero", "exact-positive", |i| i.d.name == "f32" && i.a.bits == 8 && i.family().starts_with("wgmma")),
    ("zero", "exact-positive", |i| emulated(i) && i.d.name == "f16"),
    ("zero", "exact-positive", |i| i.a.name == "tf32" && i.family() == "wmma"),
    // No product is small enough beside another one to be cut to nothing while all terms are negative.
    ("zero", "common", |i| i.family().starts_with("mma") && i.a.bits == 8 && !i.a.is_integer()),
    ("zero-terms", "products", |i| i.d.name == "f16"),
    ("zero-terms", "all", |i| i.d.name == "f16"),
    ("group", "16", long_mixed),
    ("group", "32", long_mixed),
    ("overflow-test", "exact", |i| !i.d.is_integer()),
];

fn converts(i: &Instruction) -> bool {
    i.c.name == "f32" && i.d.name == "f16"
}

fn emulated(i: &Instruction) -> bool {
    i.family().starts_with("mma") && i.a.bits == 8 && [i.a.name, i.b.name].contains(&"e5m2")
}

fn long_mixed(i: &Instruction) -> bool {
    i.k == 128 && i.is_sparse() && i.a != i.b
}

#[test]
fn every_recording_refutes_every_change_of_its_rule_that_is_not_known_to_stay_open() {
    let model = hopper();
    let left_open = |(_, trace): &(PathBuf, Trace)| {
        let i = trace.instruction.clone();
        let mut tested = Vec::new();
        refute(&model, &[RefutingData::recorded(&i.name, trace.clone())], &mut tested, &mut |_| ()).unwrap();
        let tested = tested.remove(0);
        assert!(
            tested.changes.iter().any(|(_, verdict)| matches!(verdict, ChangeVerdict::Refuted(_))),
            "{i}: nothing is refuted"
        );
        let survives = tested
            .changes
            .into_iter()
            .filter(|(change, verdict)| !change.ranged && *verdict == ChangeVerdict::Survives);
        let known = |key: &str, to: &str| OPEN.iter().position(|open| open.0 == key && open.1 == to && (open.2)(&i));
        let name = |key: &str, to: &str| format!("{i}: {key} = {to}");
        survives.map(|(c, _)| known(&c.key, &c.to()).ok_or(name(&c.key, &c.to()))).collect::<Vec<_>>()
    };
    let looked_at = recordings().par_iter().step_by(amount(32, 1));
    let left_open: Vec<Result<usize, String>> = looked_at.flat_map_iter(left_open).collect();
    let unknown: Vec<&str> = left_open.iter().filter_map(|open| open.as_ref().err().map(String::as_str)).collect();
    assert!(unknown.is_empty(), "not refuted:\n{}", unknown.join("\n"));
    if !thorough() {
        return;
    }
    let refuted = (0..OPEN.len()).find(|number| !left_open.contains(&Ok(*number)));
    assert_eq!(
        refuted.map(|number| (OPEN[number].0, OPEN[number].1)),
        None,
        "every recording refutes what may stay open"
    );
}

/// The named corners are what `tests/arithmetic/corners.rs` derives by hand: with this, those answers are the chip's.
#[test]
fn every_recording_begins_with_the_named_corners() {
    recordings().par_iter().step_by(amount(4, 1)).for_each(|(_, trace)| {
        let corners = Corners::of(&trace.instruction).tiles;
        let count = corners.count.min(trace.count());
        assert!(
            count == corners.count && trace.tiles(0, count) == corners,
            "{}: the recorded corners are others; record it again",
            trace.instruction
        );
    });
}
