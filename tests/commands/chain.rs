//! `tcnum chain` as a command: what it prints, writes and refuses.

use std::process::Command;

use crate::program::{Run, tcnum_with_input, validate_report};

fn chain(arguments: &[&str]) -> Run {
    tcnum_with_input(&[&["chain", "--device", "model:hopper", "-q"], arguments].concat(), b"")
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let run = chain(&[arguments, &["--output", "json"]].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    validate_report(&run.stdout)
}

fn table<'a>(report: &'a serde_json::Value, key: &str) -> &'a Vec<serde_json::Value> {
    report["tables"][key].as_array().unwrap()
}

#[test]
fn the_default_run_is_the_published_figure() {
    let report = json(&["--chains", "20"]);
    let (curves, points) = (table(&report, "curves"), table(&report, "chain"));
    assert_eq!((curves.len(), points.len()), (6, 120));
    for point in points {
        assert_eq!(point["finite"].as_u64().unwrap() + point["overflowed"].as_u64().unwrap(), 20);
    }
    let first = |instruction: &str, init: &str| {
        let is = |p: &&serde_json::Value| p["instruction"] == instruction && p["init"] == init && p["length"] == 1;
        points.iter().find(is).unwrap()["reference_error"].as_f64().unwrap()
    };
    for (format, converted) in [("bf16", 2e-3), ("f16", 2e-4), ("tf32", 2e-4)] {
        let name = format!("mma.m16n8k8.f32.{format}.{format}.f32");
        assert!(first(&name, "low") < 1e-6 && first(&name, "fp32") > converted);
    }
}

#[test]
fn a_run_is_the_same_on_any_number_of_threads() {
    let run = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
        command.args([
            "chain",
            "--device",
            "model:hopper",
            "--all",
            "--available",
            "--chains",
            "3",
            "--length",
            "4",
            "--output",
            "csv",
        ]);
        command.env("RAYON_NUM_THREADS", threads).output().unwrap().stdout
    };
    let one = run("1");
    assert!(one.len() > 10_000);
    assert!(one == run("3"));
}

#[test]
fn the_plot_is_written_and_is_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.svg");
    let arguments = ["--fmt", "bf16", "--chains", "5", "--length", "3", "--plot", path.to_str().unwrap()];
    let write = || {
        assert_eq!(chain(&arguments).status, 0);
        std::fs::read_to_string(&path).unwrap()
    };
    let first = write();
    assert!(
        first.starts_with("<svg")
            && first.contains(">fp32<")
            && first.contains("Chains of products, bf16, mma, hopper")
    );
    assert_eq!(first, write());
}

#[test]
fn named_initialisations_are_run_once_each() {
    let inits = |arguments: &[&str]| -> Vec<String> {
        let report = json(&[arguments, &["--chains", "1", "--length", "1"]].concat());
        table(&report, "curves").iter().map(|curve| curve["init"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(inits(&["--fmt", "bf16", "--init", "fp32", "--init", "fp32"]), ["fp32"]);
    assert_eq!(inits(&["--fmt", "bf16"]), ["low", "fp32"]);
    // Both coincide where the operands hold every random number.
    assert_eq!(inits(&["--fmt", "f64"]), ["low"]);
    assert_eq!(inits(&["--fmt", "f64", "--init", "fp32"]), ["fp32"]);
}

#[test]
fn a_wrong_request_is_refused_with_status_2() {
    for (arguments, expected) in [
        (&["--instr", "mma.m16n8k8.f32.bf16"][..], "unknown instruction"),
        (&["--instr", "mma.sp.m16n8k16.f32.f16.f16.f32"], "sparse operands"),
        (&["--fmt", "bf17"], "unknown format"),
        (&["--fmt", "e2m1"], "e2m1"),
        (&["--length", "0"], "--length"),
        (&["--length", "-1"], "--length"),
        (&["--chains", "0"], "--chains"),
        (&["--chains", "99999999999999999999"], "--chains"),
        (&["--init", "half"], "--init"),
        (&["--chains", "1", "--length", "1", "--plot", "no/such/folder/chain.svg"], "no/such/folder"),
    ] {
        let run = chain(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
        assert!(run.stdout.is_empty());
    }
}

#[test]
fn several_devices_run_on_the_same_numbers_each_with_its_own_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("chain.svg");
    let bf16 = "mma.m16n8k8.f32.bf16.bf16.f32";
    let (length, mfma) = (["--chains", "20", "--length", "3"], "model:cdna3/mfma.16x16x16.f32.bf16.bf16.f32");
    let devices = ["--device", "model:hopper", "--device", "model:ampere", "--device", mfma, "--instr", bf16];
    let more = ["--plot", plot.to_str().unwrap(), "--output", "json"];
    let run = tcnum_with_input(&[&["chain"], &devices[..], &length, &more].concat(), b"");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let report = validate_report(&run.stdout);
    let names: Vec<&str> = table(&report, "devices").iter().map(|row| row["device"].as_str().unwrap()).collect();
    assert_eq!(names, ["model:hopper", "model:ampere", "model:cdna3"]);
    let curves = table(&report, "curves");
    assert_eq!(curves.len(), 6);
    assert_eq!(curves[4]["instruction"], "mfma.16x16x16.f32.bf16.bf16.f32");
    // What a device computes does not depend on which others run.
    let alone = json(&[&["--instr", bf16], &length[..]].concat());
    let of_hopper = |row: &&serde_json::Value| row["device"] == "model:hopper";
    for (ours, single) in table(&report, "chain").iter().filter(of_hopper).zip(table(&alone, "chain")) {
        assert_eq!((&ours["exact_error"], &ours["finite"]), (&single["exact_error"], &single["finite"]));
    }
    let svg = std::fs::read_to_string(plot).unwrap();
    assert!(["hopper", "ampere", "cdna3"].iter().all(|chip| svg.contains(chip)), "{svg}");
}

#[test]
fn every_device_is_checked_before_the_first_runs() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("chain.svg");
    let refused = |devices: &[&str], part: &str| {
        let run = tcnum_with_input(&[&["chain", "--plot", plot.to_str().unwrap()], devices].concat(), b"");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{devices:?}");
        assert!(run.stderr.contains(part), "{devices:?}: {}", run.stderr);
        assert!(!plot.exists());
    };
    refused(&["--device", "model:hopper", "--device", "model:volta", "--fmt", "bf16"], "volta");
    refused(&["--device", "model:hopper/mma.m16n8k8.f32.bf16.bf16.f33"], "mma.m16n8k8.f32.bf16.bf16.f33");
    let with_instruction = "model:hopper/mma.m16n8k8.f32.bf16.bf16.f32";
    refused(&["--device", with_instruction, "--fmt", "f16"], "each --device names its instruction");
}

#[test]
fn chains_with_scales_do_not_overflow_and_those_of_blocks_have_the_scales_of_their_format() {
    let run = |device: &str, instruction: &str, scales: &str| {
        let device = format!("model:{device}/{instruction}");
        let arguments = [
            "chain", "--device", &device, "--scales", scales, "--chains", "20", "--length", "8", "--init", "low", "-q",
        ];
        let run = tcnum_with_input(&[&arguments[..], &["--output", "json"]].concat(), b"");
        assert_eq!(run.status, 0, "{}", run.stderr);
        table(&validate_report(&run.stdout), "curves")[0].clone()
    };
    let fp8 = "mma.m16n8k32.f32.e4m3.e4m3.f32";
    assert!(run("ada", fp8, "none")["first_overflow"].is_u64());
    for rule in ["absmax", "pow2"] {
        let curve = run("ada", fp8, rule);
        assert!(curve["first_overflow"].is_null() && curve["scales"] == rule, "{curve}");
        assert!(curve["last_error"].as_f64().unwrap() < 0.5, "{curve}");
    }
    let blocks = run("blackwell-rtx", "mma.m16n8k32.f32.e4m3.e4m3.f32.ue8m0.block32", "none");
    assert!(blocks["first_overflow"].is_null() && blocks["scales"] == "mxfp8-e4m3", "{blocks}");
    let four = run("blackwell-rtx", "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16", "none");
    assert!(four["scales"] == "nvfp4" && four["last_error"].as_f64() > blocks["last_error"].as_f64(), "{four}");
}
