//! `tcnum verify`: exit status, counts and the listed mismatches.

use std::{collections::BTreeMap, process::Command, time::Duration};

use serde_json::{Value, json};
use tcnum::{inputs::record_batch, isa};
use tcnum_engine::{device, trace::Trace};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");

fn verify(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tcnum")).arg("verify").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A recording of the model of Hopper with the lowest bit of D flipped in the outputs numbered `wrong`.
fn recording(wrong: &[usize]) -> tempfile::NamedTempFile {
    recording_of(4, wrong)
}

/// Such a recording of this many tiles.
fn recording_of(count: usize, wrong: &[usize]) -> tempfile::NamedTempFile {
    let instruction = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    let tiles = record_batch(&instruction, 1, count);
    let mut model = device::open(Some(&"model:hopper".into()), Duration::from_secs(60)).unwrap();
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
fn differences_are_status_1_and_the_simplest_of_each_signature_is_listed_with_its_inputs() {
    let wrong = [5, 128 + 8 * 3 + 2, 511];
    let bad = recording(&wrong);
    let path = bad.path().to_str().unwrap();
    let (status, json, _) = verify(&[path, "--max-mismatches", "2", "--output", "json"]);
    assert_eq!(status, Some(1));
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report.pointer("/tables/verification/0/differing"), Some(&json!(3)));
    let rows = report.pointer("/tables/mismatches").unwrap().as_array().unwrap();
    let stood_for: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert!((1..=2).contains(&rows.len()) && (rows.len() as u64..=3).contains(&stood_for), "{rows:?}");
    for row in rows {
        let index = |key: &str| row[key].as_u64().unwrap() as usize;
        assert!(wrong.contains(&(index("tile") * 128 + index("row") * 8 + index("column"))), "{row}");
        assert_eq!((row["a"].as_array().unwrap().len(), row["b"].as_array().unwrap().len()), (16, 16));
        let code = |key: &str| u64::from_str_radix(row[key].as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap();
        assert_eq!(code("device_d") ^ 1, code("model_d"));
        // Of a recording that no model gives nothing can be asked again.
        assert_eq!(row["reduced"], json!(false));
    }
    assert!(report["notes"].to_string().contains("counterexamples are not reduced"), "{}", report["notes"]);
}

/// A recording of one model, compared with another: what differs is reduced between the two, and what is alike is said to be.
#[test]
fn recorded_differences_are_reduced_where_a_model_gives_every_recorded_output() {
    let good = recording_of(30, &[]);
    let folder = tempfile::tempdir().unwrap();
    let narrow = folder.path().join("narrow.toml");
    std::fs::write(&narrow, include_str!("../../models/hopper.toml").replace("bits = 25", "bits = 24")).unwrap();
    let arguments = [
        good.path().to_str().unwrap(),
        "--model",
        narrow.to_str().unwrap(),
        "--max-mismatches",
        "99",
        "--output",
        "json",
    ];
    let (status, json, errors) = verify(&arguments);
    assert_eq!((status, errors.as_str()), (Some(1), ""));
    let report: Value = serde_json::from_str(&json).unwrap();
    let rows = report.pointer("/tables/mismatches").unwrap().as_array().unwrap();
    for row in rows {
        assert!(row["reduced"] == true && row["terms"].as_u64().unwrap() <= 3, "{row}");
        assert_ne!(row["device_d"], row["model_d"]);
        assert_eq!(row["found_a"].as_array().unwrap().len(), 16);
    }
    let differing = report.pointer("/tables/verification/0/differing").unwrap().as_u64().unwrap();
    let stood_for: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert!(differing > rows.len() as u64 && stood_for == differing, "{stood_for} of {differing}: {rows:?}");
    assert!(report["notes"].to_string().contains("gives every recorded output"), "{}", report["notes"]);
}

#[test]
fn what_is_not_a_recording_is_status_2() {
    for (arguments, expected) in [
        (&["--device", "cuda:0"][..], "'cuda:0': no instruction is named"),
        (&["--device", "model:hopper"], "or files of recordings to execute again"),
        (
            &[FIXTURE, "--device", "hopper", "--device", "ampere"],
            "model:hopper and model:ampere are named, and one device executes recordings again",
        ),
        (&[FIXTURE, "--device", "volta"], "python_trace.safetensors: "),
        (&[concat!(env!("CARGO_MANIFEST_DIR"), "/docs")], "has no recording"),
        (&[], "no recording is named"),
        (&["/nowhere/file"], "trace /nowhere/file: cannot be read"),
        (&[FIXTURE, "--model", "hoper"], "'hoper'"),
        (&[FIXTURE, "--model", "cuda:x"], "'cuda:x' is not a device"),
        (&[FIXTURE, "--timeout", "0"], "--timeout"),
    ] {
        let (status, output, errors) = verify(arguments);
        assert_eq!((status, output.as_str()), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn nan_codes_are_alike_where_that_is_asked_and_the_result_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("unit.toml");
    let text = include_str!("../../models/hopper.toml").replace("\"0x7fffffff\"", "\"0x7fc12345\"");
    std::fs::write(&unit, text).unwrap();
    let unit = unit.to_str().unwrap();
    let recorded = folder.path().join("recorded.safetensors");
    let instruction = isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap();
    let tiles = record_batch(&instruction, 1, 60);
    let d = device::open(Some(&device::DeviceName::asked(unit)), Duration::from_secs(60))
        .unwrap()
        .execute(&instruction, &tiles)
        .unwrap();
    Trace::from_run(&instruction, &tiles, d, BTreeMap::new()).unwrap().write(&recorded).unwrap();
    let recorded = recorded.to_str().unwrap();
    for arguments in [
        &["--instr", &instruction.name, "--device", unit, "--cases", "20000"][..],
        &[recorded],
        &[recorded, "--device", unit],
    ] {
        let all = [arguments, &["--model", "hopper", "--output", "json"]].concat();
        let (status, json, errors) = verify(&all);
        let report: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (status, report.pointer("/tables/verification/0/any_nan")),
            (Some(1), Some(&json!(false))),
            "{errors}"
        );
        let (status, json, errors) = verify(&[&all[..], &["--any-nan"]].concat());
        let report: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (status, report.pointer("/tables/verification/0/any_nan")),
            (Some(0), Some(&json!(true))),
            "{errors}"
        );
        assert!(report["notes"].to_string().contains("(--any-nan)"), "{}", report["notes"]);
    }
}

#[test]
fn parts_of_a_run_in_which_nan_codes_are_alike_are_merged_with_each_other_only() {
    let folder = tempfile::tempdir().unwrap();
    let part = |shard: &str, more: &[&str]| {
        let out = folder.path().join(format!("{}.json", &shard[..1])).to_str().unwrap().to_string();
        let run =
            ["--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "hopper", "--cases", "200000", "--shard", shard];
        let (status, _, errors) = verify(&[&run[..], &["--output", "json", "--out", &out], more].concat());
        assert_eq!(status, Some(0), "{errors}");
        out
    };
    let merge = |parts: [&str; 2]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tcnum")).arg("merge").args(parts).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (first, second) = (part("1/2", &["--any-nan"]), part("2/2", &["--any-nan"]));
    assert_eq!(merge([&first, &second]).0, Some(0));
    let (status, errors) = merge([&first, &part("2/2", &[])]);
    assert!(status == Some(2) && errors.contains("any_nan is true in the first and false in the second"), "{errors}");
}
