//! `tcnum verify` on drawn operands: counts, checkpoints, parts, threads, wrong requests.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    machine::{amount, has_python},
    program::{tcnum, validate_report},
};
use serde_json::{Value, json};

const HALF: &str = "mma.m16n8k8.f32.f16.f16.f32";

/// The JSON of a run of `tcnum` that ends with `status`.
fn report(arguments: &[&str], status: i32) -> Value {
    let run = tcnum(&[arguments, &["--output", "json"]].concat());
    assert_eq!(run.status, status, "{arguments:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

/// A report without what differs from run to run: times, and the command line.
fn totals(report: &Value) -> Value {
    let mut report = report.clone();
    report["invocation"] = Value::Null;
    for row in report["tables"]["verification"].as_array_mut().unwrap() {
        (row["seconds"], row["rate"]) = (Value::Null, Value::Null);
    }
    report
}

/// The sums of `compared` and `differing` over the regimes, which have to be those of the run.
fn check_regimes(report: &Value) {
    let tables = &report["tables"];
    for run in tables["verification"].as_array().unwrap() {
        let regimes = tables["regimes"].as_array().unwrap();
        let rows = regimes.iter().filter(|row| row["instruction"] == run["instruction"]);
        for key in ["compared", "differing"] {
            let sum: u64 = rows.clone().map(|row| row[key].as_u64().unwrap()).sum();
            assert_eq!(json!(sum), run[key], "{key}");
        }
    }
}

#[test]
fn exhaustive_multiplication_compares_every_pair_of_codes() {
    let arguments = ["verify", "--exhaustive", "multiply", "--device", "model:hopper"];
    let several = ["mma.m16n8k32.f32.e4m3.e5m2.f32", "mma.m16n8k32.s32.u8.s8.s32"];
    let with = |more: &[&'static str]| report(&[&arguments[..], more].concat(), 0);
    let document = with(&["--instr", several[0], "--instr", several[1], "--position", "7"]);
    for row in document["tables"]["verification"].as_array().unwrap() {
        assert_eq!([&row["cases"], &row["compared"], &row["differing"]], [65536, 65536, 0], "{row}");
        assert_eq!(row["position"], 7);
    }
    assert_eq!(document["tables"]["regimes"][0]["regime"], "multiply");
    // 2^32 pairs, of which a small part is done here.
    let part = with(&["--instr", "mma.m16n8k16.f32.f16.f16.f32", "--shard", "7/50000"]);
    let row = &part["tables"]["verification"][0];
    assert_eq!(row["cases"], 1u64 << 32);
    assert!((65536..=131072).contains(&row["compared"].as_u64().unwrap()), "{row}");
}

#[test]
fn every_regime_is_counted_and_cases_are_rounded_up_to_tiles() {
    let document = report(&["verify", "--instr", HALF, "--device", "model:hopper", "--cases", "100001"], 0);
    check_regimes(&document);
    let row = &document["tables"]["verification"][0];
    assert_eq!([&row["cases"], &row["compared"]], [100001, 782 * 128]);
    let regimes = document["tables"]["regimes"].as_array().unwrap();
    assert!(regimes.len() > 8 && regimes.iter().all(|row| row["compared"].as_u64().unwrap() > 0));
}

#[test]
fn any_number_of_threads_and_devices_gives_the_same_report() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = faulty(folder.path());
    let arguments = ["verify", "--instr", HALF, "--cases", "200000", "--seed", "5", "--output", "json"];
    let run = |model: &str, threads: &str, devices: usize| {
        let devices = ["--device", "model:hopper"].repeat(devices);
        let output = Command::new(env!("CARGO_BIN_EXE_tcnum"))
            .args([&arguments[..], &["--model", model], &devices].concat())
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .unwrap();
        totals(&validate_report(&String::from_utf8(output.stdout).unwrap()))
    };
    for model in ["hopper", &wrong] {
        let expected = run(model, "1", 1);
        check_regimes(&expected);
        for (threads, devices) in [("2", 1), ("7", 1), ("1", 2), ("2", 3)] {
            assert_eq!(run(model, threads, devices), expected, "{model}, {threads} threads, {devices} devices");
        }
    }
}

/// The model of Hopper with finite numbers for the infinities of sums that are too large.
fn wrong_model(folder: &Path) -> String {
    let text = include_str!("../../models/hopper.toml");
    let wrong = text.replace("overflow = \"infinity\"", "overflow = \"saturate\"");
    assert_ne!(text, wrong);
    let file = folder.join("wrong.toml");
    std::fs::write(&file, wrong).unwrap();
    file.to_string_lossy().into_owned()
}

/// The model of Hopper with several faults: rare finite results, numbers for infinities, and another code of NaN.
fn faulty(folder: &Path) -> String {
    let text = std::fs::read_to_string(wrong_model(folder)).unwrap();
    let more = text.replace("floor = -133", "floor = -132").replace("\"0x7fffffff\"", "\"0x7fc12345\"");
    let file = folder.join("faulty.toml");
    std::fs::write(&file, more).unwrap();
    file.to_string_lossy().into_owned()
}

#[test]
fn every_cause_is_listed_once_with_its_count_and_finite_results_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let unit = faulty(folder.path());
    let name = "mma.m16n8k16.f32.bf16.bf16.f32";
    let arguments = ["verify", "--instr", name, "--device", &unit, "--model", "hopper", "--cases", "200000"];
    let document = report(&arguments, 1);
    let run = &document["tables"]["verification"][0];
    let rows = document["tables"]["mismatches"].as_array().unwrap();
    let of = |what: &str| -> Vec<&str> { rows.iter().map(|row| row[what].as_str().unwrap()).collect() };
    let signatures = of("signature");
    assert!((1..rows.len()).all(|at| !signatures[..at].contains(&signatures[at])), "{signatures:?}");
    let counts: Vec<u64> = rows.iter().map(|row| row["count"].as_u64().unwrap()).collect();
    assert_eq!(json!(counts.iter().sum::<u64>()), run["differing"]);
    // Finite results are fewer than one in a hundred of the mismatches.
    let rank = |signature: &str| match signature {
        signature if signature.starts_with("code of NaN") || signature.starts_with("NaN") => 2,
        signature if signature.starts_with("infinite") || signature.starts_with("sign of infinity") => 1,
        _ => 0,
    };
    let ranks: Vec<i32> = signatures.iter().map(|signature| rank(signature)).collect();
    assert!(ranks.is_sorted() && [0, 1, 2].iter().all(|rank| ranks.contains(rank)), "{signatures:?}");
    let finite: u64 = counts.iter().zip(&ranks).filter(|(_, rank)| **rank == 0).map(|(count, _)| count).sum();
    assert!(finite * 100 < run["differing"].as_u64().unwrap(), "{counts:?}");
    assert!(rows.iter().all(|row| row["reduced"] == true));

    // One is listed: the most frequent finite cause, and the rest is said to be there.
    let one = report(&[&arguments[..], &["--max-mismatches", "1"]].concat(), 1);
    assert_eq!(one["tables"]["mismatches"].as_array().unwrap().len(), 1);
    assert_eq!(rank(one["tables"]["mismatches"][0]["signature"].as_str().unwrap()), 0);
    assert!(one["notes"].to_string().contains("the listed causes stand for "), "{}", one["notes"]);
}

#[test]
fn no_listed_mismatch_is_said_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let unit = faulty(folder.path());
    let kept = folder.path().join("kept.safetensors");
    let device = ["--device", &unit, "--model", "hopper", "--cases", "20000"];
    let more = ["--max-mismatches", "0", "--counterexamples", kept.to_str().unwrap()];
    let none = report(&[&["verify", "--instr", HALF][..], &device, &more].concat(), 1);
    assert!(none["notes"].to_string().contains("none is listed, and none is written"), "{}", none["notes"]);
    assert!(none["tables"]["mismatches"].is_null() && !kept.exists());
    // Of a recording, too.
    report(&[&["verify", "--instr", HALF][..], &device, &more[2..]].concat(), 1);
    let none = report(&["verify", kept.to_str().unwrap(), "--model", "hopper", "--max-mismatches", "0"], 1);
    assert!(none["notes"].to_string().contains("none is listed"), "{}", none["notes"]);
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_with_the_totals_of_an_undisturbed_one() {
    let folder = tempfile::tempdir().unwrap();
    let (wrong, checkpoint) = (wrong_model(folder.path()), folder.path().join("run.checkpoint"));
    let checkpoint = checkpoint.to_str().unwrap();
    let (cases, kills) = amount((10_000_000, 3), (20_000_000, 10));
    // Differences are counted, and do not stop the run.
    let arguments = [
        "verify",
        "--instr",
        HALF,
        "--device",
        "model:hopper",
        "--model",
        &wrong,
        "--cases",
        &cases.to_string(),
        "--max-mismatches",
        "0",
    ];
    let undisturbed = report(&arguments, 1);
    let with = [&arguments[..], &["--checkpoint", checkpoint]].concat();
    let mut kept = String::new();
    let mut progress = Vec::new();
    for _ in 0..kills {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tcnum"))
            .args(&with)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It goes on for a while after it has kept something.
        let text = || std::fs::read_to_string(checkpoint).unwrap_or_default();
        while text() == kept && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
        // SIGKILL, of which a process learns nothing.
        child.kill().unwrap();
        child.wait().unwrap();
        kept = text();
        let file: Value = serde_json::from_str(&kept).expect("a checkpoint is whole whenever the program is killed");
        progress.push(file["parts"][0]["state"]["next"].as_u64().unwrap());
    }
    assert!(progress.is_sorted(), "{progress:?}");
    let resumed = report(&with, 1);
    assert_eq!(totals(&resumed), totals(&undisturbed));
    // A finished run has nothing left to do.
    let before = std::fs::read(checkpoint).unwrap();
    assert_eq!(report(&with, 1)["tables"], resumed["tables"]);
    assert_eq!(std::fs::read(checkpoint).unwrap(), before);
}

#[test]
fn a_checkpoint_of_another_run_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("run.checkpoint");
    let file = checkpoint.to_str().unwrap();
    let wrong = wrong_model(folder.path());
    let base = ["verify", "--instr", HALF, "--cases", "1000", "--checkpoint", file];
    let device = ["--device", "model:hopper"];
    assert_eq!(tcnum(&[&base[..], &device].concat()).status, 0);
    let kept = std::fs::read(file).unwrap();
    let other_device = format!("model:{wrong}");
    for (more, expected) in [
        (&["--device", "model:hopper", "--seed", "1"][..], "seed is 0 in the checkpoint and 1 in this run"),
        (&["--device", "model:hopper", "--model", &wrong], "model_digest is"),
        (&["--device", &other_device], "device is"),
        (&["--device", "model:hopper", "--shard", "1/2"], "shards is 1 in the checkpoint and 2 in this run"),
        (
            &["--device", "model:hopper", "--max-mismatches", "3"],
            "max_mismatches is 10 in the checkpoint and 3 in this run",
        ),
        (
            &["--device", "model:hopper", "--instr", "mma.m16n8k16.f32.f16.f16.f32"],
            "it holds 1 instructions, and 2 are",
        ),
    ] {
        let run = tcnum(&[&base[..], more].concat());
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{more:?}");
        assert!(
            run.stderr.contains("belongs to another run") && run.stderr.contains(expected),
            "{more:?}: {}",
            run.stderr
        );
        assert_eq!(std::fs::read(file).unwrap(), kept, "{more:?}");
    }
    for text in ["", "{}", "{\"tcnum_checkpoint\": 1, \"parts\": [{}]}", "\u{0}\u{1}"] {
        std::fs::write(file, text).unwrap();
        let run = tcnum(&[&base[..], &device].concat());
        assert_eq!(run.status, 2, "{text}");
        assert!(run.stderr.contains("is not a checkpoint of `tcnum verify`"), "{}", run.stderr);
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
    // One that contradicts itself: more tiles done than there are.
    let text = String::from_utf8(kept).unwrap().replace("\"next\": 8", "\"next\": 9");
    std::fs::write(file, &text).unwrap();
    let run = tcnum(&[&base[..], &device].concat());
    assert!(run.status == 2 && run.stderr.contains("contradicts itself"), "{}", run.stderr);
}

#[test]
fn a_checkpoint_that_is_damaged_in_one_number_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.checkpoint").to_string_lossy().into_owned();
    let run = [
        "verify",
        "--instr",
        HALF,
        "--device",
        "model:hopper",
        "--model",
        "ampere",
        "--cases",
        "2000",
        "--checkpoint",
        &file,
    ];
    assert_eq!(tcnum(&run).status, 1);
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for (place, value) in [
        ("/parts/0/state/regimes/0/compared", json!(u64::MAX)),
        ("/parts/0/state/regimes/0/differing", json!(u64::MAX)),
        ("/parts/0/state/regimes/2/compared", json!(1u64 << 40)),
        ("/parts/0/state/kinds/0/count", json!(u64::MAX)),
        ("/parts/0/state/kinds/0/count", json!(0)),
        ("/parts/0/state/kinds/0/regime", json!(10)),
        ("/parts/0/state/kinds/0/found/model", json!(u64::MAX)),
        ("/parts/0/state/kinds/0/place/Output/row", json!(99999)),
        ("/parts/0/state/kinds/0/place/Output/column", json!(8)),
        ("/parts/0/state/kinds/0/place/Output/tile", json!(1u64 << 40)),
        ("/parts/0/counterexamples/0/count", json!(u64::MAX)),
        ("/parts/0/counterexamples", json!([])),
        ("/parts/0/state/next", json!(u64::MAX)),
        ("/parts/0/run/max_mismatches", json!(u64::MAX)),
        ("/parts/0/run/max_mismatches", json!(1)),
        ("/parts/0/run/shards", json!(1_000_001)),
        ("/parts/0/run/shard", json!(0)),
        ("/parts/0/run/cases", json!(u64::MAX)),
        ("/parts/0/run/cases", json!(0)),
        // Finished, and not everything was compared.
        ("/parts/0/state/regimes/0/compared", json!(0)),
        ("/parts/0/state/seconds", json!(-1.0)),
        ("/parts", json!([])),
    ] {
        let mut damaged = kept.clone();
        *damaged.pointer_mut(place).expect(place) = value.clone();
        std::fs::write(&file, damaged.to_string()).unwrap();
        for command in [&run[..], &["merge", &file], &["merge", &file, "--partial"]] {
            let refused = tcnum(command);
            assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{place} {value}: {}", refused.stderr);
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged.to_string(), "{place}");
    }
}

#[test]
fn a_report_whose_sums_are_not_those_of_its_tiles_is_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("part.json").to_string_lossy().into_owned();
    let kept =
        report(&["verify", "--instr", HALF, "--device", "model:hopper", "--model", "ampere", "--cases", "2000"], 1);
    std::fs::write(&file, kept.to_string()).unwrap();
    assert_eq!(tcnum(&["merge", &file]).status, 1);
    let run = "/tables/verification/0";
    let regimes = kept["tables"]["regimes"].as_array().unwrap();
    let agreeing = regimes.iter().position(|row| row["differing"] == 0).unwrap();
    let agreeing = format!("/tables/regimes/{agreeing}/compared");
    for (edits, said) in [
        (vec![(agreeing, json!(0))], "outputs were compared, and its tiles have 2048"),
        (vec![(format!("{run}/compared"), json!(0))], "do not add up"),
        (vec![(format!("{run}/differing"), json!(0))], "do not add up"),
        (vec![(format!("{run}/next_tile"), json!(1))], "its counts do not fit its tiles"),
        (vec![(format!("{run}/seconds"), json!(-5))], "it took -5 seconds"),
        (vec![("/tables/mismatches".into(), json!([]))], "and 0 are listed"),
        (vec![("/tables/verification".into(), json!([]))], "is empty"),
        (vec![("/tables".into(), json!({}))], "no table 'verification'"),
    ] {
        let mut damaged = kept.clone();
        for (place, value) in &edits {
            *damaged.pointer_mut(place).expect(place) = value.clone();
        }
        std::fs::write(&file, damaged.to_string()).unwrap();
        let refused = tcnum(&["merge", &file]);
        assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{edits:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{edits:?}: {}", refused.stderr);
    }
}

#[test]
fn a_command_lists_no_more_counterexamples_than_a_report_that_can_be_read_again_has() {
    let refused = tcnum(&["verify", "--all", "--device", "model:hopper", "--max-mismatches", "1000"]);
    assert_eq!((refused.status, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("lists up to 10000 counterexamples"), "{}", refused.stderr);
}

#[test]
fn the_parts_of_a_run_merge_into_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = faulty(folder.path());
    for (model, status) in [("hopper", 0), (wrong.as_str(), 1)] {
        let arguments = ["verify", "--instr", HALF, "--device", "model:hopper", "--model", model, "--cases", "300000"];
        let unsharded = report(&arguments, status);
        let mut files = Vec::new();
        for shard in 1..=3 {
            let file = folder.path().join(format!("part-{shard}")).to_string_lossy().into_owned();
            let shard = format!("{shard}/3");
            // A report and two checkpoints.
            let kept: &[&str] = match files.is_empty() {
                true => &["--out", &file, "--output", "json"],
                false => &["--checkpoint", &file],
            };
            std::fs::remove_file(&file).ok();
            let run = tcnum(&[&arguments[..], &["--shard", &shard], kept].concat());
            assert!(run.status <= 1, "{}", run.stderr);
            files.push(file);
        }
        let merge = |files: &[&String], more: &[&str]| {
            let files: Vec<&str> = files.iter().map(|file| file.as_str()).collect();
            tcnum(&[&["merge"], &files[..], more, &["--output", "json"]].concat())
        };
        let [one, two, three] = [&files[0], &files[1], &files[2]];
        let run = merge(&[three, one, two], &["--model", model]);
        assert_eq!(run.status, status, "{}", run.stderr);
        let merged = validate_report(&run.stdout);
        check_regimes(&merged);
        for table in ["verification", "regimes"] {
            assert_eq!(totals(&merged)["tables"][table], totals(&unsharded)["tables"][table], "{table}");
        }
        // Each cause is listed once, and the causes stand for all mismatches.
        let causes = |report: &Value| -> (BTreeSet<String>, u64, usize) {
            let rows = report["tables"]["mismatches"].as_array().cloned().unwrap_or_default();
            let signatures = rows.iter().map(|row| row["signature"].to_string()).collect();
            (signatures, rows.iter().map(|row| row["count"].as_u64().unwrap()).sum(), rows.len())
        };
        assert_eq!(causes(&merged), causes(&unsharded));
        let differing = merged["tables"]["verification"][0]["differing"].as_u64().unwrap();
        assert_eq!(causes(&merged).1, differing);
        assert_eq!(causes(&merged).0.len(), causes(&merged).2);
        assert_eq!(merged["holds"], unsharded["holds"]);
        // What is merged is a report like any other.
        let again = folder.path().join("merged.json").to_string_lossy().into_owned();
        std::fs::write(&again, &run.stdout).unwrap();
        let again = merge(&[&again], &["--model", model]);
        assert_eq!(totals(&validate_report(&again.stdout))["tables"], totals(&merged)["tables"]);

        for (files, expected) in [
            (&[one, two][..], "parts of mma.m16n8k8.f32.f16.f16.f32 are missing: 3 (of 3)"),
            (&[one, two, three, two], "are both part 2/3 of"),
        ] {
            let run = merge(files, &[]);
            assert!(run.status == 2 && run.stderr.contains(expected), "{}", run.stderr);
        }
        let partial = merge(&[one, three], &["--partial"]);
        let notes = validate_report(&partial.stdout)["notes"].to_string();
        assert!(
            notes.contains("This is not the whole run: parts of mma.m16n8k8.f32.f16.f16.f32 are missing: 2 (of 3)"),
            "{notes}"
        );
        let other = folder.path().join("other").to_string_lossy().into_owned();
        std::fs::remove_file(&other).ok();
        tcnum(&[&arguments[..], &["--shard", "2/3", "--seed", "9", "--checkpoint", &other]].concat());
        let run = merge(&[one, &other, three], &[]);
        assert!(
            run.status == 2 && run.stderr.contains("different runs") && run.stderr.contains("seed"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn another_program_is_verified_tile_by_tile_and_its_counterexample_is_reduced() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let wrong = wrong_model(folder.path());
    let device = format!("exec:python3 '{}'", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py"));
    let arguments = ["verify", "--instr", HALF, "--device", &device, "--cases", "3000", "--max-mismatches", "1"];
    let agreed = report(&arguments, 0);
    assert_eq!(agreed["tables"]["verification"][0]["execution"], "external");
    let differed = report(&[&arguments[..], &["--model", &wrong]].concat(), 1);
    let mismatch = &differed["tables"]["mismatches"][0];
    assert!(mismatch["reduced"] == true && mismatch["terms"].as_u64().unwrap() <= 3, "{mismatch}");
    // Of a program only the model's steps are known.
    assert!(differed["tables"]["steps"][0]["second_value"].is_null());
    // What was compared before a failure is reported.
    let dying =
        tcnum(&[&arguments[..3], &["--device", &format!("{device} --die-after 5"), "--output", "json"]].concat());
    assert!(dying.status == 3 && dying.stderr.contains("answered 5 of"), "{}", dying.stderr);
    let row = &validate_report(&dying.stdout)["tables"]["verification"][0];
    let compared = row["compared"].as_u64().unwrap();
    assert!((128..=5 * 128).contains(&compared) && row["finished"] == false, "{row}");
}

#[test]
fn wrong_requests_are_status_2_and_say_why() {
    let base = ["verify", "--instr", HALF, "--device", "model:hopper"];
    for (more, expected) in [
        (&["--cases", "0"][..], "expected a whole number from 1"),
        (&["--cases", "1e30"], "expected a whole number from 1"),
        (&["--cases", "10", "--exhaustive", "multiply"], "cannot be used with"),
        (&["--shard", "0/3"], "expected I/N"),
        (&["--shard", "4/3"], "expected I/N"),
        (&["--exhaustive", "multiply", "--position", "8"], "has no position 8"),
        (&["--exhaustive", "multiply", "--instr", "mma.m8n8k4.f64.f64.f64.f64"], "2^128 pairs"),
        (&["--model", "hoper"], "'hoper' is not a model; did you mean 'hopper'?"),
        (&["--device", "trace:x"], "replays recorded tiles only"),
        (&["recording.safetensors"], "do not go with recordings"),
        (&["--checkpoint", "/nowhere/file"], "there is no folder /nowhere"),
        (&["--instr", "mma.m16n8k16.f32.f16.f16.f32", "--counterexamples", "x"], "several instructions are chosen"),
        (&["--max-mismatches", "1001"], "up to 1000 counterexamples"),
    ] {
        let run = tcnum(&[&base[..], more].concat());
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{more:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{more:?}: {}", run.stderr);
    }
    for flag in [&["--cases", "5"][..], &["--exhaustive", "multiply"], &["--seed", "1"], &["--shard", "1/2"]] {
        let run = tcnum(&[&["verify"], flag].concat());
        assert!(run.status == 2 && run.stderr.contains("needs an instruction"), "{}", run.stderr);
    }
}

/// What `--available` forgives: an instruction that the device lacks, and nothing else.
#[test]
fn a_device_that_cannot_be_run_is_no_instruction_that_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::create_dir(file("recordings")).unwrap();
    let commands: [&[&str]; 4] = [
        &["verify", "--cases", "128"],
        &["probe", "--samples", "1"],
        &["chain", "--length", "1", "--chains", "1"],
        &["record", "--tiles", "1", "--folder", &file("recordings")],
    ];
    for command in commands {
        let absent = format!("exec:'{}'", file("no such program"));
        let run = tcnum(&[command, &["--all", "--available", "--device", &absent]].concat());
        assert_eq!(run.status, 2, "{command:?}: {}", run.stdout);
        assert!(run.stderr.contains("cannot be started"), "{command:?}: {}", run.stderr);
    }
    // What cannot be written is no lack of the device either.
    std::fs::create_dir(file("recordings/mma.m8n8k4.f32.f16.f16.f32.row.row.safetensors")).unwrap();
    let device = ["--device", "model:volta", "--all", "--available"];
    let run = tcnum(&[commands[3], &device].concat());
    assert_eq!(run.status, 2, "{}", run.stdout);
    assert!(run.stderr.contains("safetensors"), "{}", run.stderr);
}

#[test]
fn nothing_executed_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let declines = r#"exec:sh -c 'read line; echo "{\"ok\":false,\"error\":\"not this one\"}"; cat >/dev/null'"#;
    let recordings = folder.path().to_string_lossy();
    for command in [
        &["verify", "--cases", "128", "--model", "volta"][..],
        &["probe", "--samples", "1", "--model", "volta"],
        &["record", "--tiles", "1", "--folder", &recordings],
    ] {
        let document = report(&[command, &["--all", "--available", "--device", declines]].concat(), 1);
        assert_eq!(document["holds"], false);
        let said =
            |what: &str| document["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains(what));
        assert!(said("Nothing was executed") && said("not this one"), "{command:?}: {}", document["notes"]);
    }
}
