//! The same request gives the same bytes: for any number of threads, on every device, and from a trace of a probe.

use std::process::Command;

use crate::program::{tcnum, validate_report};
use serde_json::{Value, json};

fn with_threads(arguments: &[&str], threads: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tcnum"))
        .args(arguments)
        .env("RAYON_NUM_THREADS", threads)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn rows(arguments: &[&str], table: &str) -> Vec<Value> {
    let run = tcnum(&[arguments, &["--output", "json"]].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    validate_report(&run.stdout)["tables"][table].as_array().expect("a table").clone()
}

/// A row without what names the device.
fn numbers(row: &Value) -> Value {
    let mut row = row.clone();
    for key in ["execution", "opcodes"] {
        row.as_object_mut().unwrap().remove(key);
    }
    row
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let probe = "probe --instr mma.m16n8k16.f32.f16.f16.f32 --op dot --op accumulate --dist normal --dist special \
                 --dist corners --samples 10000 --device model:hopper --output json";
    let chain = "chain --fmt f16 --length 3 --chains 50 --device model:hopper --output json";
    for command in [probe, chain] {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let one = with_threads(&arguments, "1");
        assert!(one == with_threads(&arguments, "7"), "{command}");
        assert!(one == with_threads(&arguments, "2"), "{command}");
    }
}

#[test]
fn another_seed_gives_other_inputs() {
    let digest = |seed: &str| {
        let arguments = ["probe", "--op", "multiply", "--samples", "100", "--device", "model:hopper", "--seed", seed];
        rows(&arguments, "profile").iter().map(|row| row["inputs_digest"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(digest("5"), digest("5"));
    assert_ne!(digest("5"), digest("6"));
}

#[test]
fn references_see_other_values_of_the_same_codes() {
    let arguments = ["probe", "--op", "accumulate", "--samples", "500", "--device", "model:hopper"];
    let rows = rows(&arguments, "profile");
    assert_eq!(rows.len(), 2);
    assert_eq!([&rows[0]["init"], &rows[1]["init"]], [&json!("low"), &json!("fp32")]);
    assert_eq!(rows[0]["inputs_digest"], rows[1]["inputs_digest"]);
    assert_eq!(rows[0]["model_agree"], rows[1]["model_agree"]);
    assert_ne!(rows[0]["mean_abs_error"], rows[1]["mean_abs_error"]);
}

#[test]
fn references_of_doubles_keep_all_their_bits() {
    let arguments =
        "probe --instr mma.m8n8k4.f64.f64.f64.f64 --op multiply --dist log-uniform --samples 400 --device model:hopper";
    let rows = rows(&arguments.split_whitespace().collect::<Vec<_>>(), "profile");
    // The values are doubles already, so that references see the same before and after rounding. (Products that
    // underflow from below are -0 there, and +0 after the other terms of the chain.)
    for key in ["exact_agree", "f32_agree", "mean_rel_error"] {
        assert_eq!(rows[0][key], rows[1][key], "{key}");
    }
    assert!(rows[0]["exact_agree"].as_u64().unwrap() > 300);
}

#[test]
fn a_trace_of_a_probe_replays_as_that_probe() {
    let folder = tempfile::tempdir().unwrap();
    let instructions = ["mma.m16n8k16.f32.bf16.bf16.f32", "wgmma.m64n8k32.f16.e4m3.e5m2", "mma.m8n8k4.f64.f64.f64.f64"];
    for instruction in instructions {
        for (op, distribution) in [("accumulate", "normal"), ("inner-product", "log-uniform"), ("dot", "corners")] {
            let file = folder.path().join("probe.safetensors").to_string_lossy().into_owned();
            let shared =
                ["--instr", instruction, "--op", op, "--dist", distribution, "--samples", "500", "--seed", "3"];
            let record = tcnum(&[&["record", "--device", "model:hopper", "--out", &file], &shared[..]].concat());
            assert_eq!(record.status, 0, "{}", record.stderr);
            let probe = |device: &str| {
                rows(&[&["probe", "--init", "low", "--device", device], &shared[..]].concat(), "profile")
            };
            let (simulated, replayed) = (probe("model:hopper"), probe(&format!("trace:{file}")));
            assert_eq!(simulated.len(), 1);
            assert_eq!(numbers(&simulated[0]), numbers(&replayed[0]), "{instruction} {op} {distribution}");
            assert_eq!(replayed[0]["execution"], json!("recorded"));
        }
    }
}

#[test]
fn a_recording_has_the_same_bytes_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let record = || {
        let file = folder.path().join("r.safetensors");
        let path = file.to_string_lossy().into_owned();
        let instr = ["record", "--device", "model:hopper", "--instr", "mma.m16n8k8.f32.tf32.tf32.f32", "--seed", "9"];
        let run = tcnum(&[&instr[..], &["--out", &path]].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        std::fs::read(&file).unwrap()
    };
    assert_eq!(record(), record());
}

#[test]
fn the_json_of_every_command_is_as_the_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (file, device) = (path("r.safetensors"), "model:hopper");
    let (half, part) = ("mma.m16n8k16.f32.f16.f16.f32", path("part.json"));
    let commands: [(&[&str], &[&str]); 15] = [
        (&["formats"], &["formats"]),
        (&["formats", "e4m3"], &[]),
        (&["convert", "--from", "f32", "--to", "e4m3", "1.5", "464", "nan"], &[]),
        (&["instructions"], &["instructions", "scalar_instructions"]),
        (&["instructions", "--device", device], &["instructions", "scalar_instructions"]),
        (&["devices"], &[]),
        (&["probe", "--device", device, "--samples", "64"], &["profile"]),
        (
            &["record", "--device", device, "--instr", "mma.m8n8k4.f64.f64.f64.f64", "--tiles", "3", "--out", &file],
            &["recordings"],
        ),
        (&["verify", &file], &["verification"]),
        (&["verify", "--device", &format!("trace:{file}"), "--model", "hopper"], &["verification"]),
        (&["verify", "--device", device, "--instr", half, "--cases", "1000"], &["verification", "regimes"]),
        (&["verify", "--device", device, "--instr", half, "--cases", "1", "--out", &part], &[]),
        (&["merge", &part], &["verification", "regimes"]),
        (&["explain", "--instr", half, "--a", "1,nan", "--b", "1,0"], &["results", "steps"]),
        (&["chain", "--device", device, "--chains", "4", "--length", "2", "--fmt", "bf16"], &[]),
    ];
    for (arguments, tables) in commands {
        let run = tcnum(&[arguments, &["--output", "json"]].concat());
        assert!(run.status <= 1, "{arguments:?}: {}", run.stderr);
        let written = arguments.contains(&part.as_str()) && arguments[0] == "verify";
        let document = validate_report(&if written { std::fs::read_to_string(&part).unwrap() } else { run.stdout });
        assert_eq!(document["command"], json!(arguments[0]), "{arguments:?}");
        let rows = document["tables"].as_object().unwrap();
        assert!(rows.values().any(|rows| !rows.as_array().unwrap().is_empty()), "{arguments:?}: no row");
        for table in tables {
            assert!(!rows[*table].as_array().unwrap().is_empty(), "{arguments:?}: '{table}' is empty");
        }
    }
}
