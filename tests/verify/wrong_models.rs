//! A model that is wrong in one thing is caught soon, and its counterexamples have few terms.

use crate::{
    changed::{change, changed_model, step},
    program::{tcnum, validate_report},
};
use serde_json::Value;
use tcnum::isa;
use tcnum_engine::rule::Change;

/// Verifies the shipped model of Hopper, as a device, against one that is changed, and checks what is reported.
fn caught(name: &str, change: impl Fn(&isa::Instruction) -> Change) {
    let i = isa::find(name).unwrap();
    let change = change(&i);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (file, trace) = (path("wrong.toml"), path("counterexamples.safetensors"));
    std::fs::write(&file, changed_model(&i, &change).text()).unwrap();
    let arguments = ["verify", "--instr", name, "--device", "model:hopper", "--model", &file, "--cases", "10^6"];
    let more = ["--max-mismatches", "5", "--counterexamples", &trace, "--output", "json"];
    let run = tcnum(&[&arguments[..], &more].concat());
    assert_eq!(run.status, 1, "{name}, {change:?}: {}", run.stderr);
    let report = validate_report(&run.stdout);
    let row = &report["tables"]["verification"][0];
    assert!(row["differing"].as_u64().unwrap() >= 5, "{row}");
    let mismatches = report["tables"]["mismatches"].as_array().unwrap();
    assert!((1..=5).contains(&mismatches.len()), "{mismatches:?}");
    let simplest = mismatches.iter().map(|mismatch| mismatch["terms"].as_u64().unwrap()).min();
    assert!(simplest <= Some(3), "{name}, {change:?}: {mismatches:?}");
    for mismatch in mismatches {
        assert_eq!(mismatch["reduced"], true);
        assert_ne!(mismatch["device_d"], mismatch["model_d"]);
        // What explains the difference says the same.
        let codes = |key: &str| {
            let codes: Vec<&str> =
                mismatch[key].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
            codes.join(",")
        };
        let c = mismatch["c"].as_str().unwrap();
        let operands = ["--a", &codes("a"), "--b", &codes("b"), "--c", c].map(str::to_string);
        let mut arguments = vec!["explain", "--instr", name, "--against", &file, "--output", "json"];
        arguments.extend(operands.iter().map(String::as_str));
        let explained = tcnum(&arguments);
        assert_eq!(explained.status, 1, "{}", explained.stderr);
        let explained = validate_report(&explained.stdout);
        let results: Vec<&Value> =
            explained["tables"]["results"].as_array().unwrap().iter().map(|row| &row["d"]).collect();
        assert_eq!(results, [&mismatch["device_d"], &mismatch["model_d"]]);
    }
    let steps = report["tables"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["number"] == 1 && step["same"] == false));
    // The trace of the counterexamples: the device's outputs, which the wrong model contradicts in these places at least.
    let replayed = tcnum(&["verify", &trace, "--model", &file, "--output", "json"]);
    assert_eq!(replayed.status, 1, "{}", replayed.stderr);
    let row = validate_report(&replayed.stdout)["tables"]["verification"][0].clone();
    assert!(row["tiles"] == mismatches.len() && row["differing"].as_u64() >= row["tiles"].as_u64(), "{row}");
    assert_eq!(tcnum(&["verify", &trace, "--model", "hopper"]).status, 0);
}

const HALF: &str = "mma.m16n8k16.f32.f16.f16.f32";
const BRAIN: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const TENSOR: &str = "mma.m16n8k8.f32.tf32.tf32.f32";
const EIGHT: &str = "wgmma.m64n8k32.f32.e4m3.e4m3";

#[test]
fn one_alignment_bit_fewer_is_caught() {
    for name in [HALF, BRAIN, TENSOR, EIGHT] {
        caught(name, |i| step(i, "alignment.bits", -1));
    }
}

#[test]
fn one_alignment_bit_more_is_caught() {
    caught(HALF, |i| step(i, "alignment.bits", 1));
}

#[test]
fn another_rounding_is_caught() {
    for name in [HALF, BRAIN] {
        caught(name, |i| change(i, "result.rounding", "RNE"));
    }
    caught(HALF, |i| change(i, "alignment.rounding", "RNE"));
    caught("mma.m16n8k16.f16.f16.f16.f16", |i| change(i, "result.rounding", "RZ"));
}

#[test]
fn an_alignment_floor_off_by_one_is_caught() {
    for by in [-1, 1] {
        caught(BRAIN, |i| step(i, "alignment.floor", by));
    }
    caught("mma.m16n8k16.f16.f16.f16.f16", |i| step(i, "alignment.floor", 1));
}

#[test]
fn a_zero_of_the_other_sign_is_caught() {
    caught(HALF, |i| change(i, "zero", "negative"));
    caught(HALF, |i| change(i, "zero", "ieee"));
}

#[test]
fn groups_of_8_for_16_are_caught() {
    for name in [HALF, BRAIN] {
        caught(name, |i| change(i, "group", "8"));
    }
}
