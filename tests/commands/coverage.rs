//! `tcnum coverage`: LCOV and inputs of holes; `tcnum verify` on chosen cases.

use crate::program::{tcnum, validate_report};
use serde_json::Value;

const HALF: &str = "mma.m16n8k16.f32.f16.f16.f32";

fn json(words: &[&str], status: i32) -> Value {
    let run = tcnum(&[words, &["--output", "json", "-q"]].concat());
    assert_eq!(run.status, status, "{words:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a Vec<Value> {
    report["tables"][table].as_array().unwrap_or_else(|| panic!("no {table} in {report}"))
}

#[test]
fn a_recording_of_the_inputs_of_holes_exercises_these_classes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (holes, lcov) = (path("holes.safetensors"), path("coverage.info"));
    let words = ["coverage", "--instr", HALF, "--model", "hopper", "--cases", "500", "--search", "5000", "--classes"];
    let before = json(&[&words[..], &["--holes", &holes, "--lcov", &lcov]].concat(), 0);
    let after = json(&["coverage", "--device", &format!("trace:{holes}"), "--classes", "--search", "0"], 0);
    let filled = rows(&before, "holes").iter().filter(|hole| hole["verdict"] == "filled by the input");
    let key = |row: &Value| (row["step"].to_string(), row["class"].to_string());
    let mut count = 0;
    for hole in filled {
        let class = rows(&after, "coverage_classes").iter().find(|class| key(class) == key(hole)).unwrap();
        assert!(class["cases"].as_u64().unwrap() > 0, "{hole}");
        count += 1;
    }
    assert!(count > 20, "{count}");
    // The tracefile has the counts of the table, line by line.
    let text = std::fs::read_to_string(lcov).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let data: Vec<u64> =
        lines.iter().filter_map(|line| line.strip_prefix("DA:")?.split(',').nth(1)?.parse().ok()).collect();
    let cases: Vec<u64> = rows(&before, "coverage_classes").iter().map(|row| row["cases"].as_u64().unwrap()).collect();
    assert_eq!(data, cases);
    for record in text.split("end_of_record\n").filter(|record| !record.is_empty()) {
        let number =
            |key: &str| record.lines().find_map(|line| line.strip_prefix(key)).unwrap().parse::<usize>().unwrap();
        let hits = record.lines().filter(|line| line.starts_with("DA:") && !line.ends_with(",0")).count();
        assert_eq!((number("LH:"), number("FNH:")), (hits, hits));
        assert_eq!(record.lines().filter(|line| line.starts_with("DA:")).count(), number("LF:"));
        // Fields of a function: its line, its name.
        assert!(record.lines().filter(|line| line.starts_with("FN:")).all(|line| line.split(',').count() == 2));
        assert!(record.starts_with("TN:\nSF:hopper/"));
    }
}

#[test]
fn chosen_cases_have_the_classes_and_meet_the_condition() {
    let folder = tempfile::tempdir().unwrap();
    // A model that differs in ties alone is refuted by ties.
    let other = folder.path().join("other.toml").to_string_lossy().into_owned();
    std::fs::write(&other, include_str!("../../models/hopper.toml").replace("bits = 25", "bits = 24")).unwrap();
    let words = ["verify", "--instr", HALF, "--device", "model:hopper", "--model", &other, "--cases", "200"];
    let choice = ["--regime", "tie,cancellation", "--where", "exponent(a[0]) > 10 and not c is zero"];
    let report = json(&[&words[..], &choice].concat(), 1);
    assert_eq!(rows(&report, "verification")[0]["compared"], 200);
    assert!(rows(&report, "verification")[0]["differing"].as_u64().unwrap() > 0);
    let same = json(&[&words[..5], &["--cases", "50", "--where", "isnan(c) or d < -0x1p-3"]].concat(), 0);
    assert_eq!(rows(&same, "verification")[0]["agreeing"], 50);
}

#[test]
fn wrong_requests_are_refused() {
    let verify = |condition: &str| {
        vec![
            "verify".into(),
            "--instr".into(),
            HALF.into(),
            "--device".into(),
            "hopper".into(),
            "--where".into(),
            condition.to_string(),
        ]
    };
    for (condition, said) in [
        ("exponent(a[0] > 1", "--where, character 15: there is '>', where ')' is expected"),
        ("a[16] > 1", "a place from 0 to 15"),
        ("foo > 1", "there is 'foo', where an operand"),
        ("a[0] is big", "a class (nan, infinite"),
        ("a[0] >", "character 7: the condition ends"),
        ("1 is zero", "an operand before 'is'"),
        ("c == 1 d", "'and', 'or' or the end"),
        ("é", "character 1: there is 'é'"),
        ("c == 1..2", "a number"),
        ("", "character 1: the condition ends"),
        ("c is nan and c is zero", "none of"),
    ] {
        let words = verify(condition);
        let run = tcnum(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(run.status, 2, "{condition}");
        assert!(run.stderr.contains(said), "{condition}: {}", run.stderr);
    }
    for (words, said) in [
        (&["coverage"][..], "no instruction is named"),
        (&["coverage", "--instr", "nothing"], "nothing"),
        (&["coverage", "--device", "trace:absent.safetensors"], "absent.safetensors"),
        (&["coverage", "--device", "trace:x.safetensors", "--instr", HALF], "leave it out"),
        (&["verify", "--regime", "ties", "--instr", HALF], "ties"),
        (&["verify", "--regime", "tie"], "--regime needs an instruction"),
    ] {
        let run = tcnum(words);
        assert_eq!(run.status, 2, "{words:?}");
        assert!(run.stderr.contains(said), "{words:?}: {}", run.stderr);
    }
}
