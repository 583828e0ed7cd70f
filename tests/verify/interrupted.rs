//! A run on a slow device that is interrupted: what was compared until then is kept, and counts when it goes on.

use std::{fs, path::Path};

use serde_json::Value;
use tcnum::{Error, Interruption, interruptible, verbs};
use tcnum_engine::report::{View, ViewLayout, render};

use crate::{
    machine::has_python,
    program::{Run, tcnum, validate_report},
};

const HALF: &str = "mma.m16n8k8.f32.f16.f16.f32";
/// Tiles of the run: a small part of what a run may stop at.
const TILES: u64 = 40;

/// The tiles that the program was asked for, in all sessions.
fn asked(tally: &Path) -> u64 {
    let text = fs::read_to_string(tally).unwrap_or_default();
    // The last line may not be whole yet.
    text.lines().filter_map(|line| line.parse::<u64>().ok()).sum()
}

/// The report of a command as JSON, without times and the command line; with an interruption once the program was asked for so many
/// tiles.
fn report(words: &[&str], tally: &Path, until: u64) -> (Value, Option<Error>) {
    let (words, tally) = (words.iter().map(Into::into).collect(), tally.to_path_buf());
    let stop = move || (asked(&tally) >= until).then_some(Interruption::Int);
    let (report, error) = interruptible(stop, || verbs::report(words)).unwrap();
    let mut report = validate_report(&render(&report, View::Json, &ViewLayout::default()));
    report["invocation"] = Value::Null;
    for row in report["tables"]["verification"].as_array_mut().unwrap() {
        (row["seconds"], row["rate"]) = (Value::Null, Value::Null);
    }
    (report, error)
}

#[test]
fn an_interrupted_run_on_a_program_goes_on_within_a_unit_and_ends_with_the_report_of_an_undisturbed_one() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (tally, checkpoint) = (folder.path().join("tally"), folder.path().join("run.checkpoint"));
    let program = format!("exec:python3 tests/exec/hopper.py --tally {}", tally.display());
    let cases = (TILES * 128).to_string();
    let options = ["--model", "ampere", "--cases", &cases, "--max-mismatches", "2"];
    let words = [&["tcnum", "verify", "--instr", HALF, "--device", &program], &options[..]].concat();
    let (undisturbed, error) = report(&words, &tally, u64::MAX);
    assert!(error.is_none() && undisturbed["interrupted"].is_null());
    assert_eq!(undisturbed["tables"]["mismatches"].as_array().unwrap().len(), 2);

    let path = checkpoint.to_string_lossy().into_owned();
    let resumed = [&words[..], &["--checkpoint", &path]].concat();
    let state = || {
        let file: Value = serde_json::from_str(&fs::read_to_string(&checkpoint).unwrap()).unwrap();
        file["parts"][0]["state"].clone()
    };
    let mut before = 0;
    for _ in 0..3 {
        // The program is asked for a second time once its first answer counts.
        let (partial, error) = report(&resumed, &tally, asked(&tally) + 2);
        assert_eq!(error, None);
        let next = state()["next"].as_u64().unwrap();
        assert!((before + 1..TILES).contains(&next), "{before}, then {next}");
        let row = &partial["tables"]["verification"][0];
        assert_eq!((row["compared"].as_u64(), row["finished"].as_bool()), (Some(next * 128), Some(false)));
        assert_eq!(partial["interrupted"], "SIGINT");
        assert!(partial["answer"].as_str().unwrap().ends_with("so far."), "{}", partial["answer"]);
        before = next;
    }
    let (last, error) = report(&resumed, &tally, u64::MAX);
    assert_eq!((error, last), (None, undisturbed));
}

/// Runs `verify` with files of checks, and returns the run, its JUnit file and its SARIF file.
fn checked(words: &[&str]) -> (Run, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (junit, sarif) = (path("a.xml"), path("a.sarif"));
    let run = tcnum(
        &[&["verify", "--instr", HALF, "--model", "hopper", "--junit", &junit, "--sarif", &sarif], words].concat(),
    );
    let sarif = serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
    (run, fs::read_to_string(junit).unwrap(), sarif)
}

/// The message with which SARIF says that a run did not end.
fn notification(sarif: &Value) -> &str {
    let invocation = &sarif["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap()
}

#[test]
fn a_device_that_fails_is_an_error_among_the_checks_at_its_opening_and_in_the_middle_of_a_run() {
    if !has_python() {
        return;
    }
    for (fault, said, compared) in [
        ("--garbage", "answered no tile: its first line is not", None),
        ("--die-after 40", "answered 40 of ", Some("outputs of mma.m16n8k8.f32.f16.f16.f32 were compared so far")),
    ] {
        let device = format!("exec:python3 tests/exec/hopper.py {fault}");
        let (run, junit, sarif) = checked(&["--device", &device, "--cases", "1000000"]);
        assert_eq!(run.status, 3, "{}", run.stderr);
        let error = junit.lines().find(|line| line.contains("<error message=") && line.contains(said));
        assert!(error.is_some() && junit.contains("failures=\"0\""), "{junit}");
        assert_eq!(junit.contains("<error message=\"the run is not finished\""), compared.is_some(), "{junit}");
        assert!(junit.contains(compared.unwrap_or_default()), "{junit}");
        assert!(notification(&sarif).contains(said), "{sarif}");
    }
}

#[test]
fn a_run_that_the_time_limit_ends_has_status_1_and_an_error_among_the_checks() {
    if !has_python() {
        return;
    }
    let device = "exec:python3 tests/exec/hopper.py";
    let (run, junit, sarif) = checked(&["--device", device, "--cases", "1e12", "--time-limit", "1"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(
        junit.contains("<error message=\"interrupted by --time-limit\"") && junit.contains("failures=\"0\""),
        "{junit}"
    );
    assert_eq!(notification(&sarif), "interrupted by --time-limit");
}
