//! `tcnum verify`: exit status, counts and the listed mismatches.

use std::{collections::BTreeMap, process::Command, time::Duration};

use serde_json::{Value, json};
use tcnum::{device, inputs::record_batch, isa, trace::Trace};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");

fn verify(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tcnum")).arg("verify").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A recording of the model of Hopper with the lowest bit of D flipped in the outputs numbered `wrong`.
fn recording(wrong: &[usize]) -> tempfile::NamedTempFile {
    let instruction = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    let tiles = record_batch(&instruction, 1, 4);
    let mut model = device::open(Some("model:hopper"), Duration::from_secs(60)).unwrap();
    let mut d = model.execute(&instruction, &tiles).unwrap();
    wrong.iter().for_each(|at| d.set(*at, d.get(*at) ^ 1));
    let file = tempfile::NamedTempFile::new().unwrap();
    Trace::from_run(&instruction, &tiles, d, BTreeMap::new()).unwrap().write(file.path()).unwrap();
    file
}

#[test]
fn agreement_is_status_0_with_a_row_for_each_recording() {
    let (good, device) = (recording(&[]), format!("trace:{FIXTURE}"));
    let (status, json, errors) =
        verify(&["--device", &device, good.path().to_str().unwrap(), "--model", "hopper", "--output", "json"]);
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    let report: Value = serde_json::from_str(&json).unwrap();
    let rows = report.pointer("/tables/verification").unwrap().as_array().unwrap();
    let counts: Vec<_> = rows.iter().map(|row| json!([row["compared"], row["agreeing"], row["differing"]])).collect();
    assert_eq!(counts, [json!([18, 18, 0]), json!([512, 512, 0])]);
    assert_eq!(rows[1]["instruction"], "mma.m16n8k16.f32.f16.f16.f32");
}

#[test]
fn differences_are_status_1_and_the_first_are_listed_with_their_inputs() {
    let bad = recording(&[5, 128 + 8 * 3 + 2, 511]);
    let path = bad.path().to_str().unwrap();
    let (status, json, _) = verify(&[path, "--max-mismatches", "2", "--output", "json"]);
    assert_eq!(status, Some(1));
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report.pointer("/tables/verification/0/differing"), Some(&json!(3)));
    let rows = report.pointer("/tables/mismatches").unwrap().as_array().unwrap();
    let places: Vec<_> = rows.iter().map(|row| json!([row["tile"], row["row"], row["column"]])).collect();
    assert_eq!(places, [json!([0, 0, 5]), json!([1, 3, 2])]);
    let row = &rows[0];
    assert_eq!((row["a"].as_array().unwrap().len(), row["b_values"].as_array().unwrap().len()), (16, 16));
    let code = |key: &str| u64::from_str_radix(row[key].as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap();
    assert_eq!(code("recorded") ^ 1, code("computed"));
}

#[test]
fn what_is_not_a_recording_is_status_2() {
    for (arguments, expected) in [
        (&["--device", "cuda:0"][..], "record it first"),
        (
            &["--device", "model:hopper"],
            "without an instruction verify compares recordings, and 'model:hopper' is not one",
        ),
        (&[], "no recording is named"),
        (&["/nowhere/file"], "trace /nowhere/file: cannot be read"),
        (&[FIXTURE, "--model", "hoper"], "'hoper'"),
        (&[FIXTURE, "--model", "cuda:x"], "unknown device"),
        (&[FIXTURE, "--timeout", "0"], "--timeout"),
    ] {
        let (status, output, errors) = verify(arguments);
        assert_eq!((status, output.as_str()), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}
