//! `tcnum identify` by the command line: exit statuses, budgets, devices that fail, files, recordings.

use std::{fs, path::Path};

use serde_json::Value;
use tcnum::{inputs::record_batch, isa};
use tcnum_engine::trace::Trace;

use crate::{
    machine::{amount, has_python},
    program::{Run, tcnum, validate_report},
};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings");
const INTEGERS: &str = "mma.m8n8k16.s32.s8.s8.s32";
/// Outputs of a tile that is asked of it.
const OUTPUTS: u64 = 4 * 8;
const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";

/// Runs `tcnum identify` on integers of the Python program with these options; nothing is said on standard error but errors.
fn identify(options: &str, arguments: &[&str]) -> Run {
    let device = format!("exec:python3 '{PROGRAM}' {options}");
    tcnum(&[&["identify", "--instr", INTEGERS, "--device", &device, "--output", "json", "-q"], arguments].concat())
}

fn identified(report: &Value) -> &Value {
    &report["tables"]["identified"][0]
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn what_is_found_is_a_model_that_verify_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.toml");
    let path = file.to_str().unwrap();
    for (device, instruction, from_nothing) in [
        ("model:hopper", BF16, false),
        ("model:turing", "mma.m16n8k8.f32.f16.f16.f32", false),
        ("model:hopper", "mma.m8n8k4.f64.f64.f64.f64", true),
        ("model:hopper", "mma.m16n8k32.s32.s8.u8.s32.satfinite", true),
        ("model:x86", "vpdpbusds.m1n16k4.s32.u8.s8.s32", true),
    ] {
        let chosen = ["--instr", instruction, "--device", device, "--output", "json"];
        let from = if from_nothing { &["--from-nothing"][..] } else { &[] };
        let run = tcnum(&[&["identify", "--cases", "1e5", "--model-out", path], &chosen[..], from].concat());
        assert_eq!(run.status, 0, "{instruction}: {}", run.stderr);
        let report = validate_report(&run.stdout);
        assert_eq!(
            (&identified(&report)["outcome"], &identified(&report)["misses"]),
            (&"identified".into(), &0.into())
        );
        let run = tcnum(&[&["verify", "--model", path, "--cases", "1e5"], &chosen[..]].concat());
        assert_eq!(run.status, 0, "{instruction}: {}\n{}", run.stderr, text(&file));
        assert_eq!(validate_report(&run.stdout)["tables"]["verification"][0]["differing"], 0);
    }
}

#[test]
fn a_program_that_is_no_function_of_its_operands_is_a_failure_that_names_both_answers() {
    if !has_python() {
        return;
    }
    for fault in ["chance", "above", "counter"] {
        let run = identify(&format!("--fault {fault}"), &["--cases", "1e4"]);
        assert_eq!(run.status, 3, "{fault}: {}", run.stderr);
        let said = run.stderr.trim_end();
        assert!(said.contains("is not a function of its operands: a["), "{fault}: {said}");
        assert_eq!(said.matches(" in row ").count(), 2, "{fault}: {said}");
    }
}

#[test]
fn features_of_a_unit_that_answers_a_tile_in_two_ways_are_a_failure_with_both_outputs() {
    if !has_python() {
        return;
    }
    let root = env!("CARGO_MANIFEST_DIR");
    for program in [format!("{root}/tests/exec/stochastic.py"), format!("{root}/tests/exec/hopper.py --fault counter")]
    {
        let device = format!("exec:python3 {program}");
        let run = tcnum(&["features", "--instr", "mma.m16n8k16.f32.f16.f16.f32", "--device", &device]);
        assert_eq!((run.status, run.stdout.as_str()), (3, ""), "{program}");
        let (_, operands) = run.stderr.split_once("is not a function of its operands: a[").expect(&run.stderr);
        let (_, answers) = operands.split_once(" gave 0x").expect(operands);
        let (once, again) = answers.split_once(", then 0x").expect(answers);
        assert!(once.len() == 8 && once != again.trim_end(), "{program}: {}", run.stderr);
    }
}

#[test]
fn where_nan_codes_are_alike_a_rule_with_another_nan_is_the_known_one() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("unit.toml").to_string_lossy().into_owned();
    std::fs::write(&unit, include_str!("../../models/hopper.toml").replace("\"0x7fffffff\"", "\"0x7fc12345\""))
        .unwrap();
    let chosen = ["identify", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", &unit, "--output", "json"];
    let arithmetic = |more: &[&str], table: &str, key: &str| {
        let run = tcnum(&[&chosen[..], more].concat());
        assert!(run.status <= 1, "{}", run.stderr);
        let report = validate_report(&run.stdout);
        let noted = report["notes"].to_string().contains("--any-nan");
        (report["tables"][table][0][key].as_str().map(String::from), noted, report)
    };
    assert_eq!(arithmetic(&["--quick"], "fingerprints", "arithmetic").0, None);
    let (quick, noted, _) = arithmetic(&["--quick", "--any-nan"], "fingerprints", "arithmetic");
    assert!(quick.unwrap().contains("hopper") && noted);
    let (like, noted, report) = arithmetic(&["--any-nan", "--cases", "2000"], "identified", "like");
    assert!(like.unwrap().starts_with("as ") && noted);
    let lines = report["tables"]["lines"].as_array().unwrap();
    assert!(lines.iter().all(|line| line["key"] != "nan"), "{lines:?}");
}

#[test]
fn a_rounding_that_no_rule_has_is_approximated_with_its_agreement_and_counterexamples() {
    if !has_python() {
        return;
    }
    let run = identify("--fault jammed", &["--cases", "2000"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    let row = identified(&report);
    assert_eq!(row["outcome"], "approximated");
    assert!(row["misses"].as_u64().unwrap() > 0 && row["differing"].as_u64().unwrap() > 0, "{row}");
    let mismatches = report["tables"]["mismatches"].as_array().unwrap();
    assert!(mismatches.iter().all(|row| row["reduced"] == true && row["device_d"] != row["model_d"]), "{mismatches:?}");
    // 0 + 0 is 1 there.
    assert!(mismatches.iter().any(|row| row["terms"] == 0), "{mismatches:?}");
    let answer = report["answer"].as_str().unwrap();
    assert!(
        answer.contains("misses ") && answer.contains(" asked outputs ") && answer.contains(" held-out ones."),
        "{answer}"
    );
    let kinds = ["finite_misses", "zero_misses", "infinity_misses", "nan_misses"];
    assert_eq!(kinds.iter().map(|kind| row[kind].as_u64().unwrap()).sum::<u64>(), row["misses"].as_u64().unwrap());
}

#[test]
fn what_was_learned_of_a_program_that_dies_is_written_out() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for tiles in [1, 2, 3, 10, 100, 300, 1000] {
        let (model, report) = (folder.path().join("found.toml"), folder.path().join("found.json"));
        let files = ["--model-out", model.to_str().unwrap(), "--out", report.to_str().unwrap()];
        let run = identify(&format!("--die-after {tiles}"), &files);
        assert_eq!(run.status, 3, "{tiles}: {}", run.stderr);
        assert!(run.stderr.contains("something broke"), "{tiles}: {}", run.stderr);
        let report = validate_report(&text(&report));
        let row = identified(&report);
        assert_eq!(row["outcome"], "unfinished", "{tiles}");
        // At most half of what was answered is lost; what was asked to check the device is not counted.
        let asked = row["asked"].as_u64().unwrap();
        assert!(asked > 0 && (tiles > 100 || 2 * asked / OUTPUTS >= tiles), "{tiles}: {asked} outputs");
        let notes = report["notes"].as_array().unwrap();
        assert!(notes.iter().any(|note| note.as_str().unwrap().contains("before the device failed")), "{notes:?}");
        let chosen = ["--instr", INTEGERS, "--device", "model:hopper"];
        let run = tcnum(&[&["verify", "--model", model.to_str().unwrap(), "--cases", "1000"], &chosen[..]].concat());
        assert!(run.status < 2, "{tiles}: {}\n{}", run.stderr, text(&model));
        fs::remove_file(&model).unwrap();
    }
    let run = identify("--die-after 0", &[]);
    assert_eq!((run.status, &run.stdout[..]), (3, ""), "{}", run.stderr);
}

#[test]
fn a_budget_is_kept_with_the_held_out_run_and_with_what_differs() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tally = folder.path().join("tally");
    for options in ["", "--fault jammed", "--fault above", "--fault counter"].into_iter().step_by(amount(3, 1)) {
        for budget in [4000, 1, 33, 2, 3, 4, 10, 100].into_iter().take(amount(3, 8)) {
            let options = format!("{options} --tally '{}'", tally.display());
            let run = identify(&options, &["--budget", &budget.to_string()]);
            assert!([0, 1, 3].contains(&run.status), "{options} {budget}: {}", run.stderr);
            let executed: u64 = text(&tally).lines().map(|line| line.parse::<u64>().unwrap()).sum();
            assert!(executed > 0 && executed <= budget, "{options} --budget {budget}: {executed} tiles");
            fs::remove_file(&tally).unwrap();
            if options.starts_with(" --tally") {
                let report = validate_report(&run.stdout);
                let outcome = &identified(&report)["outcome"];
                assert_eq!(run.status, 0, "{budget}: {outcome}");
                assert_eq!(outcome, if budget < 4000 { "unfinished" } else { "identified" }, "{budget}");
            }
        }
    }
}

#[test]
fn what_is_wrong_is_refused_before_the_device_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let same = folder.path().join("same");
    let same = same.to_str().unwrap();
    let missing = folder.path().join("missing/found.toml");
    let missing = missing.to_str().unwrap();
    let touched = folder.path().join("touched");
    let device = format!("exec:touch '{}'", touched.display());
    let recording = format!("{RECORDINGS}/cpu/spr_tdpbf16ps.safetensors");
    let trace = format!("trace:{recording}");
    let on_device = ["--device", &device, "--instr", BF16];
    let on_trace = ["--device", &trace];
    for (chosen, arguments, message) in [
        (&on_device[..], &["--model-out", same, "--out", same][..], "which would be lost"),
        (&on_device, &["--model-out", missing], "there is no folder"),
        (&on_device, &["--model-out", folder.path().to_str().unwrap()], "this is a folder"),
        (&on_device, &["--budget", "0"], "expected a whole number from 1"),
        (&on_device, &["--cases", "0"], "expected a whole number from 1"),
        (&on_trace, &["--model-out", &recording], "a file to read"),
        (&on_trace, &["--instr", BF16], "a recording has one instruction"),
        (&on_trace, &["--fmt", "bf16"], "a recording has one instruction"),
        (&on_trace, &["--all"], "a recording has one instruction"),
        (&on_trace, &["--budget", "10"], "a recording cannot be asked new inputs"),
        (&["--device", "trace:missing.safetensors"], &[], "missing.safetensors"),
        (&["--device", "model:volta", "--instr", BF16], &[], "does not cover"),
        (&["--device", "model:hopper", "--instr", "mma.m16n8k99.f32.bf16.bf16.f32"], &[], "unknown instruction"),
    ] {
        let run = tcnum(&[&["identify"], chosen, arguments].concat());
        assert!(run.status == 2 && run.stderr.contains(message), "{arguments:?}: {} {}", run.status, run.stderr);
        assert!(run.stdout.is_empty() && !touched.exists(), "{arguments:?}");
    }
    assert_eq!(Trace::read(Path::new(&recording)).unwrap().instruction.name, "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32");
}

#[test]
fn an_instruction_that_a_program_declines_is_a_wrong_request() {
    if !has_python() {
        return;
    }
    let run = identify("--refuse", &[]);
    assert!(run.status == 2 && run.stdout.is_empty() && run.stderr.contains("does not execute"), "{}", run.stderr);
}

#[test]
fn a_recording_leaves_a_version_space() {
    let shipped = ["cpu/spr_tdpbf16ps", "cpu/spr_vdpbf16ps", "h200/mma.m16n8k8.f32.tf32.tf32.f32"];
    let integers = ["h200/mma.m16n8k16.s32.s8.s8.s32", "h200/mma.m16n8k32.s32.u4.s4.s32.satfinite"];
    for name in shipped.iter().chain(&integers) {
        let run =
            tcnum(&["identify", "--device", &format!("trace:{RECORDINGS}/{name}.safetensors"), "--output", "json"]);
        assert_eq!(run.status, 0, "{name}: {}", run.stderr);
        let report = validate_report(&run.stdout);
        assert_eq!(identified(&report)["misses"], 0, "{name}");
        assert_eq!(identified(&report)["executions"], 0, "{name}");
        assert!(!report["tables"]["lines"].as_array().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn a_recording_of_few_outputs_leaves_much_open() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("few.safetensors");
    let device = format!("trace:{}", file.display());
    for name in
        [INTEGERS, BF16, "mma.m8n8k4.f64.f64.f64.f64", "mma.sp.m16n8k32.f32.f16.f16.f32"].iter().take(amount(3, 4))
    {
        let model = tcnum::arithmetic::Model::load("hopper").unwrap();
        let i = isa::find(name).unwrap();
        for columns in [1, 5] {
            let part = isa::Instruction { m: 1, n: columns, ..i.clone() };
            let inputs = record_batch(&part, 3, 1);
            let d = model.evaluator(&part).unwrap().execute(&inputs);
            let trace =
                Trace { m: 1, n: columns, k: i.k, inputs, d, metadata: Default::default(), instruction: i.clone() };
            trace.write(&file).unwrap();
            let run = tcnum(&["identify", "--device", &device, "--output", "json"]);
            assert_eq!(run.status, 0, "{name}, {columns}: {}", run.stderr);
            let report = validate_report(&run.stdout);
            assert_eq!(identified(&report)["asked"], columns, "{name}");
            let lines = report["tables"]["lines"].as_array().unwrap();
            let open = lines.iter().filter(|line| line["decision"] != "decided").count();
            // A sum that is too large decides all that integers leave open.
            assert!(open > 0 || *name == INTEGERS, "{name}, {columns}: {lines:?}");
        }
    }
}
