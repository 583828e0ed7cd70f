//! `tcnum probe scalar`, without a GPU: selection, parts of a sweep, digests that do not depend on how a sweep
//! is cut, wrong requests.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn tcnum(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
    command.args(line.split_whitespace()).stdin(Stdio::null()).output().expect("tcnum starts")
}

fn report(line: &str) -> Value {
    let output = tcnum(&format!("{line} --device model:hopper --output json"));
    assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn sweeps(line: &str) -> Vec<Value> {
    report(line)["tables"]["sweeps"].as_array().expect("an array of rows").clone()
}

#[test]
fn conversions_of_a_format_are_swept_and_the_report_says_that_no_hardware_ran() {
    let report = report("probe scalar --op convert --fmt e4m3 --cases 1000");
    assert!(report["invocation"].as_str().unwrap().starts_with("tcnum probe scalar --op convert"), "{report}");
    let rows = report["tables"]["sweeps"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["ptx"].as_str().unwrap()).collect();
    for name in ["cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.relu.e4m3x2.f16x2", "cvt.rn.f16x2.e4m3x2"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for row in rows {
        assert!(row["source"] == "e4m3" || row["result"] == "e4m3", "{row}");
        assert_eq!((row["inputs"].as_u64(), row["differing"].as_u64()), (Some(1 << 16), Some(0)), "{row}");
        assert_eq!((row["compared"].as_u64(), row["execution"].as_str()), (Some(1 << 17), Some("simulated")), "{row}");
    }
    assert!(report["notes"].to_string().contains("No hardware ran"), "{}", report["notes"]);
}

#[test]
fn a_spelling_selects_one_instruction_and_a_small_space_is_swept_whole() {
    let rows = sweeps("probe scalar --instr cvt.rn.f16x2.e4m3x2");
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["inputs"].as_u64(), rows[0]["compared_nan"].as_u64()), (Some(1 << 16), Some(4 * 256)));
}

#[test]
fn a_spelling_that_the_generation_of_the_model_lacks_is_refused_with_those_that_have_it() {
    let run = tcnum("probe scalar --instr cvt.rn.bf16x2.ue8m0x2 --device model:hopper");
    let message = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(2), "{message}");
    assert!(message.contains("sm_90a does not have it; these do: sm_100a (model blackwell), "), "{message}");
}

#[test]
fn every_half_operation_has_instructions() {
    for op in ["add", "sub", "mul", "fma", "min", "max", "neg", "abs", "round"] {
        for format in ["f16", "bf16"] {
            let rows = sweeps(&format!("probe scalar --op {op} --fmt {format} --cases 1"));
            assert!(rows.iter().all(|row| row["op"] == op && row["differing"] == 0), "{op} {format}");
            let packed = rows.iter().any(|row| row["ptx"].as_str().unwrap().ends_with("x2"));
            assert!(!rows.is_empty() && (packed || op == "round"), "{op} {format}");
        }
    }
}

#[test]
fn equal_parts_of_a_sweep_have_equal_digests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("digests.csv");
    let line = format!("probe scalar --instr fma.rn.f16x2 --cases 262144 --digests {}", path.display());
    sweeps(&line);
    let recorded = tcnum_study::probe::digests::read(&path).unwrap();
    assert_eq!((recorded.len(), recorded[0].digests().len()), (1, 4));
    let second = recorded[0].chunks().numbers().nth(1).unwrap();
    let path = folder.path().join("one.csv");
    let first = second * 65536 + 5;
    sweeps(&format!("probe scalar --instr fma.rn.f16x2 --first {first} --cases 1 --digests {}", path.display()));
    let one = tcnum_study::probe::digests::read(&path).unwrap();
    assert_eq!(one[0].digests(), recorded[0].digests()[1..2]);
    let path = folder.path().join("other.csv");
    sweeps(&format!(
        "probe scalar --instr fma.rn.f16x2 --seed 1 --first {first} --cases 1 --digests {}",
        path.display()
    ));
    assert_ne!(tcnum_study::probe::digests::read(&path).unwrap()[0].digests(), one[0].digests());
}

#[test]
fn wrong_requests_say_what_to_do() {
    for (line, part) in [
        ("probe scalar --op convert --op dot", "invalid value 'dot'"),
        ("probe scalar --op add --fmt e4m3", "no scalar instruction does add with e4m3"),
        ("probe scalar --op convert --fmt fp8e4m4", "'fp8-e4m3'"),
        ("probe --op dot --cases 5", "unexpected argument '--cases'"),
        ("probe scalar --op neg --fmt f16 --first 65536", "neg.f16 has inputs 0 to 65535; --first is 65536"),
        ("probe scalar --op add --fmt f16 --samples 5", "unexpected argument '--samples'"),
        ("probe scalar --op add --fmt f16 --digests same --out ./same", "another file to write"),
        ("probe scalar --instr cvt.rn.f16.f32 --fmt f16", "cannot be used with"),
        ("probe scalar --instr cvt.rn.f16.f32 --instr mma.m8n8k4.f64.f64.f64.f64", "mma.m8n8k4.f64.f64.f64.f64"),
        ("probe scalar --instr cvt.rn.f16.f31", "'cvt.rn.f16.f32'"),
        ("probe scalar --op convert --first 4294967296", "expected a whole number from 0 to 4294967295"),
        ("probe scalar --op convert --digests /no/such/folder/x", "there is no folder"),
        ("probe scalar --instr cvt.rs.f16x2.f32", "random bits"),
        ("probe scalar --op mul --instr add.rn.f16x2", "cannot be used with"),
        ("probe scalar", "--op <OP>"),
    ] {
        let output = tcnum(&format!("{line} --device model:hopper"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(message.contains(part), "{line}: {message}");
    }
}

#[test]
fn a_device_that_executes_no_scalar_instruction_is_refused() {
    for device in ["exec:true", "trace:/no/such/file"] {
        let output = tcnum(&format!("probe scalar --op add --fmt f16 --cases 1 --device {device}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{device}: {message}");
        assert!(message.contains("executes matrix instructions only") && message.contains("cuda:N"), "{message}");
        assert!(output.stdout.is_empty(), "{device}");
    }
}
