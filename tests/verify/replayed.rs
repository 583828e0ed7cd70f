//! Recordings and counterexamples that a device executes again: a regression suite.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tcnum_engine::trace::Trace;

use crate::{
    machine::has_python,
    program::{tcnum, validate_report},
};

const INSTRUCTION: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");
/// An independent program with the arithmetic of Hopper.
const REPAIRED: &str = concat!("exec:python3 ", env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");

/// A unit with a wrong floor, saturation and code of NaN, as a model file, and counterexamples of it, up to four to a file.
fn faulty(folder: &Path, files: &[&str]) -> (String, Vec<String>) {
    let unit = folder.join("unit.toml").to_string_lossy().into_owned();
    let text = include_str!("../../models/hopper.toml").replace("floor = -133", "floor = -132");
    let text =
        text.replace("overflow = \"infinity\"", "overflow = \"saturate\"").replace("\"0x7fffffff\"", "\"0x7fc12345\"");
    fs::write(&unit, text).unwrap();
    let mut paths = Vec::new();
    for (seed, name) in files.iter().enumerate() {
        let path = folder.join(name).to_string_lossy().into_owned();
        let seed = seed.to_string();
        let arguments = ["verify", "--instr", INSTRUCTION, "--device", &unit, "--model", "hopper", "--cases", "65536"];
        let run =
            tcnum(&[&arguments[..], &["--max-mismatches", "4", "--seed", &seed, "--counterexamples", &path]].concat());
        assert_eq!(run.status, 1, "{}", run.stderr);
        paths.push(path);
    }
    (unit, paths)
}

fn replay(arguments: &[&str], status: i32) -> Value {
    let run = tcnum(&[&["verify"], arguments, &["--output", "json"]].concat());
    assert_eq!(run.status, status, "{arguments:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

fn column<'a>(report: &'a Value, table: &str, key: &str) -> Vec<&'a Value> {
    report["tables"][table].as_array().unwrap().iter().map(|row| &row[key]).collect()
}

#[test]
fn a_repaired_unit_passes_the_counterexamples_of_the_faulty_one_and_that_one_does_not() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (unit, files) = faulty(folder.path(), &["a.safetensors"]);
    let count = Trace::read(Path::new(&files[0])).unwrap().count();
    assert!(count > 2, "{count}");
    let junit = folder.path().join("checks.xml");
    let with = |device| [&files[0], "--device", device, "--model", "hopper", "--junit", junit.to_str().unwrap()];

    let repaired = replay(&with(REPAIRED), 0);
    assert_eq!(
        repaired["answer"],
        json!(format!("{REPAIRED} gives the results of model:hopper in all {count} cases."))
    );
    assert_eq!(column(&repaired, "replayed", "verdict"), vec!["now agrees"; count]);
    assert_eq!(column(&repaired, "verification", "device"), [REPAIRED]);
    let cases = fs::read_to_string(&junit).unwrap();
    assert_eq!(cases.matches("<testcase").count(), count, "{cases}");
    for tile in 0..count {
        assert!(cases.contains(&format!("a.safetensors {INSTRUCTION} tile {tile}\"/>")), "{cases}");
    }

    let still = replay(&with(&unit), 1);
    assert_eq!(column(&still, "replayed", "verdict"), vec!["differs"; count]);
    assert!(
        still["answer"].as_str().unwrap().ends_with(&format!("differs from model:hopper in {count} of {count} cases.")),
        "{}",
        still["answer"]
    );
    for row in still["tables"]["replayed"].as_array().unwrap() {
        assert_eq!(row["device_d"], row["recorded_d"]);
        assert!(row["device_d"] != row["model_d"] && row["operands"].as_str().unwrap().contains("0x"), "{row}");
    }
    // What differs is reduced on the device itself.
    assert!(column(&still, "mismatches", "reduced").iter().all(|reduced| **reduced == json!(true)));
    let failures = fs::read_to_string(&junit).unwrap();
    assert_eq!(failures.matches("outputs differ from the model").count(), count, "{failures}");
}

#[test]
fn recordings_of_a_folder_and_parts_of_tiles_are_cases_too() {
    let folder = tempfile::tempdir().unwrap();
    let (_, files) = faulty(folder.path(), &["b.safetensors", "a.safetensors"]);
    let folder_report = replay(&[folder.path().to_str().unwrap(), "--device", "H100"], 0);
    let named: Vec<&Value> = column(&folder_report, "verification", "file");
    assert_eq!(named, [&json!(files[1]), &json!(files[0])]);
    let count = files.iter().map(|file| Trace::read(Path::new(file)).unwrap().count()).sum::<usize>();
    assert_eq!(folder_report["tables"]["replayed"].as_array().unwrap().len(), count);
    let part = replay(&[FIXTURE, "--device", "hopper"], 0);
    assert_eq!(column(&part, "verification", "compared"), [&json!(18)]);
}

#[test]
fn a_device_that_lacks_the_instruction_is_refused_and_one_that_fails_keeps_what_it_did() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_, files) = faulty(folder.path(), &["a.safetensors"]);
    let refuses = format!("{REPAIRED} --refuse");
    let run = tcnum(&["verify", &files[0], "--device", &refuses]);
    assert!(run.status == 2 && run.stdout.is_empty(), "{}", run.stdout);
    for part in ["a.safetensors: ", "does not execute mma.m16n8k16.f32.bf16.bf16.f32"] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    let dies = format!("{REPAIRED} --die-after 2");
    let report = replay(&[&files[0], "--device", &dies, "--model", "hopper"], 3);
    assert_eq!(column(&report, "replayed", "verdict"), ["now agrees"]);
    assert_eq!(column(&report, "verification", "finished"), [&json!(false)]);
}
