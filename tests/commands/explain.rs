//! `tcnum explain`: dropped bits, two models side by side, cases of recordings, wrong operands.

use crate::{
    machine::has_python,
    program::{tcnum, validate_report},
};
use serde_json::{Value, json};

const HALF: &str = "mma.m16n8k16.f32.f16.f16.f32";
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");

fn explain(arguments: &[&str], status: i32) -> Value {
    let run = tcnum(&[&["explain"], arguments, &["--output", "json"]].concat());
    assert_eq!(run.status, status, "{arguments:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

/// The step of this name in the first group.
fn step<'a>(report: &'a Value, name: &str) -> &'a Value {
    let steps = report["tables"]["steps"].as_array().unwrap();
    steps.iter().find(|step| step["step"] == name).unwrap_or_else(|| panic!("no step {name} in {steps:?}"))
}

#[test]
fn what_alignment_cuts_off_is_shown() {
    // 25 bits below 1 are kept: of 2^-24 + 2^-27 the second part is lost.
    let report = explain(&["--instr", HALF, "--a", "1,0x1.2p-12", "--b", "0x3c00,0x1p-12", "--c", "-0"], 0);
    let term = step(&report, "a[1]*b[1]");
    let expected = ["2^-24", "2^-27", "-24"];
    assert_eq!(["kept", "cut_off", "exponent"].map(|key| term[key].to_string().replace('"', "")), expected);
    assert_eq!(step(&report, "aligned sum")["value"].as_str().unwrap().split(" = ").last(), Some("16777217*2^-24"));
    assert_eq!(
        report["tables"]["results"],
        json!([
            { "by": "model hopper", "d": "0x3f800000", "value": "1", "exactly": "8388608*2^-23" }
        ])
    );
    // Products of zero are left out.
    assert!(report["tables"]["steps"].as_array().unwrap().iter().all(|step| step["step"] != "a[2]*b[2]"));
}

#[test]
fn two_models_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.toml").to_string_lossy().into_owned();
    let text = include_str!("../../models/hopper.toml");
    std::fs::write(&other, text.replace("bits = 25", "bits = 24")).unwrap();
    let operands = ["--instr", HALF, "--a", "1", "--b", "1", "--c", "-0x1p-25"];
    let report = explain(&[&operands[..], &["--against", &other]].concat(), 1);
    assert_eq!(report["holds"], false);
    let c = step(&report, "c");
    assert_eq!([&c["kept"], &c["second_kept"], &c["second_cut_off"]], ["-2^-25", "0", "-2^-25"]);
    assert_eq!([&c["same"], &step(&report, "a[0]*b[0]")["same"]], [false, true]);
    let answer = report["answer"].as_str().unwrap();
    assert!(answer.starts_with("Model hopper gives 0x3f7fffff (~0.99999994"), "{answer}");
    assert!(
        answer.ends_with(
            "; they differ first at c: -2.98023223876953125e-08 = -2^-25 (kept: -2^-25); \
        -2.98023223876953125e-08 = -2^-25 (kept: 0)."
        ),
        "{answer}"
    );
    let report = explain(&[&operands[..], &["--against", "hopper"]].concat(), 0);
    let answer = report["answer"].as_str().unwrap();
    assert!(answer.starts_with("Model hopper and model hopper give 0x3f7fffff ("), "{answer}");
}

#[test]
fn a_recorded_case_is_explained_and_compared_with_its_output() {
    let report = explain(&["--trace", FIXTURE, "--tile", "1", "--row", "1", "--column", "2"], 0);
    let results = report["tables"]["results"].as_array().unwrap();
    assert_eq!([&results[0]["by"], &results[1]["by"]], ["recorded", "model hopper"]);
    assert_eq!(results[0]["d"], results[1]["d"]);
}

#[test]
fn positions_say_what_stored_elements_are_multiplied_by() {
    let sparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
    let report = explain(&["--instr", sparse, "--a", "1,2", "--b", "0,8,0,16", "--positions", "1,3"], 0);
    assert_eq!(report["tables"]["results"][0]["value"], "40");
}

#[test]
fn operands_that_are_rounded_are_named() {
    let report = explain(&["--instr", HALF, "--a", "0.1,0x2e66,1", "--c", "0.5"], 0);
    let notes = report["notes"].as_array().unwrap();
    assert_eq!(notes, &[json!("0.1 is not a number of f16; 0.0999755859375 is used.")]);
}

#[test]
fn wrong_operands_are_status_2_and_say_why() {
    let sparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
    let ordered = "mma.sp.m16n8k32.f32.f16.f16.f32.ordered";
    for (arguments, expected) in [
        (&["--instr", HALF, "--a", "1", "--c", "one"][..], "'one'"),
        (&["--instr", HALF, "--a", "0x12345"], "wider than f16"),
        (&["--instr", HALF, "--b", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"], "--b has 17 values, and there is room for 16"),
        (&["--instr", HALF, "--positions", "0,1"], "is not sparse"),
        (&["--instr", HALF, "--scale-a", "1"], "has no block scales"),
        (&["--instr", sparse, "--positions", "1"], "takes 2 for each chunk of 4"),
        (&["--instr", sparse, "--positions", "1,1"], "2 different positions below 4"),
        (&["--instr", sparse, "--positions", "1,4"], "2 different positions below 4"),
        (&["--instr", ordered, "--positions", "3,1"], "2 ascending positions below 4"),
        (&["--a", "1"], "--instr"),
        (&["--instr", HALF, "--model", "hoper"], "'hoper'"),
        (&["--instr", "mma.m16n8k17", "--a", "1"], "unknown instruction"),
        (&["--trace", FIXTURE, "--tile", "99"], "--tile 99"),
        (&["--trace", FIXTURE, "--row", "5"], "--row 5"),
        (&["--trace", "/nowhere/file"], "cannot be read"),
        (&["--trace", FIXTURE, "--a", "1"], "cannot be used with"),
    ] {
        let run = tcnum(&[&["explain"], arguments].concat());
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
}

const EXACT: &str = concat!("exec:python3 ", env!("CARGO_MANIFEST_DIR"), "/examples/exec/sequential.py");

#[test]
fn the_d_of_a_device_stands_beside_the_steps_of_each_model() {
    if !has_python() {
        return;
    }
    // 1 + 2^-26 is 1, rounded once and cut off.
    let same = explain(&["--instr", HALF, "--a", "1,0x1p-13", "--b", "1,0x1p-13", "--device", EXACT], 0);
    assert_eq!(same["device"]["name"], EXACT);
    let by: Vec<&str> =
        same["tables"]["results"].as_array().unwrap().iter().map(|row| row["by"].as_str().unwrap()).collect();
    assert_eq!(by, [EXACT, "model hopper"]);
    assert!(same["notes"].to_string().contains("reports no generation"), "{}", same["notes"]);
    // The sum 1 + 3*2^-24 is rounded up by the program and toward zero by the models.
    let operands =
        ["--instr", HALF, "--a", "1,0x1.8p-12", "--b", "1,0x1p-11", "--model", "hopper", "--against", "A100"];
    let differ = explain(&[&operands[..], &["--device", EXACT]].concat(), 1);
    let d: Vec<&str> =
        differ["tables"]["results"].as_array().unwrap().iter().map(|row| row["d"].as_str().unwrap()).collect();
    assert_eq!(d, ["0x3f800002", "0x3f800001", "0x3f800001"]);
    // A case of a recording, executed again.
    let again = explain(&["--trace", FIXTURE, "--tile", "1", "--device", "hopper"], 0);
    let by: Vec<&str> =
        again["tables"]["results"].as_array().unwrap().iter().map(|row| row["by"].as_str().unwrap()).collect();
    assert_eq!(by, ["recorded", "model:hopper", "model hopper"]);
}

#[test]
fn a_device_that_lacks_the_instruction_or_fails_is_said() {
    if !has_python() {
        return;
    }
    let lacks = tcnum(&["explain", "--instr", "mma.m8n8k16.s32.s8.s8.s32", "--device", EXACT]);
    assert!(lacks.status == 2 && lacks.stderr.contains("s8, s8, s32, s32 are not implemented"), "{}", lacks.stderr);
    let fails = tcnum(&["explain", "--instr", HALF, "--device", "exec:false"]);
    assert!(fails.status == 3 && fails.stdout.is_empty() && !fails.stderr.is_empty(), "{}", fails.stderr);
}

#[test]
fn the_name_of_a_device_begins_a_sentence_as_it_is() {
    for (device, begins) in [
        ("model:ampere", "model:ampere gives 0x"),
        ("exec:python3 tests/exec/hopper.py", "exec:python3 tests/exec/hopper.py and model hopper give 0x"),
    ] {
        if device.starts_with("exec:") && !has_python() {
            continue;
        }
        let run = tcnum(&[
            "explain", "--instr", HALF, "--a", "1,-1", "--b", "1,1", "--c", "0x1p-25", "--device", device, "--model",
            "hopper",
        ]);
        assert!(run.stdout.starts_with(begins), "{} {}", run.stdout, run.stderr);
    }
}
