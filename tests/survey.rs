//! Surveys: a device with its model, one whose model is withheld, resumption, and devices and folders that fail.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

#[path = "common/program.rs"]
mod program;
use program::{Run, schema_errors, tcnum};

const F16: &str = "mma.m16n8k8.f16.f16.f16.f16";
const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const FP8: &str = "wgmma.m64n8k32.f32.e4m3.e4m3";

/// Surveys instructions of a device with few cases.
fn survey(device: &str, instructions: &[&str], options: &[&str], folder: &Path) -> Run {
    let named = instructions.iter().flat_map(|name| ["--instr", name]);
    let mut words = vec!["survey", "--device", device, "--cases", "2000", "-q", "--output", "json"];
    words.extend(named);
    words.extend(options);
    words.extend(["--out", folder.to_str().unwrap()]);
    tcnum(&words)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn temporary() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("survey");
    (folder, out)
}

#[test]
fn a_device_with_a_model_agrees_and_the_page_says_so_first() {
    let (_kept, out) = temporary();
    let run = survey("hopper", &[F16, BF16], &[], &out);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let result = json(&run.stdout);
    assert_eq!(schema_errors(&result), Vec::<String>::new());
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.contains("the model hopper describes all of them"), "{answer}");
    let rows = result["tables"]["surveyed"].as_array().unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row["outcome"] == "as the model"), "{rows:?}");
    // The generation before differs in the width of sums.
    let page = text(&out, "README.md");
    assert!(page.contains("24 in the model ampere, 25 here"), "{page}");
    assert!(page.find("New against the generation before") < page.find("Fraction bits"), "{page}");
    assert!(!out.join("identify.json").exists());
    assert!(text(&out, "index.html").contains(answer.split(';').next().unwrap()));
}

#[test]
fn a_withheld_model_comes_back_as_the_draft() {
    let (_kept, out) = temporary();
    let run = survey("hopper", &[BF16, FP8], &["--without-model", "hopper"], &out);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let result = json(&run.stdout);
    let row = |name: &str| {
        let rows = result["tables"]["surveyed"].as_array().unwrap();
        rows.iter().find(|row| row["instruction"] == name).unwrap().clone()
    };
    assert!(row(BF16)["differing"].as_i64().unwrap() > 0 && row(BF16)["news"] == "changed");
    assert!(row(FP8)["news"] == "new" && row(FP8)["model"].is_null());
    assert!([BF16, FP8].iter().all(|name| row(name)["outcome"] == "identified"));
    for like in [BF16, FP8].map(|name| row(name)["like"].to_string()) {
        assert!(!like.contains("hopper"), "{like}");
    }
    // The draft gives the bits of hopper for other operands.
    let draft = out.join("model.toml");
    let draft = draft.to_str().unwrap();
    let verify = ["verify", "--device", "hopper", "--model", draft, "--cases", "20000", "--seed", "77", "-q"];
    let verified = tcnum(&[&verify[..], &["--instr", BF16, "--instr", FP8]].concat());
    assert_eq!(verified.status, 0, "{}{}", verified.stdout, verified.stderr);
    let listed = tcnum(&["models", draft]);
    assert!(listed.status == 0 && listed.stdout.contains("surveyed"), "{}", listed.stderr);
    // Inputs that show the differences, and a recording of what was identified.
    let witnesses: Vec<_> = fs::read_dir(out.join("witnesses")).unwrap().collect();
    assert_eq!(witnesses.len(), 1);
    let recording = out.join("recordings").join(format!("{FP8}.safetensors"));
    let replayed = tcnum(&["verify", "--device", &format!("trace:{}", recording.display()), "--model", draft]);
    assert_eq!(replayed.status, 0, "{}", replayed.stderr);
}

#[test]
fn the_draft_of_a_survey_is_a_generation_of_an_atlas() {
    let (kept, out) = temporary();
    let run = survey("hopper", &[F16], &[], &out);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let (folder, site) = (out.to_str().unwrap(), kept.path().join("atlas"));
    let atlas = |with: &str| {
        let words =
            ["atlas", "--model", "ampere", "--with", with, "--instr", F16, "-q", "--out", site.to_str().unwrap()];
        tcnum(&words)
    };
    let refused = atlas(kept.path().to_str().unwrap());
    assert!(refused.status == 2 && refused.stderr.contains("has no model.toml"), "{}", refused.stderr);
    let run = atlas(folder);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(text(&site, "index.html").contains("nvidia-hopper-model-surveyed"));
}

#[test]
fn a_survey_resumes_where_it_was_ended() {
    let (_kept, out) = temporary();
    assert_eq!(survey("hopper", &[F16], &[], &out).status, 0);
    let steps = ["verify.json", "diff.json", "features.json"];
    let before: Vec<String> = steps.iter().map(|name| text(&out, name)).collect();
    // As an interruption leaves it: one step lacks its result, another has a part of it.
    fs::remove_file(out.join("features.json")).unwrap();
    let part = text(&out, "diff.json").replace("\"interrupted\": null", "\"interrupted\": \"SIGTERM\"");
    fs::write(out.join("diff.json"), &part).unwrap();
    let times = |name: &str| fs::metadata(out.join(name)).unwrap().modified().unwrap();
    let verified = times("verify.json");
    assert_eq!(survey("hopper", &[F16], &[], &out).status, 0);
    assert_eq!(times("verify.json"), verified);
    assert_eq!(text(&out, "features.json"), before[2]);
    assert_ne!(text(&out, "diff.json"), part);
    // Other cases are another comparison.
    let run = survey("hopper", &[F16], &["--note", "date=2026-11-29"], &out);
    assert!(run.status == 0 && times("verify.json") != verified, "{}", run.stderr);
}

#[test]
fn a_device_that_dies_half_way_leaves_its_results() {
    let (kept, out) = temporary();
    let once = kept.path().join("dead");
    let unit = kept.path().join("unit.py");
    let program = format!(
        "import os, sys\nif 'identify' in open('/proc/%d/cmdline' % os.getppid()).read():\n    open({:?}, 'w').write('')\n    sys.exit(3)\n\
         os.execvp('python3', ['python3', {:?}])\n",
        once.to_str().unwrap(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exec/hopper.py").to_str().unwrap(),
    );
    fs::write(&unit, program).unwrap();
    if !cfg!(target_os = "linux") || std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no Python 3, or no Linux");
        return;
    }
    let device = format!("exec:python3 {}", unit.display());
    let run = survey(&device, &[BF16], &["--model", "ampere"], &out);
    assert_eq!(run.status, 3, "{}{}", run.stdout, run.stderr);
    assert!(once.exists() && run.stderr.contains("the same command resumes"), "{}", run.stderr);
    assert!(run.stdout.contains("differ from the model ampere"), "{}", run.stdout);
    assert!(text(&out, "README.md").contains("The survey ended in the step identify"));
    assert!(out.join("verify.json").exists());
}

#[test]
fn bad_input_is_refused_before_any_work() {
    let (kept, out) = temporary();
    let file = kept.path().join("file");
    fs::write(&file, "mine").unwrap();
    let refused = |run: Run, says: &str| {
        assert!(run.status == 2 && run.stderr.contains(says), "{} {}", run.status, run.stderr);
    };
    refused(survey("hopper", &[F16], &[], &file), "this is a file");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    refused(survey("hopper", &[F16], &[], kept.path()), "no survey made it");
    refused(survey("hopper", &[F16], &["--model", "hoper"], &out), "did you mean 'hopper'");
    refused(survey("hopper", &[F16], &["--without-model", "hoper"], &out), "did you mean 'hopper'");
    refused(survey("hopper", &["mma.m1"], &[], &out), "mma.m1");
    refused(survey("volta", &[BF16], &[], &out), BF16);
    refused(survey("hopper", &[F16], &["--model", "ampere", "--without-model", "ampere"], &out), "withholds it");
    refused(tcnum(&["survey", "--device", "hopper"]), "give --out FOLDER");
    assert!(!out.exists());
    // A folder is of one device.
    assert_eq!(survey("hopper", &[F16], &[], &out).status, 0);
    refused(survey("ampere", &[F16], &[], &out), "name another folder");
}

#[test]
fn a_time_limit_leaves_a_page_of_the_work_before_it() {
    let (_kept, out) = temporary();
    let mut words = vec!["survey", "--device", "hopper", "--without-model", "hopper", "--cases", "1e12", "-q"];
    words.extend(["--time-limit", "2", "--instr", F16, "--instr", FP8, "--out", out.to_str().unwrap()]);
    let run = tcnum(&words);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    assert!(text(&out, "README.md").contains("The survey ended in the step"));
}
