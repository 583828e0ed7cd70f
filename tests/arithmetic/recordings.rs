//! The recordings of an H200 under `tests/recordings/h200`: they say where they come from, they are what the model of Hopper
//! computes, and they are sharp enough to refute models that are wrong in one decision.

use std::path::{Path, PathBuf};

use crate::mutants::{Edit, changed, hopper};
use rayon::prelude::*;
use tcnum::{
    inputs::Corners,
    isa::{self, Case},
    trace::Trace,
};

/// Forms of the instruction table that differ in where operands come from only, and share one recording.
const SAME_ARITHMETIC: [&str; 4] = [".rs", ".row.row", ".col.row", ".col.col"];

/// Every recording.
fn recordings() -> Vec<(PathBuf, Trace)> {
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
    let recorded: Vec<String> = recordings().into_iter().map(|(_, trace)| trace.instruction.name).collect();
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
    for (_, trace) in recordings() {
        let i = &trace.instruction;
        let d = model.evaluator(i).unwrap().execute(&trace.padded(0, trace.count()));
        let differing = (0..d.len()).filter(|&at| d.get(at) != trace.d.get(at)).collect::<Vec<_>>();
        let first = differing.first().map(|&at| {
            let (tile, row, column) = (at / (i.m * i.n), at / i.n % i.m, at % i.n);
            let Case { a, b, c, .. } = trace.padded(tile, tile + 1).case(i, 0, row, column);
            format!("tile {tile}, row {row}, column {column}: {a:x?} {b:x?} {c:#x} gave {:#x}", trace.d.get(at))
        });
        assert!(differing.is_empty(), "{i}: {} of {} differ, first {first:?}", differing.len(), d.len());
    }
}

/// Edits that every recording of a rule with these keys must refute.
fn wrong(trace: &Trace) -> Vec<Edit> {
    let i = &trace.instruction;
    let model = hopper();
    let rule = model.rule(i).unwrap();
    let mut edits = Vec::new();
    if rule.alignment.is_some() {
        edits.extend([Edit::Add("alignment.bits", -1), Edit::Add("alignment.bits", 1)]);
        edits.extend(["'RNE'", "'RD'"].map(|rounding| Edit::Set("alignment.rounding", rounding)));
        // Where sums of f16 products are f32, the floor lies below all of them.
        let f16 = rule.result.is_some_and(|result| result.format.name == "f16");
        let reaches_floor = f16 && i.a.name == "f16" || matches!(i.a.name, "bf16" | "tf32");
        if reaches_floor {
            edits.extend([Edit::Add("alignment.floor", -1), Edit::Add("alignment.floor", 1)]);
        }
    }
    if let Some(result) = rule.result {
        let other = if result.rounding.name() == "RNE" { "'RZ'" } else { "'RNE'" };
        edits.push(Edit::Set("result.rounding", other));
        edits.push(Edit::Set("nan", if i.d.bits == 16 { "'0x7e00'" } else { "'0x7fc00000'" }));
        if i.d.bits == 64 {
            *edits.last_mut().unwrap() = Edit::Set("nan", "'0x7ff8000000000000'");
        }
    }
    if rule.group.is_some_and(|group| i.stored_k() >= group && rule.alignment.is_some()) {
        edits.push(Edit::Set(
            "group",
            match rule.group {
                Some(4) => "8",
                Some(32) => "16",
                _ => "4",
            },
        ));
    }
    edits.push(match rule.wrap {
        Some(_) => Edit::Set("wrap", if i.has_qualifier("satfinite") { "'wrap'" } else { "'saturate'" }),
        None if format!("{:?}", rule.c) == "Last" => Edit::Remove("c"),
        None => Edit::Set("c", "'last'"),
    });
    edits
}

#[test]
fn every_recording_refutes_models_that_are_wrong_in_one_decision() {
    let accepted = |(_, trace): &(PathBuf, Trace)| {
        let tiles = trace.padded(0, trace.count());
        let same = |edit: &Edit| changed(&trace.instruction, edit).execute(&tiles) == trace.d;
        let edits: Vec<Edit> = wrong(trace).into_iter().filter(same).collect();
        (!edits.is_empty()).then(|| format!("{}: not refuted: {edits:?}", trace.instruction))
    };
    let accepted: Vec<String> = recordings().par_iter().filter_map(accepted).collect();
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

/// The named corners are what `tests/arithmetic/corners.rs` derives by hand: with this, those answers are the chip's.
#[test]
fn every_recording_begins_with_the_named_corners() {
    recordings().par_iter().for_each(|(_, trace)| {
        let corners = Corners::of(&trace.instruction).tiles;
        let count = corners.count.min(trace.count());
        assert!(
            count == corners.count && trace.tiles(0, count) == corners,
            "{}: the recorded corners are others; record it again",
            trace.instruction
        );
    });
}
