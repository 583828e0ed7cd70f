//! Arm's instructions, executed by QEMU (`tests/exec/arm.c`): in every bit what the models say that were written from Arm's pseudo-code.

use std::{path::Path, process::Command, time::Duration};

use serde_json::json;
use tcnum::{
    arithmetic::Model,
    inputs::record_batch,
    isa::{self, Instruction},
};
use tcnum_engine::device::{Device, ExecDevice};

use crate::{
    machine::{aarch64_tools, amount},
    program::{tcnum, validate_report},
};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/arm.c");

/// The command that executes the program, compiled into `folder`, or `None` and a printed line.
fn program(folder: &Path) -> Option<String> {
    let [compiler, emulator] = aarch64_tools()?;
    let program = folder.join("arm").to_string_lossy().into_owned();
    let compiled = Command::new(compiler)
        .args(["-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o", &program, SOURCE])
        .status()
        .expect("the compiler starts");
    assert!(compiled.success());
    Some(format!("{emulator} -cpu max '{program}'"))
}

/// The instructions of a model's targets, by whether this emulator has them.
fn executed(command: &str, model: &str) -> (Vec<&'static Instruction>, Vec<&'static Instruction>) {
    let targets = Model::load(model).unwrap().architectures;
    let of_model = |i: &&Instruction| targets.iter().any(|target| i.support_on(target).is_some());
    isa::all().iter().filter(of_model).partition(|i| {
        let mut device = ExecDevice::new(command, Duration::from_secs(60)).unwrap();
        match device.prepare(i) {
            Ok(_) => true,
            Err(error) => {
                assert!(error.is_unavailable() && error.to_string().contains("this processor lacks FEAT_"), "{error}");
                false
            }
        }
    })
}

/// Compares each of the instructions on adversarial cases with the model that the program asks for.
fn agree(command: &str, model: &str, instructions: &[&Instruction]) {
    let cases: u64 = amount(100_000, 400_000);
    let device = format!("exec:{command}");
    let cases_asked = cases.to_string();
    let names = instructions.iter().flat_map(|i| ["--instr", i.name.as_str()]);
    let mut arguments = vec!["verify", "--device", &device, "--cases", &cases_asked, "--output", "json"];
    arguments.extend(names);
    let run = tcnum(&arguments);
    assert_eq!(run.status, 0, "{}\n{}", run.stdout, run.stderr);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["verification"].as_array().unwrap();
    assert_eq!(rows.len(), instructions.len());
    for row in rows {
        assert_eq!((&row["compared"], &row["differing"]), (&json!(cases), &json!(0)), "{row}");
        assert_eq!(row["model_name"], model, "{row}");
    }
}

#[test]
fn qemu_computes_what_the_model_says_of_every_instruction_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = program(folder.path()) else { return };
    let (has, lacks) = executed(&command, "arm");
    // The first version of a Debian with these, 12, has all of Armv8.6-A.
    let old: Vec<_> = lacks.iter().filter(|i| i.support_on("armv8.6-a").is_some()).map(|i| &i.name).collect();
    assert!(old.is_empty() && !has.is_empty(), "not executed: {old:?}");
    agree(&command, "arm", &has);
}

/// Of each kind one: a fused step with intermediate roundings, integers, and, when all is asked for, two such steps joined.
#[test]
fn what_qemu_computes_is_identified_from_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = program(folder.path()) else { return };
    let (device, model_file) = (format!("exec:{command}"), folder.path().join("found.toml"));
    let names = ["bfdot.m1n4k2.f32.bf16.bf16.f32", "usmmla.m2n2k8.s32.u8.s8.s32", "bfmmla.m2n2k4.f32.bf16.bf16.f32"];
    let names = &names[..amount(1, 3)];
    let mut arguments = vec!["identify", "--from-nothing", "--device", &device, "--output", "json", "--cases", "1e5"];
    arguments.extend(["--model-out", model_file.to_str().unwrap()]);
    arguments.extend(names.iter().flat_map(|name| ["--instr", name]));
    let run = tcnum(&arguments);
    assert_eq!(run.status, 0, "{}\n{}", run.stdout, run.stderr);
    let report = validate_report(&run.stdout);
    for (row, name) in report["tables"]["identified"].as_array().unwrap().iter().zip(names) {
        assert_eq!(
            (&row["instruction"], &row["outcome"], &row["differing"]),
            (&json!(name), &json!("identified"), &json!(0))
        );
    }
    // Against the model that was written from Arm's pseudo-code, which the search has not seen.
    let identified = Model::load(model_file.to_str().unwrap()).unwrap();
    let arm = Model::load("arm").unwrap();
    for name in names {
        let i = isa::find(name).unwrap();
        let tiles = record_batch(&i, 5, amount(5_000, 40_000));
        let [computed, expected] = [&identified, &arm].map(|model| model.evaluator(&i).unwrap().execute(&tiles));
        assert!(computed == expected, "{name}");
    }
}

#[test]
fn qemu_computes_what_the_model_says_of_extended_bfloat16() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = program(folder.path()) else { return };
    let command = format!("{command} --ebf");
    let (has, lacks) = executed(&command, "arm-ebf");
    // QEMU has FEAT_EBF16 from 9.2 on: all or nothing.
    assert!(has.is_empty() || lacks.is_empty());
    if !has.is_empty() {
        agree(&command, "arm-ebf", &has);
    }
}

#[test]
fn the_program_passes_all_checks_of_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = program(folder.path()) else { return };
    let names = ["bfmmla.m2n2k4.f32.bf16.bf16.f32", "bfdot.m1n4k2.f32.bf16.bf16.f32", "usmmla.m2n2k8.s32.u8.s8.s32"];
    let chosen = names.iter().flat_map(|name| ["--instr", name]).collect::<Vec<_>>();
    let run = tcnum(&[&["exec-check"], &chosen[..], &[&format!("exec:{command}")]].concat());
    assert_eq!(run.status, 0, "{}\n{}", run.stdout, run.stderr);
}
