//! Names of models and devices on the command line: bare names, and aliases by GPU and by architecture.

use std::fs;

use crate::program::{tcnum, validate_report};
use serde_json::Value;

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const DESCRIBED: &str = "name = \"mma.m3n5k16.f32.f16.f16.f32\"\nspelling = \"mma.mine\"\nm = 3\nn = 5\nk = 16\na = \"f16\"\nb = \
                         \"f16\"\nc = \"f32\"\nd = \"f32\"\n";

/// The tables and the device of a result, without times.
fn result(arguments: &[&str]) -> Value {
    let run = tcnum(&[arguments, &["--output", "json"]].concat());
    assert!(run.status <= 1 && run.stderr.is_empty(), "{arguments:?}: {}", run.stderr);
    let mut report = validate_report(&run.stdout);
    for row in report["tables"].as_object_mut().unwrap().values_mut().flat_map(|rows| rows.as_array_mut().unwrap()) {
        for time in ["seconds", "rate"] {
            row.as_object_mut().unwrap().remove(time);
        }
    }
    Value::Array(vec![report["tables"].clone(), report["device"].clone(), report["notes"].clone()])
}

#[test]
fn a_model_is_named_by_its_name_a_gpu_or_an_architecture_wherever_a_device_or_a_model_is_meant() {
    let verify = ["verify", "--instr", BF16, "--cases", "2000"];
    let with = |words: &[&'static str]| [&verify[..], words].concat();
    for (bare, full) in [
        (
            vec!["distinguish", "hopper", "A100", "--instr", BF16],
            vec!["distinguish", "model:hopper", "model:ampere", "--instr", BF16],
        ),
        (
            vec!["distinguish", "Hopper/mma.m16n8k8.f32.f16.f16.f32", "sm_80"],
            vec!["distinguish", "model:hopper/mma.m16n8k8.f32.f16.f16.f32", "model:ampere"],
        ),
        (vec!["diff", "h100", "h200", "--instr", BF16], vec!["diff", "model:hopper", "model:hopper", "--instr", BF16]),
        (vec!["models", "MI300X"], vec!["models", "cdna3"]),
        (vec!["tree", "--device", "rtx4090"], vec!["tree", "--device", "model:ada"]),
        (with(&["--device", "sm_90a", "--model", "L40S"]), with(&["--device", "model:hopper", "--model", "ada"])),
        (
            vec!["explain", "--instr", BF16, "--model", "B200", "--against", "model:sm_80"],
            vec!["explain", "--instr", BF16, "--model", "blackwell", "--against", "ampere"],
        ),
        (vec!["instructions", "mfma", "--device", "gfx90a"], vec!["instructions", "mfma", "--device", "model:cdna2"]),
    ] {
        assert_eq!(result(&bare), result(&full), "{bare:?}");
    }
}

#[test]
fn every_alias_in_the_list_of_models_names_its_model() {
    let list = result(&["models"]);
    let rows = list[0]["models"].as_array().unwrap();
    let hopper = rows.iter().find(|row| row["model"] == "hopper").unwrap();
    for alias in ["H100", "H200", "sm_90"] {
        assert!(hopper["aliases"].as_array().unwrap().iter().any(|name| name == alias), "{hopper}");
    }
    let rules = result(&["models", "hopper"]);
    for alias in hopper["aliases"].as_array().unwrap() {
        assert_eq!(result(&["models", alias.as_str().unwrap()]), rules, "{alias}");
    }
}

#[test]
fn an_unknown_or_ambiguous_name_gets_what_it_may_mean() {
    for (arguments, message) in [
        (&["models", "H900"][..], "error: 'H900' is not a model; did you mean 'hopper' (H100)?"),
        (&["explain", "--instr", BF16, "--against", "sm_91"], "'sm_91' is not a model; did you mean 'hopper' (sm_90)?"),
        (
            &["tree", "--device", "RTX 6000"],
            "'RTX 6000' is not a device; did you mean 'turing' (Quadro RTX 6000) or 'ada' (RTX 6000 Ada) or 'blackwell-rtx' (RTX PRO \
             6000)?",
        ),
        (&["distinguish", "hoper", "ampere", "--instr", BF16], "'hoper' is not a device; did you mean 'hopper'?"),
        (&["tree", "--device", "cuda0"], "'cuda0' is not a device; did you mean 'cuda:0'?"),
    ] {
        let run = tcnum(arguments);
        assert!(run.status == 2 && run.stdout.is_empty(), "{arguments:?}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn a_model_file_is_a_device_and_a_file_of_ones_own_an_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let root = env!("CARGO_MANIFEST_DIR");
    let model = write("mine.toml", &fs::read_to_string(format!("{root}/models/hopper.toml")).unwrap());
    let same = tcnum(&["distinguish", &model, "hopper", "--instr", BF16]);
    assert_eq!(same.status, 0, "{}", same.stderr);
    let instruction = write("instruction.toml", DESCRIBED);
    let program = result(&["models", "hopper", "--instr", &instruction]);
    assert_eq!(program[0]["program"][0]["instruction"], "mma.m3n5k16.f32.f16.f16.f32");
    let wrong = write("wrong.toml", "name = \"x\"\n");
    let run = tcnum(&["models", "hopper", "--instr", &wrong]);
    assert!(run.status == 2 && run.stderr.contains("wrong.toml"), "{}", run.stderr);
}
