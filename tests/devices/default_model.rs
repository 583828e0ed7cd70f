//! The model that a device is compared with where nobody names one: that of its own generation.

use crate::program::{tcnum, validate_report};
use serde_json::Value;
use tcnum::{
    arithmetic::{Model, shipped},
    isa::{self, Instruction},
};

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";

fn report(status: i32, line: &[&str]) -> Value {
    let run = tcnum(&[line, &["--output", "json"]].concat());
    assert_eq!(run.status, status, "{line:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

fn refused(line: &[&str]) -> String {
    let run = tcnum(line);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{line:?}: {}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    run.stderr
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[test]
fn a_simulated_device_agrees_with_itself_without_a_model_being_named() {
    for name in shipped() {
        let device = format!("model:{name}");
        let model = Model::load(name).unwrap();
        let covered = |i: &&Instruction| i.d.name == "f32" && i.scale.is_none() && model.rule(i).is_some();
        let instruction = match isa::find(BF16).ok().filter(|i| covered(&i)) {
            Some(_) => BF16,
            None => &isa::all().iter().find(covered).unwrap().name,
        };
        let probe = report(0, &["probe", "--device", &device, "--instr", instruction, "--samples", "50"]);
        assert_eq!(probe["tables"]["profile"][0]["model"], name);
        let verify = report(0, &["verify", "--device", &device, "--instr", instruction, "--cases", "1000"]);
        assert_eq!(verify["tables"]["verification"][0]["model"], name);
    }
}

#[test]
fn a_model_may_be_named_as_its_device_is() {
    let named = ["probe", "--device", "model:ampere", "--fmt", "bf16", "--samples", "50", "--model", "model:ampere"];
    let probe = report(0, &named);
    assert_eq!(probe["tables"]["profile"][0]["model"], "ampere");
    let explain = report(0, &["explain", "--instr", BF16, "--model", "model:ampere", "--against", "model:ada"]);
    assert_eq!(explain["tables"]["results"][0]["by"], "model ampere");
}

#[test]
fn recordings_are_compared_with_the_generations_that_recorded_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    for generation in ["ampere", "hopper"] {
        let device = format!("model:{generation}");
        report(0, &["record", "--device", &device, "--instr", BF16, "--tiles", "4", "--out", &file(generation)]);
    }
    let verify = report(0, &["verify", &file("ampere"), &file("hopper")]);
    let rows = verify["tables"]["verification"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| text(&row["model"])).collect::<Vec<_>>(), ["ampere", "hopper"]);
    assert!(verify["device"].is_null());
    assert_eq!(
        verify["answer"],
        "All 1,024 recorded outputs of 2 recordings agree with the models of their devices in every bit."
    );
    let explain = report(0, &["explain", "--trace", &file("ampere")]);
    assert_eq!(explain["tables"]["results"][1]["by"], "model ampere");
    let device = format!("trace:{}", file("ampere"));
    let probe = ["record", "--device", "model:ampere", "--instr", BF16, "--op", "multiply", "--samples", "50", "--out"];
    report(0, &[&probe[..], &[&file("ampere")]].concat());
    let probe = report(0, &["probe", "--device", &device, "--instr", BF16, "--op", "multiply", "--samples", "50"]);
    assert_eq!(probe["tables"]["profile"][0]["model"], "ampere");
}

#[test]
fn what_does_not_say_of_which_generation_it_is_is_compared_with_hopper_which_is_said() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");
    let verify = report(0, &["verify", fixture]);
    let notes = verify["notes"].to_string();
    assert!(notes.contains("reports no generation") && notes.contains("the model 'hopper'"), "{notes}");
    let named = report(0, &["verify", fixture, "--model", "hopper"]);
    assert!(!named["notes"].to_string().contains("generation"));
}

#[test]
fn what_a_generation_lacks_is_refused_once_with_those_that_have_it() {
    let wgmma = "wgmma.m64n8k16.f32.f16.f16";
    for line in [
        &["verify", "--device", "model:turing", "--cases", "10", "--instr", wgmma][..],
        &["probe", "--device", "model:turing", "--instr", wgmma],
        &["record", "--device", "model:turing", "--out", "never", "--instr", wgmma],
        &["chain", "--device", "model:turing", "--instr", wgmma],
        &["explain", "--model", "turing", "--instr", wgmma],
    ] {
        let message = refused(line);
        assert!(message.contains("sm_75 does not have it; these do: sm_90a (model hopper)"), "{message}");
        assert!(message.len() < 250, "{message}");
    }
    let left = report(0, &["verify", "--device", "model:turing", "--all", "--available", "--cases", "256"]);
    assert_eq!(left["tables"]["verification"].as_array().unwrap().len(), 55);
    let notes = left["notes"].to_string();
    assert!(notes.contains("Left out: ") && notes.contains("`tcnum models turing` lists what it covers"), "{notes}");
    assert!(notes.len() < 500, "{notes}");
}

#[test]
fn a_model_of_no_generation_covers_all_that_its_patterns_match() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let model = |head: &str| {
        let rule = "[[rule]]\ninstructions = [\"*.s32.s8.s8*\"]\nevidence = [{ assumed = \"a test\" }]\nstep = \"integer\"\nwrap = \"wrap\"\n";
        std::fs::write(&path, format!("name = \"mine\"\ntitle = \"mine\"\nversion = 1\n{head}\n{rule}")).unwrap();
        format!("model:{}", path.display())
    };
    let device = model("");
    for instruction in ["wgmma.m64n8k32.s32.s8.s8", "mfma.32x32x8.s32.s8.s8.s32", "tcgen05.m128n16k32.s32.s8.s8.s32"] {
        report(0, &["verify", "--device", &device, "--instr", instruction, "--cases", "10"]);
    }
    let device = model("architectures = [\"sm_90a\"]");
    let message = refused(&["verify", "--device", &device, "--instr", "mfma.32x32x8.s32.s8.s8.s32", "--cases", "10"]);
    assert!(message.contains("these do: gfx908 (model cdna1), gfx90a (model cdna2)"), "{message}");
    let message = refused(&["verify", "--device", &device, "--instr", BF16, "--cases", "10"]);
    assert!(message.contains(&format!("`tcnum models {}` lists what it covers", path.display())), "{message}");
    let message = refused(&["models", model("architectures = [\"sm_95\"]").trim_start_matches("model:")]);
    assert!(message.contains("line 4: 'architectures' names 'sm_95'"), "{message}");
}
