//! `tcnum diff`, and the checks that commands write for continuous integration.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    machine::has_python,
    program::{Run, tcnum, validate_report},
};

const INSTRUCTION: &str = "mma.m16n8k8.f32.f16.f16.f32";

fn run(line: &str, folder: &Path) -> Run {
    let arguments: Vec<String> = line.split(' ').map(|word| word.replace("DIR", folder.to_str().unwrap())).collect();
    tcnum(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Compares two files of a folder: the exit status and the report.
fn diff(folder: &Path, first: &str, second: &str) -> (i32, Value) {
    let run = run(&format!("diff DIR/{first} DIR/{second} --output json"), folder);
    assert!(run.status < 2, "{}", run.stderr);
    (run.status, validate_report(&run.stdout))
}

/// The result of verifying a recording, and that of the same recording with one output altered.
fn recorded_and_altered(folder: &Path) {
    let recorded = run(
        &format!(
            "record --instr {INSTRUCTION} --device model:hopper --op dot --samples 1000 --out DIR/a.safetensors -q"
        ),
        folder,
    );
    assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    let mut bytes = fs::read(folder.join("a.safetensors")).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let d = header["d"]["data_offsets"][0].as_u64().unwrap() as usize;
    bytes[8 + length + d] ^= 1;
    fs::write(folder.join("b.safetensors"), bytes).unwrap();
    for (name, status) in [("a", 0), ("b", 1)] {
        let line = format!(
            "verify DIR/{name}.safetensors --model hopper --output json --out DIR/{name}.json --junit DIR/{name}.xml --sarif DIR/{name}.sarif -q"
        );
        let verified = run(&line, folder);
        assert_eq!(verified.status, status, "{}", verified.stderr);
    }
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a [Value] {
    report["tables"][table].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn a_result_is_the_same_as_itself_and_an_altered_recording_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    recorded_and_altered(folder);
    let (status, same) = diff(folder, "a.json", "a.json");
    assert!(status == 0 && same["answer"].as_str().unwrap().ends_with("are the same."), "{}", same["answer"]);
    assert!(rows(&same, "changed_cells").is_empty() && rows(&same, "origins").is_empty(), "{same}");
    assert!(rows(&same, "compared_tables").iter().all(|row| row["changed"] == 0 && row["same"] == row["first_rows"]));

    let (status, changed) = diff(folder, "a.json", "b.json");
    assert_eq!((status, &changed["holds"]), (1, &false.into()));
    let cells = rows(&changed, "changed_cells");
    let differing = cells.iter().find(|cell| cell["table"] == "verification" && cell["column"] == "differing").unwrap();
    assert_eq!(
        (&differing["row"], &differing["first"], &differing["second"]),
        (&INSTRUCTION.into(), &"0".into(), &"1".into())
    );
    assert!(cells.iter().any(|cell| cell["table"] == "result" && cell["column"] == "holds"), "{cells:?}");
    assert!(cells.iter().all(|cell| cell["column"] != "agreeing" && cell["column"] != "file"), "{cells:?}");
    let unmatched = rows(&changed, "unmatched_rows");
    assert!(unmatched.iter().any(|row| row["table"] == "mismatches" && row["only_in"] == "second"), "{unmatched:?}");
    // What names the files is where they come from.
    assert!(rows(&changed, "origins").iter().any(|row| row["what"] == "invocation"), "{changed}");
}

#[test]
fn models_differ_in_features_with_the_inputs_that_show_it_and_a_model_does_not_from_itself() {
    let between = |first: &str, second: &str| {
        let line =
            format!("diff {first} {second} --instr mma.m16n8k16.f32.bf16.bf16.f32 --cases 4096 --output json -q");
        let run = run(&line, Path::new(""));
        assert!(run.status < 2, "{}", run.stderr);
        (run.status, validate_report(&run.stdout))
    };
    let (status, report) = between("model:ampere", "model:hopper");
    assert_eq!((status, &rows(&report, "distinguished")[0]["verdict"]), (1, &"differ".into()));
    let reasons = rows(&report, "reasons");
    assert!(reasons.iter().any(|reason| !reason["operands"].as_str().unwrap_or_default().is_empty()), "{reasons:?}");
    let features = rows(&report, "compared_features");
    let (same, changed): (Vec<_>, Vec<_>) = features.iter().partition(|row| row["same"] == true);
    assert!(!same.is_empty() && !changed.is_empty(), "{features:?}");
    assert!(changed.iter().all(|row| row["first"] != row["second"]));

    let (status, report) = between("model:hopper", "model:hopper");
    assert_eq!(status, 0);
    assert!(rows(&report, "compared_features").iter().all(|row| row["same"] == true));
}

#[test]
fn instructions_of_hopper_and_blackwell_are_compared_by_name() {
    let sides = "model:hopper/wgmma.m64n16k32.f32.e4m3.e4m3 model:blackwell/tcgen05.m128n16k32.f32.e4m3.e4m3.f32";
    let run = run(&format!("diff {sides} --cases 4096 --output json -q"), Path::new(""));
    assert_eq!(run.status, 1, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let changed: Vec<&Value> = rows(&report, "compared_features").iter().filter(|row| row["same"] == false).collect();
    assert!(!changed.is_empty());
    assert_eq!(changed[0]["other_instruction"], "tcgen05.m128n16k32.f32.e4m3.e4m3.f32");
}

#[test]
fn a_file_that_is_too_large_for_a_result_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(folder.path().join("sparse.json")).unwrap();
    file.set_len(1 << 40).unwrap();
    let run = run("diff DIR/sparse.json DIR/sparse.json", folder.path());
    assert!(run.status == 2 && run.stderr.contains("has more than 1024 MiB"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    recorded_and_altered(folder);
    let text = fs::read_to_string(folder.join("a.json")).unwrap();
    fs::write(folder.join("old.json"), text.replace("\"schema\": 2", "\"schema\": 99")).unwrap();
    fs::write(folder.join("short.json"), &text[..text.len() / 2]).unwrap();
    assert_eq!(run("formats e4m3 --output json --out DIR/formats.json", folder).status, 0);
    for (line, said) in [
        ("diff DIR/a.json DIR/old.json", "its schema has version 99"),
        ("diff DIR/short.json DIR/a.json", "short.json: it is truncated"),
        ("diff DIR/a.json DIR/a.safetensors", "a.safetensors"),
        ("diff DIR/a.json DIR/none.json", "none.json"),
        ("diff DIR/a.json DIR/formats.json", "no table in common"),
        ("diff DIR/a.json model:hopper", "one is a device and one a file"),
        ("diff DIR/a.json DIR/b.json --all", "--all is for devices"),
        ("diff trace:DIR/a.safetensors model:hopper", "tcnum verify"),
        ("diff model:hopper model:nowhere", "nowhere"),
        ("diff DIR/a.json", "required"),
    ] {
        let refused = run(&format!("{line} --junit DIR/gate.xml"), folder);
        assert_eq!(refused.status, 2, "{line}: {}", refused.stderr);
        assert!(refused.stdout.is_empty() && refused.stderr.contains(said), "{line}: {}", refused.stderr);
        assert!(!folder.join("gate.xml").exists(), "{line}");
    }
    let lost = run("diff DIR/a.json DIR/b.json --junit DIR/b.json", folder);
    assert!(lost.status == 2 && lost.stderr.contains("which would be lost"), "{}", lost.stderr);
}

/// What Python's parser of XML finds in a file: its number of test cases, and of those with a failure.
fn test_cases(path: PathBuf) -> (usize, usize) {
    let program = "import sys, xml.etree.ElementTree as e\nroot = e.parse(sys.argv[1]).getroot()\n\
                   assert root.tag == 'testsuites' and root[0].tag == 'testsuite'\n\
                   print(len(root.findall('.//testcase')), len(root.findall('.//testcase/failure')), root.get('tests'), root.get('failures'))";
    let output = Command::new("python3").args(["-c", program]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", path.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let [cases, failures, tests, failed]: [usize; 4] =
        text.split_whitespace().map(|number| number.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((cases, failures), (tests, failed), "the counts of {}", path.display());
    (cases, failures)
}

#[test]
fn checks_are_written_as_junit_and_sarif() {
    let folder = tempfile::tempdir().unwrap();
    // A name that markup would take for its own.
    let folder = folder.path().join("a<&\">'b");
    fs::create_dir(&folder).unwrap();
    recorded_and_altered(&folder);
    let compared = run("diff DIR/a.json DIR/b.json --junit DIR/diff.xml --sarif DIR/diff.sarif -q", &folder);
    assert_eq!(compared.status, 1, "{}", compared.stderr);
    let line = format!(
        "diff model:ampere model:hopper --instr {INSTRUCTION} --cases 4096 --junit DIR/two.xml --sarif DIR/two.sarif -q"
    );
    let two = run(&line, &folder);
    assert_eq!(two.status, 1, "{}", two.stderr);
    if has_python() {
        assert_eq!(test_cases(folder.join("a.xml")), (1, 0));
        assert_eq!(test_cases(folder.join("b.xml")), (1, 1));
        let (cases, failures) = test_cases(folder.join("diff.xml"));
        assert!(failures >= 2 && cases >= failures, "{cases} {failures}");
        let (cases, failures) = test_cases(folder.join("two.xml"));
        assert!(failures >= 2 && cases > failures, "{cases} {failures}");
    }
    for (name, has_results) in [("a", false), ("b", true), ("diff", true), ("two", true)] {
        let text = fs::read_to_string(folder.join(format!("{name}.sarif"))).unwrap();
        let sarif: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&sarif["version"], &sarif["runs"][0]["tool"]["driver"]["name"]),
            (&"2.1.0".into(), &"tcnum".into())
        );
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert_eq!(!results.is_empty(), has_results, "{name}");
        let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        for result in results {
            let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
            assert_eq!(rule["id"], result["ruleId"]);
            assert!(result["level"] == "error" && !result["message"]["text"].as_str().unwrap().is_empty());
        }
        if name == "diff" {
            let uri = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            assert!(uri.as_str().unwrap().ends_with("/a%3C%26%22%3E%27b/b.json"), "{uri}");
        }
    }
}

#[test]
fn more_than_two_sides_are_refused() {
    let run = run("diff model:volta model:ampere --instr mma.m8n8k4.f16.f16.f16.f16 x 1000", Path::new(""));
    assert!(run.status == 2 && run.stderr.contains("4 sides are named"), "{} {}", run.status, run.stderr);
}
