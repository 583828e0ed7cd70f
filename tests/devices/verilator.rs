//! The unit of `examples/exec/verilator`, simulated by Verilator: in every bit what its model file says.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    machine::{Need, amount, cpp_compiler, has_tool},
    program::{tcnum, validate_report},
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/exec/verilator");
const INSTRUCTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/exec/verilator/instruction.toml");
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/exec/verilator/dot4.toml");

/// The program that simulates the unit, built in `folder`, or `None` and a printed line.
fn simulator(folder: &Path) -> Option<String> {
    if !has_tool("verilator", Need::Verilator) {
        return None;
    }
    cpp_compiler()?;
    let built = Command::new("verilator")
        .args(["-Wall", "--cc", "--exe", "--build", "-o", "dot4", "-Mdir"])
        .arg(folder)
        .args(["dot4.sv", "dot4.cpp"].map(|name| Path::new(FOLDER).join(name)))
        .output()
        .expect("Verilator starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(folder.join("dot4").to_string_lossy().into_owned())
}

/// The row of `tcnum verify` on these devices, and the exit status.
fn compared(devices: &[&str], model: &str, cases: u64) -> (Value, i32) {
    let cases = cases.to_string();
    let mut arguments = vec!["verify", "--instr", INSTRUCTION, "--model", model, "--cases", &cases];
    arguments.extend(devices.iter().flat_map(|device| ["--device", *device]));
    arguments.extend(["--timeout", "300", "--output", "json"]);
    let run = tcnum(&arguments);
    assert!(run.status < 2, "{}\n{}", run.stdout, run.stderr);
    (validate_report(&run.stdout)["tables"]["verification"][0].clone(), run.status)
}

#[test]
fn the_unit_in_verilator_is_its_model_in_every_bit() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = simulator(folder.path()) else { return };
    let checked = tcnum(&["exec-check", "--timeout", "300", "--instr", INSTRUCTION, &program]);
    assert_eq!(checked.status, 0, "{}\n{}", checked.stdout, checked.stderr);

    let device = format!("exec:'{program}'");
    let cases = amount(2000, 100_000);
    let (alone, status) = compared(&[&device], MODEL, cases);
    assert_eq!((status, &alone["compared"], &alone["differing"]), (0, &cases.into(), &0.into()), "{alone}");

    // Processes of one simulator share the run, and compare what one compares. A model with one bit less is refuted.
    let narrow = folder.path().join("narrow.toml");
    let text = fs::read_to_string(MODEL).unwrap();
    assert!(text.contains("bits = 26"));
    fs::write(&narrow, text.replace("bits = 26", "bits = 25")).unwrap();
    let of = |devices: &[&str]| {
        let (row, status) = compared(devices, narrow.to_str().unwrap(), cases);
        assert_eq!(status, 1, "{row}");
        row["differing"].as_u64().expect("a number")
    };
    let differing = of(&[&device]);
    assert!(differing > 0);
    assert_eq!(differing, of(&[&device, &device, &device]));
}
